"""The sockets of the mailbox protocol: one epoll of their own, which the event loop watches as one descriptor.

As clients' sockets (daemon/clients), but in plain Python: few connections, and what passes here waits for disks. In an
epoll, and not in the loop itself, as libuv calls no reader of a socket that was reset.

Not here: what the bytes mean (talk_conn.py).
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, Protocol, final

from pyrepl.daemon.wires.wire import Wire

READ_BYTES: Final = 256 * 1024
MOST_UNTAKEN_BYTES: Final = 128 * 1024
"""Where the system holds more that was written, the other end does not read."""
_MOST_EVENTS: Final = 64
_MOST_PIECES: Final = 512


class Receiver(Protocol):
    """A connection, as its socket calls it."""

    def data_received(self, data: bytes) -> None: ...

    def resume_writing(self) -> None:
        """What waited has gone."""

    def connection_lost(self, why: str) -> None:
        """It has ended; `why` is the error that broke it, "" if one of the two ends closed it. Called once."""


@final
class Sockets:
    """All of them. Invariant: `_sockets` has those that are not lost, by their descriptors."""

    def __init__(self) -> None:
        """Inside the loop that it runs in."""
        self._loop: Final = asyncio.get_running_loop()
        self._epoll: select.epoll | None = None
        self._sockets: Final[dict[int, TalkSocket]] = {}

    def add(self, wire: Wire, conn: Receiver) -> TalkSocket:
        """Serve a wire, which is ours from now on, for `conn`."""
        if self._epoll is None:
            self._epoll = select.epoll()
            self._loop.add_reader(self._epoll.fileno(), self._look)
        wire.set_no_delay(True)
        made = TalkSocket(self, wire, conn)
        self._sockets[made.fd] = made
        self._epoll.register(made.fd, select.EPOLLIN)
        return made

    def watch(self, fd: int, *, reading: bool, writing: bool) -> None:
        assert self._epoll is not None
        self._epoll.modify(fd, (select.EPOLLIN if reading else 0) | (select.EPOLLOUT if writing else 0))

    def drop(self, fd: int) -> None:
        assert self._epoll is not None
        self._epoll.unregister(fd)
        del self._sockets[fd]

    def later(self, conn: Receiver, why: str) -> None:
        """Tell a connection in a later turn that it has ended: it may be in the middle of a call now."""
        self._loop.call_soon(conn.connection_lost, why)

    def close(self) -> None:
        """End every connection."""
        for each in list(self._sockets.values()):
            each.abort()
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None

    def _look(self) -> None:
        assert self._epoll is not None
        for fd, events in self._epoll.poll(0, _MOST_EVENTS):
            found = self._sockets.get(fd)
            if found is not None:
                self._serve(found, events)

    def _serve(self, found: TalkSocket, events: int) -> None:
        """Serve one socket. A defect of ours that shows with one connection ends only that one."""
        try:
            if events & select.EPOLLOUT:
                found.on_writable()
            if events & ~select.EPOLLOUT:
                found.on_readable()
        except Exception as error:
            found.abort()
            self._loop.call_exception_handler({"message": "Serving a mailbox connection failed", "exception": error})


@final
class TalkSocket:
    """One wire.

    Invariants: `unsent` is the size of all of `_waiting`. It is watched for writing exactly while bytes wait, and for
    reading while reading is neither paused nor over; where the wire asks for it, the other way round.
    """

    def __init__(self, sockets: Sockets, wire: Wire, conn: Receiver) -> None:
        self.fd: Final = wire.fd
        self.unsent = 0
        self._sockets: Final = sockets
        self._wire: Final = wire
        self._conn: Final = conn
        self._waiting: Final[deque[bytes | memoryview]] = deque()
        self._is_reading = True
        self._is_closing = False
        self._waits_for_cut = False
        self._is_lost = False
        self._hears = True
        """Does the other end take what is written?"""

    # What the connection calls

    def write(self, pieces: Sequence[bytes]) -> None:
        """Send now what the wire takes, and the rest when it takes more. Ignored when it is lost."""
        if self._is_lost or not self._hears:
            return
        self._waiting.extend(piece for piece in pieces if piece)
        self.unsent += sum(map(len, pieces))
        self._send()

    def read_on(self, wanted: bool) -> None:
        """Read, or do not for now: then the kernel's buffer fills, and the other end waits."""
        if not self._is_closing and wanted != self._is_reading:
            self._is_reading = wanted
            self._watch()

    def close(self) -> None:
        """Read no more, and end when everything is written."""
        if not self._is_closing:
            self._is_closing = True
            self._is_reading = False
            self._watch() if self._waiting or self._waits_for_cut else self._lose("")

    def close_if_read(self) -> None:
        """As `close`, but while the other end has much to read it stays open, until it is cut."""
        self._waits_for_cut = not self._is_lost and self._wire.untaken() > MOST_UNTAKEN_BYTES
        self.close()

    def abort(self) -> None:
        """End at once."""
        self._lose("")

    def cut(self) -> None:
        """As `abort`; an end that has not read everything is told at once."""
        if not self._is_lost and (self._waiting or self._wire.untaken()):
            self._wire.reset()
        self._lose("")

    # What the epoll tells

    def on_readable(self) -> None:
        """Something has come, or the other end is gone."""
        if self._wire.sends_when_readable:
            self._send()
        if self._is_lost:
            return
        try:
            data = self._wire.receive(READ_BYTES)
        except OSError as error:
            self._lose(error.strerror or str(error))
            return
        if data == b"":
            self._lose("")
        elif data is not None:
            self._conn.data_received(data)
        self._watch()

    def on_writable(self) -> None:
        """There is room."""
        if self._wire.receives_when_writable:
            self.on_readable()
        waited = bool(self._waiting)
        self._send()
        if waited and not self._waiting and not self._is_lost:
            self._conn.resume_writing()

    # Inside

    def _send(self) -> None:
        while self._waiting and not self._is_lost:
            try:
                size = self._wire.send_pieces(list(islice(self._waiting, _MOST_PIECES)))
            except OSError:
                # The other end hears nothing more. What it said before may still be here to be read, up to its end.
                self._hears = False
                self._waiting.clear()
                self.unsent = 0
                break
            if not size:
                break
            self._sent(size)
        if self._is_closing and not self._waiting and not self._waits_for_cut:
            self._lose("")
        self._watch()

    def _sent(self, size: int) -> None:
        self.unsent -= size
        while size:
            piece = self._waiting.popleft()
            if len(piece) > size:
                self._waiting.appendleft(memoryview(piece)[size:])
                return
            size -= len(piece)

    def _watch(self) -> None:
        if self._is_lost:
            return
        writes = bool(self._waiting)
        reading, writing = self._is_reading, writes
        if writes and self._wire.sends_when_readable:
            reading, writing = True, False
        if self._is_reading and self._wire.receives_when_writable:
            reading, writing = False, True
        self._sockets.watch(self.fd, reading=reading, writing=writing)

    def _lose(self, why: str) -> None:
        if self._is_lost:
            return
        self._is_lost = self._is_closing = True
        self._is_reading = False
        self._waiting.clear()
        self.unsent = 0
        self._sockets.drop(self.fd)
        with suppress(OSError):
            # Closing with unread bytes would send a reset, and the other end might lose our last line.
            self._wire.receive(READ_BYTES)
        self._wire.close()
        self._sockets.later(self._conn, why)
