"""One file per value type."""
