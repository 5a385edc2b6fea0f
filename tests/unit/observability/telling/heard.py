"""What a teller under test says: the lines and the records, each in order."""

from __future__ import annotations

from typing import Any

from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.telling.voice import Voice


class Heard:
    """Give `voice` to a teller, and look here at what it said."""

    def __init__(self) -> None:
        self.told: list[Record] = []
        self.said: list[Event] = []
        self.voice = Voice(self.said.append, self.told.append)

    def texts(self) -> list[str]:
        """The lines as an operator reads them."""
        return [line.text() for line in self.said]

    def names(self) -> list[str]:
        """The names of the records."""
        return [record.event() for record in self.told]

    def last(self, event: str) -> dict[str, Any]:
        """The fields of the last record of this name."""
        return next(record.field_values() for record in reversed(self.told) if record.event() == event)
