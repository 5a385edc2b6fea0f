"""The event log as a table: one column for each field of any record. Readers derive their own schema from it.

    from pyrepl.observability.eventlog.schema import COLUMNS
    StructType([StructField(column.name, SPARK[column.type]) for column in COLUMNS])

A field has one type and one meaning in all records that have it. `event` says which record a line is.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.frozen import Frozen
from pyrepl.observability.eventlog.fields import HELP
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import RECORDS, Head

VERSION: Final = 1
"""Column `v`. Raised when a field changes its meaning or its type, or goes; not when one is added."""

EVENT: Final = "event"

_UNITS: Final = (
    ("_bytes_per_s", "bytes/s"),
    ("_per_s", "1/s"),
    ("_bytes", "bytes"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("offset", "bytes"),
)
"""The end of a field's name -> its unit, the first that fits."""


@final
class Column(Frozen):
    """One column: `type` is string, long (64 bits, signed), double or boolean; `unit` empty for counts and words.

    `events` are the records that have it, empty for the head, which every line has.
    """

    name: str
    type: str
    unit: str
    help: str
    events: tuple[str, ...]

    @property
    def required(self) -> bool:
        """Is it on every line?"""
        return not self.events


def unit_of(name: str, kind: str) -> str:
    """The unit in the name of a field of this type; empty for counts and words, and for `by_us`, a yes or no."""
    return "" if kind == "boolean" else next((unit for end, unit in _UNITS if name.endswith(end)), "")


def _columns() -> tuple[Column, ...]:
    head = [Column(name, kind, unit_of(name, kind), HELP[name], ()) for name, kind in Head.FIELDS.items()]
    head.append(Column(EVENT, "string", "", "Which record this is.", ()))
    types: dict[str, str] = {}
    events: dict[str, list[str]] = {}
    for record in RECORDS:
        for name, kind in record.FIELDS.items():
            assert types.setdefault(name, kind) == kind, f"{record.__name__}.{name} has another type elsewhere"
            events.setdefault(name, []).append(record.event())
    rest = [Column(name, kind, unit_of(name, kind), HELP[name], tuple(events[name])) for name, kind in types.items()]
    return (*head, *rest)


COLUMNS: Final[tuple[Column, ...]] = _columns()
"""The head's first, `event`, then the others in the order in which records.py first has them."""

BY_EVENT: Final[dict[str, type[Record]]] = {record.event(): record for record in RECORDS}
"""Every record under its name."""
