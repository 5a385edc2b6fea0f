"""Lines out of bytes that come in pieces: the master's answers on the two connections of a sync.

rdb_channel.py and main_channel.py feed it, and say what a line means. What follows the last line, a snapshot or the
stream, is taken out as it is.

Not here: the lines of handshake.py and transfer.py, which each look for theirs on their own.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.errors import PeerError

MAX_LINE_BYTES: Final = 64 * 1024


@final
class Lines:
    """Cuts lines off the front of what was fed; `rest` are the bytes behind the last line returned.

    Invariant: after `next_line` returned None, `rest` has no line end, and at most MAX_LINE_BYTES bytes.
    """

    __slots__ = ("rest",)

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, data: bytes) -> None:
        """Add the next bytes of the connection."""
        self.rest += data

    def next_line(self) -> bytes | None:
        """The next line without its end (`\\n` or `\\r\\n`), b"" for an empty one; None if it is not complete yet.

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
        """Take out everything behind the last line; afterwards `rest` is empty."""
        rest, self.rest = self.rest, b""
        return rest
