"""The transport of one client connection, as asyncio's transports are for others, with less work per read. Hot.

`poller` makes it and says when the wire can be read or written; the wire carries the bytes; the connection
(`client_conn`) knows what they mean. The methods that connections call have the names and the behaviour of
asyncio.Transport: `write` never blocks, and bytes that the wire does not take wait here; `close` ends the connection
when these are out, `abort` at once; `connection_lost` is called in a later turn of the loop, exactly once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, Protocol, final

from pyrepl.daemon.wires.descriptor_io import MOST_BYTES
from pyrepl.daemon.wires.wire import Wire

READ_BYTES: Final = 16_000
"""Bytes that the first read asks for. Most requests fit into them; a request that is cut costs a second read, and is
parsed slowly. When a read brings so many, more reads follow, and the time it takes to serve decides how much the next
one asks for."""
MOST_READ_BYTES: Final = MOST_BYTES
SLICE_S: Final = 0.002
"""The commands of one read should be executed within so many seconds, as no other client is served meanwhile."""
HIGH_BYTES: Final = 64 * 1024
_MOST_DRAINS: Final = 4
_MOST_PIECES: Final = 512
"""Pieces in one scatter write; the kernel takes 1024 at most (IOV_MAX)."""


class Receiver:
    """A connection, with the methods that its socket calls. No Protocol, as the compiled form calls the methods of a
    class directly."""

    def data_received(self, data: bytes) -> None:
        """Bytes have come, at least one."""
        raise NotImplementedError

    def eof_received(self) -> None:
        """No more bytes will come. The socket closes by itself once everything is written."""
        raise NotImplementedError

    def resume_writing(self) -> None:
        """All bytes that waited are written, so that more may be."""
        raise NotImplementedError

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended; `exc` is the error that broke it, None if one of the two ends closed it."""
        raise NotImplementedError


class Watcher(Protocol):
    """The part of `poller` that a socket uses; its methods are explained there."""

    now: Callable[[], float]

    def watch(self, fd: int, *, reading: bool, writing: bool) -> None: ...

    def drop(self, fd: int) -> None: ...

    def later(self, callback: Callable[[Exception | None], None], error: Exception | None) -> None: ...


