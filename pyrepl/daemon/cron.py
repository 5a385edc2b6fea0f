"""The timer of a node: `hz` times a second it calls `tick` of each service whose deadline has come.

The timer wakes the node exactly so often, whatever the services' deadlines are: a deadline means the first tick of the
timer behind it.
"""

from __future__ import annotations

import asyncio
from typing import final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.service import Service, Services
from pyrepl.node.node import Node


@final
class Cron:
    """Drives the services of a node."""

    def __init__(self, node: Node, services: Services, faults: Faults, clock: Clock) -> None:
        self._node = node
        self._services = services
        self._faults = faults
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due: dict[Service, float] = {}
        """When `tick` of each service is due, in monotonic seconds."""

    def start(self) -> None:
        """Tick from now on; the first time after one period."""
        self._due = dict.fromkeys(self._services, 0.0)
        self._timer = self._loop.call_later(self._period_s(), self._tick)

    def stop(self) -> None:
        """Tick no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _period_s(self) -> float:
        return 1.0 / min(500, max(1, self._node.settings.hz))

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._period_s(), self._tick)
        now = self._clock.now()
        self._node.process.now = now
        for service, due_at in self._due.items():
            if now >= due_at:
                self._due[service] = self._ticked(service, now)

    def _ticked(self, service: Service, now: float) -> float:
        """Tick one service, and return its next deadline. A defect in one service must not stop the others: it is
        logged, and the node goes on."""
        try:
            service.tick(now)
        except Exception as error:
            self._faults.survived(f"background work {service.tick.__qualname__}", error)
        return service.next_deadline(now)
