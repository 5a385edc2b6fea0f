"""Shakes hands with those who connect to a port with TLS, before anybody else hears of them.

A handshake costs half a millisecond to several of the processor, which other clients would wait for, and memory before
it is known who is there. So:

- A connection is a bare descriptor until its first bytes come.
- Few connections (`max-new-tls-connections-per-cycle`) go on in one turn of the loop, those of different addresses by
  turns.
- A handshake ends after HANDSHAKE_S, whatever its state; and when MOST_PENDING of them are under way, the oldest one of
  the address that has the most makes room for a new one. So nobody can keep others out by connections that say nothing.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, final

from pyrepl.acl.addresses import place_of
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.service import Service
from pyrepl.daemon.wires.tls import HANDSHAKE_S, Tls
from pyrepl.daemon.wires.tls_reasons import NO_TLS, why_client_failed
from pyrepl.daemon.wires.tls_wire import TlsWire
from pyrepl.daemon.wires.wire import Wire, name_of
from pyrepl.node.node import Node
from pyrepl.observability import events

MOST_PENDING: Final = 1000
"""Handshakes under way at once."""
ONLY_TLS: Final = (
    b"-ERR This port speaks TLS only: connect with TLS (redis-cli --tls, tls-replication yes on a replica), or to the"
    b" plain port\r\n"
)
HANDSHAKE: Final = b"\x16"
"""The first byte of whoever speaks TLS: the type of a record."""
_LOOK_EVERY_S: Final = 0.5
_DROPPED_BYTES: Final = 65_536
_LOG_EVERY_S: Final = 1.0
"""The failures of so many seconds share a line of the log, which whoever fails could fill otherwise."""
_MOST_EVENTS: Final = 256


@final
class _Pending:
    """A connection whose handshake is not over; `sock` becomes an SSLSocket when its first bytes have come."""

    __slots__ = ("addr", "began_at", "on_wire", "place", "sock")

    def __init__(self, sock: socket.socket, on_wire: Callable[[Wire], None], began_at: float) -> None:
        self.sock: socket.socket | ssl.SSLSocket = sock
        self.on_wire = on_wire
        self.addr = name_of(sock.getpeername)
        self.place = place_of(self.addr)
        self.began_at = began_at


@final
class Handshakes(Service):
    """The handshakes that are under way, of all ports.

    Invariants: `_pending` has them by descriptor, the oldest first, and `_by_place` those of each address (`place_of`),
    none of which is empty. `_epoll` watches those that wait for bytes or for room; `_ready` has those that can go on,
    by address too, and while it is not empty a step is planned.
    """

    def __init__(self, node: Node, tls: Tls, clock: Clock, log: Log) -> None:
        self._node = node
        self._tls = tls
        self._clock = clock
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._epoll: select.epoll | None = None
        self._pending: dict[int, _Pending] = {}
        self._by_place: dict[bytes, dict[int, None]] = {}
        self._ready: dict[bytes, deque[int]] = {}
        self._failures = 0
        self._last_failure: tuple[str, str] | None = None
        self._log_again_at = 0.0

    def begin_one(self, sock: socket.socket, on_wire: Callable[[Wire], None]) -> None:
        """Shake hands with a connection that came in; `sock` is ours from now on. `on_wire` gets the wire in a later
        turn; it is not called if the handshake fails."""
        if self._epoll is None:
            self._epoll = select.epoll()
            self._loop.add_reader(self._epoll.fileno(), self._look)
        while len(self._pending) >= MOST_PENDING:
            most = max(self._by_place.values(), key=len)
            self._fail(next(iter(most)), f"it has made room for the newest of {MOST_PENDING} handshakes")
        sock.setblocking(False)
        pending = _Pending(sock, on_wire, self._clock.now())
        self._pending[sock.fileno()] = pending
        self._by_place.setdefault(pending.place, {})[sock.fileno()] = None
        self._epoll.register(sock.fileno(), select.EPOLLIN | select.EPOLLONESHOT)

    # ------------------------------------------------------------------ as a service

    def tick(self, now: float) -> None:
        """Cut the handshakes that take too long, and tell of failures that were not told yet."""
        while self._pending:
            fd, oldest = next(iter(self._pending.items()))
            if now - oldest.began_at < HANDSHAKE_S:
                break
            self._fail(fd, f"it took longer than {HANDSHAKE_S:.0f} s")
        if self._last_failure is not None and now >= self._log_again_at:
            self._tell(now)

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S

    def stop(self) -> None:
        for pending in self._pending.values():
            pending.sock.close()
        self._pending.clear()
        self._by_place.clear()
        self._ready.clear()
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None

    # ------------------------------------------------------------------ inside

    def _look(self) -> None:
        """Queue the connections that can go on."""
        assert self._epoll is not None
        was_empty = not self._ready
        for fd, _ in self._epoll.poll(0, _MOST_EVENTS):
            self._ready.setdefault(self._pending[fd].place, deque()).append(fd)
        if was_empty and self._ready:
            self._step()

    def _step(self) -> None:
        """Let as many go on as may in one turn."""
        for _ in range(self._node.settings.max_new_tls_connections_per_cycle):
            if not self._ready:
                return
            place = next(iter(self._ready))
            # The address goes to the end of the line.
            waiting = self._ready.pop(place)
            fd = waiting.popleft()
            if waiting:
                self._ready[place] = waiting
            if fd in self._pending:
                self._go_on(fd, self._pending[fd])
        if self._ready:
            self._loop.call_soon(self._step)

    def _go_on(self, fd: int, pending: _Pending) -> None:
        assert self._epoll is not None
        try:
            sock = self._encrypted(pending)
            if sock is None:
                self._turn_away(fd, pending.sock)
                return
            sock.do_handshake()
        except (ssl.SSLWantReadError, BlockingIOError):
            # BlockingIOError: the descriptor was another connection's when it was queued.
            self._epoll.modify(fd, select.EPOLLIN | select.EPOLLONESHOT)
        except ssl.SSLWantWriteError:
            self._epoll.modify(fd, select.EPOLLOUT | select.EPOLLONESHOT)
        except OSError as error:
            self._fail(fd, why_client_failed(error))
        else:
            self._epoll.unregister(fd)
            self._forget(fd)
            pending.on_wire(TlsWire(sock, why_client_failed))

    def _encrypted(self, pending: _Pending) -> ssl.SSLSocket | None:
        """The socket with its session of TLS, which is made when the first bytes have come; None if these are no TLS.
        Raises OSError."""
        if isinstance(pending.sock, ssl.SSLSocket):
            return pending.sock
        begins = pending.sock.recv(1, socket.MSG_PEEK)
        if begins and begins != HANDSHAKE:
            return None
        context = self._tls.server
        if context is None:
            raise ConnectionAbortedError("the port was closed meanwhile")
        pending.sock = context.wrap_socket(pending.sock, server_side=True, do_handshake_on_connect=False)
        return pending.sock

    def _turn_away(self, fd: int, sock: socket.socket) -> None:
        """Tell somebody who does not speak TLS why the connection ends."""
        with suppress(OSError):
            sock.send(ONLY_TLS)
        self._fail(fd, NO_TLS)

    def _fail(self, fd: int, why: str) -> None:
        pending = self._forget(fd)
        if self._epoll is not None:
            with suppress(OSError):
                self._epoll.unregister(fd)
        with suppress(OSError):
            # Closing with unread bytes would send a reset, and the alert that says why might be lost.
            socket.socket.recv(pending.sock, _DROPPED_BYTES)
        pending.sock.close()
        self._node.stats.tls_handshakes_failed += 1
        self._failures += 1
        self._last_failure = pending.addr, why
        now = self._clock.now()
        if now >= self._log_again_at:
            self._tell(now)

    def _forget(self, fd: int) -> _Pending:
        pending = self._pending.pop(fd)
        of_place = self._by_place[pending.place]
        del of_place[fd]
        if not of_place:
            del self._by_place[pending.place]
        return pending

    def _tell(self, now: float) -> None:
        assert self._last_failure is not None
        addr, why = self._last_failure
        others = self._failures - 1
        self._log(
            events.TlsHandshakeFailed(addr, why, f" ({others} more failed since the last such line)" if others else "")
        )
        self._last_failure, self._failures = None, 0
        self._log_again_at = now + _LOG_EVERY_S
