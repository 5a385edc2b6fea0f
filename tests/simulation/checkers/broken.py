"""What a checker raises."""

from __future__ import annotations


class Broken(AssertionError):
    """A property does not hold."""
