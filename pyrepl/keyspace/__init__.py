"""Databases and value types."""
