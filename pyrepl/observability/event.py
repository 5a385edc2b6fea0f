"""What every event of the text log is: a record with a level, fields and a sentence.

The records themselves are in events.py, the lines they are written in, in log_form.py; when they are written and where
to is the daemon's log_sink. What machines read of the same story, with the numbers, is eventlog.
"""

from __future__ import annotations

import enum
from typing import ClassVar

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

    @classmethod
    def sentence(cls) -> str:
        """All that the text log says, before the fields are put in."""
        return cls.TEXT

    def text(self) -> str:
        """The sentence of the text log, one line."""
        return one_line(self.sentence().format_map(self.field_values()))


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
