"""Where that which is told goes: lines to the log, records to the event log.

What is told is made by the ends (master_end.py, replica_end.py, snapshots.py), each fact by one function, which has its
line and its record side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.record import Record


@final
class Voice:
    """The two logs of a node as one. Call it with what is to be told, in order."""

    def __init__(self, log: Callable[[Event], None], event_log: Callable[[Record], None]) -> None:
        self._log = log
        self._event_log = event_log

    def __call__(self, *told: Event | Record) -> None:
        """Write each to the log that it is for."""
        for fact in told:
            if isinstance(fact, Event):
                self._log(fact)
            else:
                self._event_log(fact)
