"""Commands on places on earth, which are kept in sorted sets."""
