"""What a history must never hold."""

from __future__ import annotations


class Violation(AssertionError):
    """An invariant by its name, and what broke it."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name}: {what}")
        self.name = name
