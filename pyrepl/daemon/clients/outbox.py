"""Replies on their way out: collected while the client sockets are looked at, then written connection after connection.

Theory: a write to a peer that sleeps wakes it, which costs as much as executing the command. A node that answers each
read at once plays ping-pong with a client of many connections: both sleep between every two requests. So replies wait
while the poller finds more requests; then the peer is woken once and finds them all. But not too many wait: with the
replies of every connection in one heap the peer would stand idle while we work and we while it does, so MOST of them go
out in the middle of a turn. Replies that no request of this turn caused (WAIT, published messages) go in the next turn.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, final

from pyrepl.daemon.signals import Signal

MOST: Final = 24


class Writer(Protocol):
    """A connection with replies to write."""

    def write_out(self) -> None: ...


@final
class Outbox:
    """The connections with replies to write.

    Invariant: while `_waiting` is not empty, the poller is in its turn or a flush is planned.
    """

    __slots__ = ("_before", "_in_turn", "_loop", "_planned", "_waiting")

    def __init__(self, before: Signal) -> None:
        """`before` is told before replies go out."""
        self._before = before
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Writer] = []
        self._planned = False
        self._in_turn = False

    def add(self, conn: Writer) -> None:
        """`conn` has something to write (it had nothing before)."""
        self._waiting.append(conn)
        if not self._in_turn:
            self._plan()
        elif len(self._waiting) >= MOST:
            self.flush()

    def begin_turn(self) -> None:
        """Requests are coming; `end_turn` follows."""
        self._in_turn = True

    def end_turn(self) -> None:
        """Nothing more has come, or enough for once."""
        self._in_turn = False
        self.flush()

    def flush(self) -> None:
        """Write everything now."""
        if not self._waiting:
            return
        waiting = self._waiting
        self._waiting = []
        self._before.tell()
        for conn in waiting:
            conn.write_out()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._planned_flush)

    def _planned_flush(self) -> None:
        self._planned = False
        self.flush()
