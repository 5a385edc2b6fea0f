"""Puts a sample of the node into the event log when one is due: `event-log-sample-period`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from pyrepl.observability.eventlog.state import Sampler

if TYPE_CHECKING:
    from pyrepl.daemon.app import App


@final
class EventSampler:
    """The sampler of a node and its clock. Costs nothing while there is no event log."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._last_at = app.clock.now()
        self._sampler = Sampler(app.node, app.replicas.story.sync_of, self._last_at)

    def tick(self) -> None:
        """Take a sample if it is time; call it now and then."""
        app = self._app
        if not app.event_log.is_open:
            return
        app.event_log.tick()
        period_s = app.node.settings.event_log_sample_period
        now = app.clock.now()
        if not period_s or now < self._last_at + period_s:
            return
        self._last_at = now
        for record in self._sampler.take(now):
            app.event_log(record)
