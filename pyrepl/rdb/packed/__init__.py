"""Packed encodings."""
