"""Lines out of bytes that come in pieces, for the few lines around a snapshot and a stream.

Not here: what a line means (rdb_channel.py, main_channel.py). The handshake and transfer read lines of their own.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import PeerError

MAX_LINE_BYTES: Final = 64 * 1024


@final
class Lines:
    """`rest` is what was fed and is in no line yet. Invariant: `rest` without a line end is at most MAX_LINE_BYTES."""

    __slots__ = ("rest",)

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, data: bytes) -> None:
        self.rest += data

    def next_line(self) -> bytes | None:
        """The next line without its end, b"" for an empty one; None if it is not complete yet.

        Raises PeerError if more than MAX_LINE_BYTES came without a line end.
        """
        line, end, rest = self.rest.partition(b"\n")
        if not end:
            if len(line) > MAX_LINE_BYTES:
                raise PeerError(f"expected a line, got {len(line)} bytes without a line end")
            return None
        self.rest = rest
        return line.removesuffix(b"\r")

    def take_rest(self) -> bytes:
        """All that is left; it is held no longer."""
        rest, self.rest = self.rest, b""
        return rest
