"""Commands on lists, hashes and sets."""
