"""The reference page: complete, and the one in docs/ fresh."""

from __future__ import annotations

from pathlib import Path

from pyrepl.observability.eventlog.records import RECORDS
from pyrepl.observability.eventlog.reference import reference
from pyrepl.observability.eventlog.schema import COLUMNS

PAGE = Path(__file__).resolve().parents[4] / "docs" / "event-log.md"


def test_names_every_record_and_field() -> None:
    page = reference()
    assert [record.event() for record in RECORDS if f"\n### {record.event()}\n" not in page] == []
    assert [column.name for column in COLUMNS if f"| `{column.name}` | {column.type} |" not in page] == []


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == reference(), "run: python -m pyrepl.observability.eventlog > docs/event-log.md"
