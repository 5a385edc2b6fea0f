"""The reference page of the event log, made of the records themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Final

from pyrepl.observability.eventlog import records
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.schema import COLUMNS, VERSION

_INTRODUCTION: Final = """\
# The event log

<!-- Made by: python -m pyrepl.observability.eventlog > docs/event-log.md -->

With `event-log FILE` a node writes what happens to it for programs: one JSON object a line, ASCII, appended to FILE.
Each line has `event` and the fields that say "Every line" [below](#fields); its other fields depend on the event. A
field whose value is not known is left out. Every field has one type and one meaning in all events. Readers skip fields
and events that they do not know. Offsets count bytes: the offset 7 is behind the first 7 bytes of the stream.

Schema version {version} (`v` on each line). When FILE has `event-log-max-bytes`, it is renamed, with the time in its
name (UTC), and never written again; the newest `event-log-keep` of these files are kept. No line holds a password, a
key or a value.
"""


def reference() -> str:
    """The whole page, as Markdown."""
    return "\n".join(
        [
            _INTRODUCTION.format(version=VERSION),
            "## One sync\n",
            _story(records.__doc__ or ""),
            "## Events\n",
            *(_event(record) for record in records.RECORDS),
            "## Fields\n",
            *_fields(),
            "",
        ]
    )


def _story(text: str) -> str:
    """The part of the records' docstring that shows how the events of a sync follow each other."""
    before, shown, behind = text[text.index("One sync") :].strip().split("\n\n")
    return f"{before}\n\n```text\n{inspect.cleandoc(shown)}\n```\n\n{behind}\n"


def _event(record: type[Record]) -> str:
    fields = ", ".join(f"`{name}`" + ("?" if name in record.OPTIONAL else "") for name in record.FIELDS)
    return f"### {record.event()}\n\n{(record.__doc__ or '').strip()}\n\n{fields}\n"


def _fields() -> Iterator[str]:
    """One row a field; the head's say so."""
    yield "A question mark above: only where it is known.\n"
    yield "| Field | Type | Unit | Meaning |"
    yield "|---|---|---|---|"
    for column in COLUMNS:
        where = "Every line. " if column.required else ""
        yield f"| `{column.name}` | {column.type} | {column.unit} | {where}{column.help} |"
