"""Puts a sample of the node's state into the event log every `event-log-sample-period` seconds."""

from __future__ import annotations

from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.service import Service
from pyrepl.node.node import Node
from pyrepl.observability.eventlog.state import Sampler
from pyrepl.observability.telling.master_end import MasterEnd

_LOOK_EVERY_S: Final = 0.1


@final
class EventSampler(Service):
    """Takes samples in time. Does nothing while there is no event log."""

    def __init__(self, node: Node, story: MasterEnd, event_log: EventLog, clock: Clock) -> None:
        """`story` knows which sync each replica is in."""
        self._settings = node.settings
        self._event_log = event_log
        self._last_at = clock.now()
        self._sampler = Sampler(node, story.sync_of, self._last_at)

    def tick(self, now: float) -> None:
        """Take a sample if it is due."""
        if not self._event_log.is_open:
            return
        period_s = self._settings.event_log_sample_period
        if not period_s or now < self._last_at + period_s:
            return
        self._last_at = now
        for record in self._sampler.take(now):
            self._event_log(record)

    def next_deadline(self, now: float) -> float:
        return now + _LOOK_EVERY_S
