"""Replies on their way out: collected over a turn or two of the loop, then written connection after connection.

Theory: a write to a peer that sleeps wakes it, which costs as much as executing the command. A node that answers each
read at once plays ping-pong with a client of many connections: both sleep between every two requests. So as long as
each look at the sockets brings more requests, and for ROUNDS looks at most, replies wait; then the peer is woken once
and finds them all. A lone request waits for one look that finds nothing, a microsecond. But not too many wait: with the
replies of every connection in one heap the peer would stand idle while we work and we while it does, so MOST of them go
out in the middle of a turn. Measured with redis-benchmark, 50 connections, no pipeline: 1.5 times the throughput of
writing at once, and 1.3 times that of one heap.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from pyrepl.daemon.client_conn import ClientConn

ROUNDS: Final = 2
MOST: Final = 24


@final
class Outbox:
    """The connections with replies to write.

    Invariant: a look is planned while `_waiting` is not empty.
    """

    __slots__ = ("_loop", "_news", "_planned", "_rounds", "_waiting")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: list[ClientConn] = []
        self._planned = False
        self._rounds = 0
        self._news = False
        """Something was added since the last look at the sockets."""

    def add(self, conn: ClientConn) -> None:
        """`conn` has something to write (it had nothing before)."""
        if not self._waiting:
            self._rounds = 0
            self._plan()
        self._waiting.append(conn)
        self._news = True
        if len(self._waiting) >= MOST:
            self.flush()

    def flush(self) -> None:
        """Write everything now."""
        waiting, self._waiting = self._waiting, []
        for conn in waiting:
            conn.flush()

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """The loop has looked at the sockets once more."""
        self._planned = False
        if not self._waiting:
            return
        if self._news and self._rounds < ROUNDS:
            self._news = False
            self._rounds += 1
            self._plan()
            return
        self.flush()
