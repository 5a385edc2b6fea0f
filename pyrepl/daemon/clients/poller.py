"""All client sockets in one epoll of our own, which the event loop watches as one descriptor. Hot.

Theory: per readable socket asyncio costs a handle, a callback and a transport, more than a small command does. Here one
system call tells which of all client sockets are ready, and each is read, its commands executed and its replies
collected before the loop has its next turn. The replies go out together (see `outbox`): a write to a peer that sleeps
wakes it, so a node that answers each read at once plays ping-pong with a client of many connections. The sockets are
looked at ROUNDS times in a turn, as more may have come meanwhile; then timers, the master's stream, children and
replicas have theirs. Sockets that bring much end a turn early: those that were ready and not served go first in the
next one.
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
"""Sockets served between two looks."""
TURN_S: Final = SLICE_S
"""Once sockets that brought much have taken so long, the others wait for the next turn."""

_READ: Final[int] = select.EPOLLIN
_WRITE: Final[int] = select.EPOLLOUT


@final
class Poller:
    """The client sockets of a node.

    Invariant: `_sockets` has every socket that is not lost; those that wait for nothing are not in the epoll, as the
    kernel would go on telling that their peer has gone.
    """

    __slots__ = ("_epoll", "_loop", "_poll", "_rest", "_sockets", "_turns", "_watched", "now")

    def __init__(self, turns: Turns) -> None:
        """Must be made inside the loop it is to run in; `close` gives the descriptor back."""
        self._turns = turns
        self._loop = asyncio.get_running_loop()
        self._epoll = select.epoll()
        self._poll = self._epoll.poll
        self._sockets: dict[int, PolledSocket] = {}
        self._watched: set[int] = set()
        self._rest: list[tuple[int, int]] = []
        """Were ready in the last turn and have not been served; some may be lost by now."""
        self.now: Callable[[], float] = turns.now
        """Monotonic seconds."""
        self._loop.add_reader(self._epoll.fileno(), self.look)

    def add(self, wire: Wire, conn: Receiver) -> PolledSocket:
        """Serve a wire, which is ours from now on."""
        wire.set_no_delay(True)
        polled = PolledSocket(self, wire, conn)
        self._sockets[polled.fd] = polled
        self.watch(polled.fd, reading=True, writing=False)
        return polled

    def watch(self, fd: int, *, reading: bool, writing: bool) -> None:
        """What a socket waits for."""
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
        """A socket is lost: it must leave the epoll before it is closed, as a child may hold a copy of it."""
        self.watch(fd, reading=False, writing=False)
        del self._sockets[fd]

    def later(self, callback: Callable[[Exception | None], None], error: Exception | None) -> None:
        """Call back in a later turn of the loop."""
        self._loop.call_soon(callback, error)

    def look(self) -> None:
        """Serve the sockets that are ready."""
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
        """False when the turn is over early; who was not served then is in `_rest`."""
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
        """Was it much? A defect that shows with one connection ends that connection alone."""
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