@final
class PolledSocket:
    """One wire, which belongs to us.

    Invariants: `_waiting_bytes` is the size of all of `_waiting`. We want to send while bytes wait or a file did not go
    out whole, and to receive while reading is neither paused nor over. The poller watches for writing exactly while we
    want to send, and for reading while we want to receive; where the wire asks for it, the other way round (`_watch`).
    """

    __slots__ = (
        "_conn",
        "_high_bytes",
        "_is_closing",
        "_is_lost",
        "_is_over",
        "_is_reading",
        "_poller",
        "_read_bytes",
        "_waiting",
        "_waiting_bytes",
        "fd",
        "wire",
    )

    def __init__(self, poller: Watcher, wire: Wire, conn: Receiver) -> None:
        self._poller = poller
        self.wire = wire
        self._conn: Receiver | None = conn
        """None once `connection_lost` was called: socket and connection refer to each other, and such a cycle would be
        reclaimed by the cycle collector only."""
        self.fd: int = wire.fd
        """The descriptor that the poller knows us by; it stays the same when the wire is closed."""
        self._read_bytes: int = READ_BYTES
        self._waiting: deque[bytes | memoryview] = deque()
        self._waiting_bytes: int = 0
        self._high_bytes: int = HIGH_BYTES
        self._is_over = False
        """Do we owe a call of `resume_writing`? So it is once more than `_high_bytes`, or a part of a file, waited."""
        self._is_reading = True
        self._is_closing = False
        self._is_lost = False

    # ------------------------------------------------------------------ what the poller calls

    def on_readable(self) -> bool:
        """Read once, and hand the bytes or the end of the input to the connection. Returns whether the read brought
        READ_BYTES or more."""
        conn = self._conn
        wire = self.wire
        if wire.sends_when_readable:
            self._send_waiting()
            self._watch()
        if not self._is_reading or conn is None:
            return False
        try:
            data = wire.receive(self._read_bytes)
        except OSError as error:
            self._lose(error)
            return False
        if data is None:
            if wire.receives_when_writable:
                self._watch()
            return False
        size = len(data)
        if size == 0:
            conn.eof_received()
            self.close()
            return False
        if size >= READ_BYTES:
            self._receive_much(conn, data)
            return True
        if self._read_bytes > READ_BYTES and 8 * size < self._read_bytes:
            # Only halve it: the last part of a large request is short too, and the next such request should fit.
            self._read_bytes = max(READ_BYTES, self._read_bytes // 2)
        conn.data_received(data)
        return False

    def on_writable(self) -> None:
        """Write the bytes that wait."""
        wire = self.wire
        if wire.receives_when_writable:
            self.on_readable()
            self._watch()
        self._send_waiting()
        if wire.sends_when_readable:
            self._watch()

    # ------------------------------------------------------------------ what the connection calls

    def write(self, data: bytes | memoryview) -> None:
        """Send now what the wire takes of `data`, and the rest when it takes more. Ignored once the connection is
        lost."""
        if self._is_lost:
            return
        if not self._waiting:
            size = self._send(data)
            if self._is_lost:
                return
            if size == len(data):
                return
            if size:
                data = memoryview(data)[size:]
        self._keep(data)

    def writelines(self, pieces: Sequence[bytes | memoryview]) -> None:
        """As `write`, for several pieces in one scatter write."""
        if self._is_lost:
            return
        size = 0 if self._waiting else self._send_pieces(pieces[:_MOST_PIECES])
        for piece in pieces:
            if size >= len(piece):
                size -= len(piece)
            elif not self._is_lost:
                self._keep(memoryview(piece)[size:] if size else piece)
                size = 0

    def send_file(self, file_fd: int, offset: int, count: int) -> int:
        """Send `count` bytes of a file from `offset` on. Returns how many the wire took.

        If these are fewer than `count`, `resume_writing` is called when it may take more. Raises OSError when the file
        cannot be read or is too short.
        """
        if self._is_lost:
            return 0
        size = 0
        if not self._waiting:
            try:
                size = self.wire.send_file(file_fd, offset, count)
            except ConnectionError as error:
                self._lose(error)
                return 0
        if size < count:
            self.tell_when_writable()
        return size

    def tell_when_writable(self) -> None:
        """Have `resume_writing` called in a later turn, once nothing waits here and the wire takes more."""
        self._is_over = True
        self._watch()

    def close(self) -> None:
        """Read no more, and end the connection when everything is written."""
        if self._is_closing:
            return
        self._is_closing = True
        self._is_reading = False
        if self._waiting:
            self._watch()
        else:
            self._lose(None)

    def abort(self) -> None:
        """End the connection at once; bytes that wait are dropped."""
        self._is_closing = True
        self._lose(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        """Bytes that the kernel has not taken yet."""
        return self._waiting_bytes

    def set_write_buffer_limits(self, high: int) -> None:
        """Call `resume_writing` when everything is out after more than `high` bytes have waited."""
        self._high_bytes = high

    def pause_reading(self) -> None:
        """Read no more until `resume_reading`: the kernel's buffer fills, and then the client has to wait."""
        self._set_reading(False)

    def resume_reading(self) -> None:
        self._set_reading(True)

    # ------------------------------------------------------------------ inside

    def _receive_much(self, conn: Receiver, data: bytes) -> None:
        """Hand on a large read, and choose from the time this takes how much the next read asks for: a few large values
        are served faster than as many bytes of small commands."""
        size = len(data)
        began = self._poller.now()
        conn.data_received(data)
        took_s = self._poller.now() - began
        if took_s > SLICE_S:
            self._read_bytes = max(READ_BYTES, size // 2)
        elif size == self._read_bytes and 4.0 * took_s <= SLICE_S:
            self._read_bytes = min(4 * size, MOST_READ_BYTES)

    def _set_reading(self, wanted: bool) -> None:
        if not self._is_closing and wanted != self._is_reading:
            self._is_reading = wanted
            self._watch()

    def _watch(self) -> None:
        """Tell the poller what to watch for, unless the connection is lost."""
        if self._is_lost:
            return
        sends = self._is_over or bool(self._waiting)
        reading, writing = self._is_reading, sends
        if sends and self.wire.sends_when_readable:
            reading, writing = True, False
        if self._is_reading and self.wire.receives_when_writable:
            reading, writing = False, True
        self._poller.watch(self.fd, reading=reading, writing=writing)

    def _send_waiting(self) -> None:
        waiting = self._waiting
        while waiting:
            size = self._send_pieces(list(islice(waiting, _MOST_PIECES)))
            if size == 0:
                return
            self._waiting_bytes -= size
            while size:
                piece = waiting.popleft()
                if len(piece) > size:
                    waiting.appendleft(memoryview(piece)[size:])
                    break
                size -= len(piece)
        if self._is_lost:
            return
        if self._is_closing:
            self._lose(None)
            return
        was_over, self._is_over = self._is_over, False
        self._watch()
        if was_over and self._conn is not None:
            self._conn.resume_writing()

    def _keep(self, data: bytes | memoryview) -> None:
        was_empty = not self._waiting
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > self._high_bytes:
            self._is_over = True
        if was_empty:
            self._watch()

    def _send(self, data: bytes | memoryview) -> int:
        """As `_send_pieces`, for a single piece."""
        try:
            return self.wire.send(data)
        except OSError as error:
            self._lose(error)
            return 0

    def _send_pieces(self, pieces: Sequence[bytes | memoryview]) -> int:
        """Send pieces, and return how many bytes the wire took: 0 when it has no room, and when it is broken, which
        loses the connection."""
        try:
            return self.wire.send_pieces(pieces)
        except OSError as error:
            self._lose(error)
            return 0

    def _lose(self, error: Exception | None) -> None:
        """End reading and writing now, and call `connection_lost` in a later turn: the connection may be in the middle
        of a call here."""
        if self._is_lost:
            return
        self._is_lost = True
        self._is_closing = True
        self._is_reading = False
        self._waiting.clear()
        self._waiting_bytes = 0
        self._poller.drop(self.fd)
        self._poller.later(self._end, error)

    def _end(self, error: Exception | None) -> None:
        if error is None:
            self._drain()
        conn, self._conn = self._conn, None
        try:
            if conn is not None:
                conn.connection_lost(error)
        finally:
            self.wire.close()

    def _drain(self) -> None:
        """Read and drop the bytes that are left: closing a socket with unread bytes sends a reset, and then the peer
        may lose our last reply."""
        with suppress(OSError):
            for _ in range(_MOST_DRAINS):
                if not self.wire.receive(MOST_READ_BYTES):
                    return
