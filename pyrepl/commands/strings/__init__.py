"""Commands on strings and their bits."""
