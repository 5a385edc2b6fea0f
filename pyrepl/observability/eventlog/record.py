"""What a record of the event log is: a frozen record with typed fields, some of which need not be known.

There are three kinds, and the base class says which one a record is:

    Record  something happened; the method of observability/telling that makes it says its line of the log beside it
    State   how things stand at a moment; nothing happened, so there is no line (eventlog/state.py makes these)
    Note    what the event log writes by itself about its own lines (daemon/eventlog makes these)

The records themselves are in records.py, what their fields mean in fields.py, the columns that readers see in
schema.py. Writing lines to a file is the daemon's.
"""

from __future__ import annotations

import inspect
import json
from typing import Any, ClassVar, Final, dataclass_transform

from pyrepl.observability.event import snake_case

Value = str | int | float | bool
TYPES: Final[dict[str, str]] = {"str": "string", "int": "long", "float": "double", "bool": "boolean"}
"""A field's annotation -> its type in a table, as Spark and Arrow name it; int is 64 bits wide, signed."""

MAX_TEXT: Final = 500
"""Characters of a text field that are written; peers choose parts of it, and a line must stay a line."""


@dataclass_transform(frozen_default=True)
class Record:
    """Base of the records in records.py: fields declared as of a dataclass, of type str, int, float or bool, optional
    ones as `| None = None`. A field that is None is left out of the line.

    Not dataclasses, for the reason that pyrepl.frozen gives.
    """

    FIELDS: ClassVar[dict[str, str]] = {}
    """Name -> one of TYPES' values, in order of declaration."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        notes = {name: note for name, note in inspect.get_annotations(cls).items() if not note.startswith("ClassVar")}
        cls.FIELDS = {name: TYPES[note.partition(" | ")[0]] for name, note in notes.items()}
        cls.OPTIONAL = frozenset(name for name, note in notes.items() if note.endswith("| None"))

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.FIELDS, values)) | named
        known = self.FIELDS.keys()
        if len(values) > len(known) or not known - self.OPTIONAL <= given.keys() <= known:
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.FIELDS) or 'nothing'}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a record, it does not change")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.field_values() == self.field_values()

    def __hash__(self) -> int:
        return hash((type(self), *self.field_values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.field_values().items())})"

    @classmethod
    def event(cls) -> str:
        """The record's name in the column `event`: `PsyncAsked` is `psync_asked`."""
        return snake_case(cls.__name__)

    def field_values(self) -> dict[str, Value]:
        """What is known, in order of declaration."""
        known = ((name, getattr(self, name)) for name in self.FIELDS)
        return {name: value for name, value in known if value is not None}


class State(Record):
    """Base of the records that tell how things stand at a moment: samples, and the settings in force."""


class Note(Record):
    """Base of the records that the event log itself puts between the others, for who reads its lines: what is missing,
    and what another value in the heads means."""


def encode_line(head: dict[str, Value], record: Record) -> bytes:
    """One line of the event log, its end included: the head's fields, `event`, the record's fields. ASCII."""
    fields = head | {"event": record.event()} | record.field_values()
    shown = {name: _shown(value) if isinstance(value, str) else value for name, value in fields.items()}
    return json.dumps(shown, separators=(",", ":")).encode("ascii") + b"\n"


def _shown(text: str) -> str:
    """Not too long, and without the halves of characters that decoding a peer's bytes leaves: they are no Unicode."""
    return text[:MAX_TEXT].encode("utf-8", "backslashreplace").decode()
