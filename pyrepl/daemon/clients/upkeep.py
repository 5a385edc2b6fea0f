"""The clients as time passes: their sizes and output limits are looked at, the idle are cut, limits are brought up.

What is done to each of them is `clients`'.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, final

from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.service import Service

_MEASURE_EVERY_S: Final = 0.1
_IDLE_EVERY_S: Final = 1.0


@final
class Upkeep(Service):
    """Looks after all clients of a node."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._idle_at = 0.0
        """When the idle are looked for again, in monotonic seconds."""

    def tick(self, now: float) -> None:
        """Measure all of them; about once a second also look for the idle."""
        self._clients.measure()
        if now >= self._idle_at:
            self._idle_at = now + _IDLE_EVERY_S
            self._clients.close_idle()

    def next_deadline(self, now: float) -> float:
        return now + _MEASURE_EVERY_S

    def settings_changed(self, names: Collection[str]) -> None:
        self._clients.settings_changed()
