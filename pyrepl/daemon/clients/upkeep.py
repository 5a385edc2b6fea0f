"""The regular work on clients: ten times a second it measures them, once a second it cuts idle ones, and it passes on
changed limits. `Clients` does the work; this service calls it in time."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, final

from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.service import Service

_MEASURE_EVERY_S: Final = 0.1
_IDLE_EVERY_S: Final = 1.0


@final
class Upkeep(Service):
    """The service of the client connections."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._idle_at = 0.0
        """When idle clients are looked for again, in monotonic seconds."""

    def tick(self, now: float) -> None:
        """Measure all clients; about once a second also cut idle ones."""
        self._clients.measure()
        if now >= self._idle_at:
            self._idle_at = now + _IDLE_EVERY_S
            self._clients.close_idle()

    def next_deadline(self, now: float) -> float:
        return now + _MEASURE_EVERY_S

    def settings_changed(self, names: Collection[str]) -> None:
        self._clients.settings_changed()
