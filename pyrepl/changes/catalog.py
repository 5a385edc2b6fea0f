"""What a subscriber's connection asks of the node.

Not here: who answers (the daemon's hub), and the connection (subscription.py).
"""

from __future__ import annotations

from typing import Protocol


class Catalog(Protocol):
    """What a node offers, as far as it is known without reading a row."""

    name: str

    @property
    def replid(self) -> str:
        """The present name of the node's history, as subscribers have been told it; empty while there is none."""
        ...

    def streams(self) -> list[str]:
        """All names."""
        ...

    def head(self, stream: str, writer: str | None) -> int | None:
        """How far rows can be read now: of one writer, or with None of the stream in one order. None: no such."""
        ...

    def writers(self, stream: str) -> list[str]:
        """Who writes to the stream."""
        ...

    def token_at(self, stream: str, at: int) -> int:
        """The token that a subscriber is told for a place in the stream."""
        ...

    def at(self, stream: str, token: int) -> int:
        """The place of a token that `why_not` does not refuse."""
        ...

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        """Why nobody can go on from this token, of the history `replid` if not empty, or from now on with None; None if
        one can."""
        ...
