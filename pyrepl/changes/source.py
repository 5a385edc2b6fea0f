"""What every kind of stream answers, so that one server can offer them all.

Not here: the kinds (replicated_source.py, recent_source.py, facts in tables), and who asks (the daemon's hub).
"""

from __future__ import annotations

from typing import Protocol

from pyrepl.changes.block import Block


class Source(Protocol):
    """One stream, or several that share what they are made of.

    A `writer` of None means the whole stream in one order. A head never moves back while the stream's history lasts.
    Heads and blocks count in offsets or ids; what a subscriber says and is told are tokens, which `token_at` and `at`
    translate.
    """

    def streams(self) -> list[str]:
        """Their names."""
        ...

    def writers(self, stream: str) -> list[str]:
        """Who writes to `stream`, as far as is known."""
        ...

    def head(self, stream: str, writer: str | None) -> int | None:
        """How far rows can be read; None for a stream or writer that is not known."""
        ...

    def token_at(self, at: int) -> int:
        """The token that a subscriber is told for a place in these streams."""
        ...

    def at(self, token: int) -> int:
        """The place of a token that `why_not` does not refuse."""
        ...

    def why_not(self, stream: str, writer: str | None, token: int | None, replid: str) -> str | None:
        """Why one cannot go on from `token`, or with None from now on; None if one can. `replid` names the token's
        history, if not empty."""
        ...

    def read(self, stream: str, writer: str | None, after: int, want_bytes: int) -> Block:
        """The facts in (after, upto]: up to the head, or to a place before it after about `want_bytes`. Raises
        Unavailable."""
        ...
