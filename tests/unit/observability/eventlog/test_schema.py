"""The event log as a table."""

from __future__ import annotations

import pytest

from pyrepl.observability.eventlog.records import RECORDS, Head
from pyrepl.observability.eventlog.schema import BY_EVENT, COLUMNS, unit_of


def test_one_column_a_field_the_heads_first() -> None:
    names = [column.name for column in COLUMNS]
    assert len(set(names)) == len(names)
    assert names[: len(Head.FIELDS) + 1] == [*Head.FIELDS, "event"]
    assert set(names) == {"event", *Head.FIELDS, *(name for record in RECORDS for name in record.FIELDS)}


def test_a_column_knows_its_records() -> None:
    by_name = {column.name: column for column in COLUMNS}
    assert by_name["at_us"].required and not by_name["missing_bytes"].required
    assert by_name["missing_bytes"].events == ("psync_decided",)
    assert by_name["missing_bytes"].type == "long"
    for column in COLUMNS:
        for event in column.events:
            assert BY_EVENT[event].FIELDS[column.name] == column.type


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("lag_bytes", "bytes"),
        ("snapshot_offset", "bytes"),
        ("stream_bytes_per_s", "bytes/s"),
        ("writes_per_s", "1/s"),
        ("fork_us", "us"),
        ("load_ms", "ms"),
        ("lag_s", "s"),
        ("keys", ""),
    ],
)
def test_the_unit_is_in_the_name(name: str, unit: str) -> None:
    assert unit_of(name, "long") == unit


def test_a_yes_or_no_has_no_unit_whatever_its_name() -> None:
    assert unit_of("by_us", "boolean") == ""
