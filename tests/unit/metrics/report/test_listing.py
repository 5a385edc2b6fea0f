"""The tables of the page."""

from __future__ import annotations

import pytest

from pyrepl.metrics.report import listing
from pyrepl.metrics.report.listing import Listing
from pyrepl.metrics.report.model import Row
from tests.unit.metrics.report.sample import empty, minute, report


def by_title(title: str) -> Listing:
    return next(made for made in listing.lists(report()) if made.title == title)


def test_every_table_has_as_many_cells_as_heads() -> None:
    made = [*listing.lists(report()), listing.modes(report()), listing.availability(report()), listing.rates(report())]
    assert len(made) == 10
    for one in made:
        assert one.rows, one.title
        assert {len(row) for row in one.rows} == {len(one.heads)}, one.title


def test_nothing_to_list() -> None:
    assert [made.title for made in listing.lists(empty()) if made.rows] == []
    assert not listing.modes(empty()).rows and not listing.rates(empty()).rows


def test_the_worst_replica_first() -> None:
    assert [row[1] for row in listing.availability(report()).rows] == ["96 %", "99 %", "99.9 %"]


def test_full_syncs_say_how_they_ended() -> None:
    rows = by_title("Full resyncs").rows
    assert len(rows) == 21 - 8, "a loop of nine is one row"
    assert rows[0][:5] == [
        "11-21 00:02:00",
        "cache-1:6379 → cache-2:6379",
        "full, diskless",
        "first sync of the replica",
        "well",
    ]
    assert [row[4] for row in rows if "failed" in row[4]] == [
        "failed 9 times: RDB version not understood",
        "failed: output buffer limit",
    ]
    open_end: list[Row] = [{"mode": "full_disk", "ok": None, "at_us": minute(1)}]
    made = next(one for one in listing.lists(report(syncs=open_end)) if one.title == "Full resyncs")
    assert made.rows[0][4] == "not told"


def test_files_in_trouble_come_first() -> None:
    assert [(row[0], row[3]) for row in by_title("Files read").rows] == [
        ("logs/secret.log", "Permission denied"),
        ("logs/cache-1.jsonl", "4 lines not understood"),
    ]


def test_long_tables_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_ROWS", 2)
    made = by_title("Full resyncs")
    assert len(made.rows) == 2 and made.more == "These are 2; 11 more are in the Parquet tables and in the JSON."
