"""Every field of the event log is explained, and nothing else is."""

from __future__ import annotations

from pyrepl.observability.eventlog.fields import HELP
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import RECORDS, Head


def test_the_help_is_complete_and_holds_nothing_that_is_gone() -> None:
    records: tuple[type[Record], ...] = (Head, *RECORDS)
    used = {name for record in records for name in record.FIELDS}
    assert used == set(HELP)


def test_a_help_is_a_sentence() -> None:
    assert [name for name, text in HELP.items() if not text.endswith((".", "?")) or len(text) < 10] == []
