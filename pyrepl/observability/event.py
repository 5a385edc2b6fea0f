"""What every event of the text log is: a record with a level, fields and a sentence; and the line it is written in.

The records themselves are in events.py; when they are written and where to is the daemon's log_sink. What machines
read of the same story, with the numbers, is eventlog.
"""

from __future__ import annotations

import enum
from datetime import datetime, timedelta, timezone
from typing import ClassVar, Final

from pyrepl.frozen import Frozen


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


class Event(Frozen):
    """Base of the records in events.py, whose fields are str, int, float or bool, without defaults.

    TEXT is the sentence for people, with `{field}` in place of each field it shows. No field holds a secret.
    """

    LEVEL: ClassVar[Level] = Level.NOTICE
    TEXT: ClassVar[str] = ""

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
