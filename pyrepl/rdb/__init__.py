"""The snapshot format."""
