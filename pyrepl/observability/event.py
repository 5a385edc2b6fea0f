"""What every event of the text log is: a record with a level, fields and a sentence; and the line it is written in.

The records themselves are in events.py; when they are written and where to is the daemon's log_sink. What machines
read of the same story, with the numbers, is eventlog.
"""

from __future__ import annotations

import enum
import inspect
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar, Final, dataclass_transform


class Level(enum.IntEnum):
    """How much an event matters: a line is written when its level is at least that of the directive `loglevel`."""

    DEBUG = 0
    VERBOSE = 1
    NOTICE = 2
    WARNING = 3
    NOTHING = 4
    """As `loglevel nothing`: above every event."""

    @property
    def mark(self) -> str:
        """The character that Redis prints between the time and the text."""
        return ".-*#"[self]

    @classmethod
    def named(cls, word: str) -> Level:
        """The level that the directive `loglevel` names. Raises KeyError for any other word."""
        return cls[word.upper()]


@dataclass_transform(frozen_default=True)
class Event:
    """Base of the records in events.py: frozen records whose fields, declared as of a dataclass, are str, int, float or
    bool, without defaults.

    TEXT is the sentence for people, with `{field}` in place of each field it shows. No field holds a secret.
    Not dataclasses, which are compiled one by one: a hundred of them took a sixth of the time to start.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    LEVEL: ClassVar[Level] = Level.NOTICE
    TEXT: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        notes = inspect.get_annotations(cls)
        cls.FIELDS = tuple(name for name, note in notes.items() if not note.startswith("ClassVar"))

    def __init__(self, *values: Any, **named: Any) -> None:
        given = dict(zip(self.FIELDS, values)) | named
        if len(values) > len(self.FIELDS) or given.keys() != set(self.FIELDS):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.FIELDS) or 'nothing'}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a record, it does not change")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    @property
    def name(self) -> str:
        """The record's name: `ReplicaLost` is `replica_lost`."""
        return snake_case(type(self).__name__)

    def field_values(self) -> dict[str, str | int | float | bool]:
        """The fields in their order of declaration."""
        return {name: getattr(self, name) for name in self.FIELDS}

    def text(self) -> str:
        """The sentence of the text log, one line."""
        return one_line(self.TEXT.format_map(self.field_values()))


def snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def one_line(text: str) -> str:
    """`text` with what would break the line or a terminal escaped: peers choose parts of it."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "backslashreplace").decode()
        for letter in text
    )


_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def log_line(event: Event, *, pid: int, role: str, at_ms: int, utc_offset_s: int) -> str:
    """`pid:role dd Mon yyyy hh:mm:ss.mmm * text` without a line end, as Redis 7 writes it.

    `role` is M (master), S (replica) or C (a child); `at_ms` is Unix ms, shown in the zone `utc_offset_s` seconds east
    of UTC. English months whatever the locale, since our own log reader parses them.
    """
    seconds, ms = divmod(at_ms, 1000)
    at = datetime.fromtimestamp(seconds, timezone(timedelta(seconds=utc_offset_s)))
    day = f"{at.day:02d} {_MONTHS[at.month - 1]} {at.year}"
    return f"{pid}:{role} {day} {at:%H:%M:%S}.{ms:03d} {event.LEVEL.mark} {event.text()}"
