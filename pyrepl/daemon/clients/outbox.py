"""The connections that have replies to write: collected while the poller serves sockets, then written one by one.

Why replies wait: a write to a peer that sleeps wakes it, which costs as much as executing the command. If we answered
each read at once, a client with many connections and this node would both fall asleep between every two requests. So
replies wait while the poller finds more requests; then the peer is woken once and finds all its replies. They must not
wait too long either: with the replies of every connection in one heap, the peer would be idle while we work, and we
while the peer works. So as soon as MOST connections have replies, these are written in the middle of the turn. Replies
that no request of this turn caused (WAIT, published messages) are written in the next turn of the loop.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, final

from pyrepl.daemon.signals import Signal

MOST: Final = 24
"""Connections with replies that wait at most during a turn of the poller."""


class Writer(Protocol):
    """A connection with replies to write."""

    def write_out(self) -> None:
        """Hand all replies to the transport."""


@final
class Outbox:
    """The connections with replies to write.

    Invariant: while `_waiting` is not empty, the poller is in its turn or a flush is planned.
    """

    __slots__ = ("_before", "_in_turn", "_loop", "_planned", "_waiting")

    def __init__(self, before: Signal) -> None:
        """`before` is the signal to be told before replies are written."""
        self._before = before
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Writer] = []
        self._planned = False
        self._in_turn = False

    def add(self, conn: Writer) -> None:
        """`conn` has replies to write, and had none before."""
        self._waiting.append(conn)
        if not self._in_turn:
            self._plan()
        elif len(self._waiting) >= MOST:
            self.flush()

    def begin_turn(self) -> None:
        """The poller serves sockets from now on: collect replies until `end_turn`."""
        self._in_turn = True

    def end_turn(self) -> None:
        """The poller has served the sockets of this turn: write the replies."""
        self._in_turn = False
        self.flush()

    def flush(self) -> None:
        """Write all collected replies now."""
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
