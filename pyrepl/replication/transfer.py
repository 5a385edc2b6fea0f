"""A snapshot on the wire: `$<len>` or `$EOF:<mark>`, the bytes, and where they end. Reads in pieces of any size.

Not here: what the bytes are (rdb/) and what happens when they are complete (conversation.py).

    header      "\\n" (keep-alives, ignored) | "-text" (the master gave up) | "$<len>\\r\\n" | "$EOF:<40 bytes>\\r\\n"
    payload     len bytes, nothing after them | bytes up to the 40 bytes of the mark
    rest        what came after the end belongs to the stream

Source: Redis 7.0 `readSyncBulkPayload`. Redis only looks for the mark at the end of each read, as its masters send
nothing after it until they are acknowledged; here it may be followed by anything.
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.machines import Table
from pyrepl.resp.numbers import parse_integer

MARK_BYTES: Final = 40
MAX_HEADER_BYTES: Final = 1024
_EOF: Final = b"EOF:"


def encode_size_header(size_bytes: int) -> bytes:
    """What goes before a snapshot of known size."""
    return b"$%d\r\n" % size_bytes


def encode_mark_header(mark: bytes) -> bytes:
    """What goes before a snapshot that `mark`, 40 random bytes without line ends, will end."""
    assert len(mark) == MARK_BYTES
    return b"$EOF:%b\r\n" % mark


class TransferState(enum.StrEnum):
    """What comes next."""

    HEADER = "header"
    SIZED = "sized"
    """The rest of a payload of known size."""
    MARKED = "marked"
    """A payload that a mark ends."""
    ENDED = "ended"


class TransferTrigger(enum.StrEnum):
    """What was read."""

    SIZE = "size"
    MARK = "mark"
    END = "end"


_S = TransferState
_T = TransferTrigger
TRANSFER: Final = Table(
    "A snapshot on the wire",
    (_S.HEADER,),
    {
        (_S.HEADER, _T.SIZE): _S.SIZED,
        (_S.HEADER, _T.MARK): _S.MARKED,
        (_S.SIZED, _T.END): _S.ENDED,
        (_S.MARKED, _T.END): _S.ENDED,
    },
    where=" in a snapshot",
)


@final
class Transfer:
    """Reads one snapshot off the wire.

    `total_bytes` is None while the header is incomplete and with a mark. Once it has ended, `rest` holds what followed.
    Invariants: read_bytes <= total_bytes if that is known; with a mark fewer than MARK_BYTES bytes are held back.
    """

    __slots__ = ("_line", "_mark", "_tail", "read_bytes", "rest", "state", "total_bytes")

    def __init__(self) -> None:
        self.state = TransferState.HEADER
        self.total_bytes: int | None = None
        self.read_bytes = 0
        self.rest = b""
        self._line = b""
        self._mark = b""
        self._tail = b""

    @property
    def began(self) -> bool:
        """Is the header complete?"""
        return self.state is not TransferState.HEADER

    @property
    def ended(self) -> bool:
        """Is the payload?"""
        return self.state is TransferState.ENDED

    def receive(self, data: bytes) -> list[bytes]:
        """The payload among the next bytes of the connection, in order; [] if there is none yet.

        Raises PeerError for a header that is none; its text carries the master's own words if it sent an error line.
        """
        assert not self.ended
        if not self.began:
            data = self._read_header(data)
            if not self.began:
                return []
        if self.state is TransferState.MARKED:
            return self._read_to_mark(data)
        return self._read_sized(data)

    def _read_header(self, data: bytes) -> bytes:
        """Look for the header line; what lies behind it."""
        data = self._line + data
        self._line = b""
        at = 0
        while at < len(data) and data[at] in b"\r\n":
            at += 1
        end = data.find(b"\n", at)
        if end < 0:
            self._line = data[at:]
            if len(self._line) > MAX_HEADER_BYTES:
                raise PeerError(f"expected $<size> or $EOF:<mark>, got {_text(self._line)!r}")
            if self._line and self._line[:1] not in b"$-":
                raise PeerError(f"expected $<size> or $EOF:<mark>, got {_text(self._line)!r}")
            return b""
        line = data[at:end]
        self._decode_header(line[:-1] if line.endswith(b"\r") else line)
        return data[end + 1 :]

    def _decode_header(self, line: bytes) -> None:
        if line[:1] == b"-":
            raise PeerError(f"the master gave the sync up: {_text(line[1:])}")
        if line[1 : 1 + len(_EOF)] == _EOF and len(line) == 1 + len(_EOF) + MARK_BYTES and line[:1] == b"$":
            self._mark = line[1 + len(_EOF) :]
            self._move(TransferTrigger.MARK)
            return
        size = parse_integer(line[1:])
        if line[:1] != b"$" or size is None or size < 0:
            raise PeerError(f"expected $<size> or $EOF:<mark>, got {_text(line)!r}")
        self.total_bytes = size
        self._move(TransferTrigger.SIZE)

    def _move(self, trigger: TransferTrigger) -> None:
        self.state = TRANSFER.after(self.state, trigger)

    def _read_sized(self, data: bytes) -> list[bytes]:
        assert self.total_bytes is not None
        left = self.total_bytes - self.read_bytes
        if len(data) < left:
            self.read_bytes += len(data)
            return [data] if data else []
        self.read_bytes = self.total_bytes
        self._move(TransferTrigger.END)
        self.rest = data[left:]
        return [data[:left]] if left else []

    def _read_to_mark(self, data: bytes) -> list[bytes]:
        """Pass on all but the last bytes, which may be the beginning of the mark."""
        if self._tail:
            data = self._tail + data
            self._tail = b""
        end = data.find(self._mark)
        if end >= 0:
            self._move(TransferTrigger.END)
            self.rest = data[end + MARK_BYTES :]
        else:
            end = max(0, len(data) - MARK_BYTES + 1)
            self._tail = data[end:]
        self.read_bytes += end
        return [data[:end]] if end else []


def _text(line: bytes) -> str:
    return line[:200].decode("utf-8", "backslashreplace")
