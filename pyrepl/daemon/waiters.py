"""Clients that WAIT: held until enough replicas have acknowledged their last write, or their time is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from pyrepl.replication.roster import Roster


@dataclass(slots=True)
class _Waiter:
    client_id: int
    wanted: int
    cut: int
    timer: asyncio.TimerHandle | None


@final
class Waiters:
    """The waiting clients; each is answered exactly once by `answer(client id, replicas that acked)`."""

    def __init__(self, roster: Roster, answer: Callable[[int, int], None]) -> None:
        self._roster = roster
        self._answer = answer
        self.waiting: dict[int, _Waiter] = {}

    def add(self, client_id: int, wanted: int, cut: int, timeout_ms: int) -> None:
        """`timeout_ms` 0 waits without end."""
        timer = None
        if timeout_ms:
            timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, self._finish, client_id)
        self.waiting[client_id] = _Waiter(client_id, wanted, cut, timer)

    def look(self) -> None:
        """An ACK came: answer those who have enough."""
        for waiter in list(self.waiting.values()):
            if self._roster.acked_at_least(waiter.cut) >= waiter.wanted:
                self._finish(waiter.client_id)

    def time_is_over(self, client_id: int) -> None:
        """Answer a waiting client with what there is."""
        self._finish(client_id)

    def drop_all(self) -> list[int]:
        """Forget all without an answer; their ids."""
        client_ids = list(self.waiting)
        for client_id in client_ids:
            self.forget(client_id)
        return client_ids

    def forget(self, client_id: int) -> None:
        """The client is gone."""
        waiter = self.waiting.pop(client_id, None)
        if waiter is not None and waiter.timer is not None:
            waiter.timer.cancel()

    def _finish(self, client_id: int) -> None:
        waiter = self.waiting[client_id]
        self.forget(client_id)
        self._answer(client_id, self._roster.acked_at_least(waiter.cut))
