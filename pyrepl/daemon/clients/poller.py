"""All client sockets in one epoll of our own, which the event loop watches as one descriptor. Hot.

Why not asyncio's transports: for each readable socket asyncio needs a handle, a callback and a transport, which cost
more than a small command. Here one system call tells which client sockets are ready. Each of them is read, its commands
are executed and its replies collected; the replies are written together (`outbox` says why).

A turn asks the epoll ROUNDS times at most, as more requests may have come meanwhile. Then the loop serves timers, the
master's stream, children and replicas. A turn ends early once sockets that brought many bytes have taken TURN_S; the
sockets that were ready and not served go first in the next turn.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from typing import Any, Final, final

from pyrepl.daemon.clients.polled_socket import SLICE_S, PolledSocket, Receiver
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.wires.wire import Wire

ROUNDS: Final = 4
MOST_EVENTS: Final = 256
"""Sockets that one call of the epoll names at most."""
TURN_S: Final = SLICE_S
"""How long a turn with large reads may last, in seconds, before the other sockets wait for the next turn."""

_READ: Final[int] = select.EPOLLIN
_WRITE: Final[int] = select.EPOLLOUT


@final
class Poller:
    """The client sockets of a node.

    Invariant: `_sockets` has every socket that is not lost, by its descriptor. A socket that waits for nothing is not
    in the epoll, as the kernel would report again and again that its peer has gone.
    """

    __slots__ = ("_epoll", "_loop", "_poll", "_rest", "_sockets", "_turns", "_watched", "now")

    def __init__(self, turns: Turns) -> None:
        """Must be made inside the event loop that it runs in. `close` gives the epoll's descriptor back."""
        self._turns = turns
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._poll = self._epoll.poll
        self._sockets: dict[int, PolledSocket] = {}
        self._watched: set[int] = set()
        self._rest: list[tuple[int, int]] = []
        """(descriptor, events) of sockets that were ready in the last turn and were not served. Some may be lost by
        now."""
        self.now: Callable[[], float] = turns.now
        """Monotonic seconds."""
        self._loop.add_reader(self._epoll.fileno(), self.look)

    def add(self, wire: Wire, conn: Receiver) -> PolledSocket:
        """Serve a wire, which is ours from now on, for `conn`."""
        wire.set_no_delay(True)
        polled = PolledSocket(self, wire, conn)
        self._sockets[polled.fd] = polled
        self.watch(polled.fd, reading=True, writing=False)
        return polled

    def watch(self, fd: int, *, reading: bool, writing: bool) -> None:
        """Report from now on when `fd` can be read or written, as asked for; neither takes it out of the epoll."""
        events = (_READ if reading else 0) | (_WRITE if writing else 0)
        if fd in self._watched:
            if events:
                self._epoll.modify(fd, events)
            else:
                self._watched.discard(fd)
                self._epoll.unregister(fd)
        elif events:
            self._watched.add(fd)
            self._epoll.register(fd, events)

    def drop(self, fd: int) -> None:
        """A socket is lost. It must leave the epoll before it is closed: while a child holds a copy of the descriptor,
        closing ours would not take it out."""
        self.watch(fd, reading=False, writing=False)
        del self._sockets[fd]

    def later(self, callback: Callable[[Exception | None], None], error: Exception | None) -> None:
        """Call back in a later turn of the loop."""
        self._loop.call_soon(callback, error)

    def look(self) -> None:
        """Serve the sockets that are ready: one turn. Called by the loop when the epoll has something to report."""
        self._turns.begin_turn()
        until = self.now() + TURN_S
        ready, self._rest = self._rest, []
        for _ in range(ROUNDS):
            if not ready:
                ready = self._poll(0, MOST_EVENTS)
            if not ready or not self._serve_all(ready, until):
                break
            ready = []
        self._turns.end_turn()

    def _serve_all(self, ready: list[tuple[int, int]], until: float) -> bool:
        """Serve these sockets. False when the turn has to end early; the sockets not served are in `_rest` then."""
        for place, (fd, events) in enumerate(ready):
            polled = self._sockets.get(fd)
            if polled is not None and self._serve(polled, events) and self.now() >= until:
                self._rest = ready[place + 1 :]
                return False
        return True

    def close(self) -> None:
        """End every connection, and give back the descriptor."""
        for polled in list(self._sockets.values()):
            polled.abort()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _serve(self, polled: PolledSocket, events: int) -> bool:
        """Serve one socket. Returns whether it brought many bytes. A defect of ours that shows with one connection ends
        only that connection."""
        try:
            if events & _WRITE:
                polled.on_writable()
            if events != _WRITE:
                return polled.on_readable()
        except Exception as error:
            context: dict[str, Any] = {"message": "Serving a client failed", "exception": error}
            self._loop.call_exception_handler(context)
            polled.abort()
        return False
