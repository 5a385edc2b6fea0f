"""A snapshot on the wire: `$<len>` or `$EOF:<mark>`, the bytes, and where they end. Reads in pieces of any size.

The replica reads by `Transfer`, which snapshot_in.py feeds. On the master session.py sends the header of a file; the
header and mark of a diskless snapshot are written by the child (daemon/disk/snapshot_sinks.py).

Not here: what the bytes are (rdb/) and what happens when they are complete (conversation.py).

    header      "\\n" (keep-alives, ignored) | "-text" (the master gave up) | "$<len>\\r\\n" | "$EOF:<40 bytes>\\r\\n"
    payload     len bytes, nothing after them | bytes up to the 40 bytes of the mark
    rest        what came after the end belongs to the stream

A master that makes a file first knows its size. One that writes straight to the socket (diskless) does not, so it
announces 40 random bytes, the mark, which stand behind the snapshot again.

Source: Redis 7.0 `readSyncBulkPayload`. Redis looks for the mark at the end of each read alone, as its masters send
nothing behind it before the first ACK. Here the mark is found anywhere, and the stream may follow at once.
"""

from __future__ import annotations

import enum
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.machines import Table
from pyrepl.resp.numbers import parse_integer

MARK_BYTES: Final = 40
MAX_HEADER_BYTES: Final = 1024
"""Inclusive, for a header whose line end has not come yet."""
_EOF: Final = b"EOF:"


def encode_size_header(size_bytes: int) -> bytes:
    """The line before a snapshot of `size_bytes` bytes."""
    return b"$%d\r\n" % size_bytes


def encode_mark_header(mark: bytes) -> bytes:
    """The line before a snapshot that ends with `mark`: MARK_BYTES random bytes without line ends among them."""
    assert len(mark) == MARK_BYTES
    return b"$EOF:%b\r\n" % mark


class TransferState(enum.StrEnum):
    """What comes next on the connection."""

    HEADER = "header"
    """The line that says how the payload ends."""
    SIZED = "sized"
    """The rest of a payload of known size."""
    MARKED = "marked"
    """The rest of a payload that a mark ends."""
    ENDED = "ended"
    """The payload is complete."""


class TransferTrigger(enum.StrEnum):
    """What was read."""

    SIZE = "size"
    """A header with a size."""
    MARK = "mark"
    """A header with a mark."""
    END = "end"
    """The last byte of the payload, and the mark if there is one."""


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

    `total_bytes` is None while the header is incomplete, and for a payload that a mark ends. `read_bytes` counts the
    payload that was returned. Once the payload has ended, `rest` holds the bytes behind it.
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
        """Is the payload complete? Then `receive` may not be called any more."""
        return self.state is TransferState.ENDED

    def receive(self, data: bytes) -> list[bytes]:
        """Take the next bytes of the connection. Returns the payload among them, in order; [] if there is none.

        Raises PeerError for a broken header. If the master sent an error line instead, the error has its text.
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
        """Look for the header line. Returns the bytes behind it; b"" while it is incomplete."""
        data = self._line + data
        self._line = b""
        at = 0
        # Masters send empty lines as keep-alives while they make the snapshot.
        while at < len(data) and data[at] in b"\r\n":
            at += 1
        end = data.find(b"\n", at)
        if end < 0:
            self._line = data[at:]
            if len(self._line) > MAX_HEADER_BYTES:
                raise PeerError(f"expected $<size> or $EOF:<mark>, got {_text(self._line)!r}")
            if self._line and self._line[:1] not in b"$-":
                # Say so at once: what is no header may never have a line end, and would be waited for until a timeout.
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
        """Pass on the payload; what lies behind its last byte is `rest`."""
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
        """Pass on the payload up to the mark.

        Without a mark in sight the last 39 bytes wait: they may be its beginning, and its rest comes later.
        """
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
