"""INFO, one module a section."""
