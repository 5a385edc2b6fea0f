"""What a sync cost: phases, bytes and causes of real ones."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pyrepl.metrics.syncs import syncs
from tests.unit.metrics import tried
from tests.unit.metrics.conftest import Analysed

PHASES = ("handshake_ms", "wait_bgsave_ms", "transfer_ms", "load_ms", "catch_up_ms")


def full(corpus: Analysed, scenario: str) -> list[dict[str, Any]]:
    rows = [row for row in corpus.rows("syncs", scenario) if row["mode"] != "continue"]
    return sorted(rows, key=lambda row: int(row["at_us"]))


@pytest.mark.parametrize("scenario", ["redis7-disk", "redis8-rdb-channel", "valkey8-dual-channel", "pyrepl-pair"])
def test_a_full_sync_has_its_phases(corpora: dict[str, Analysed], scenario: str) -> None:
    for row in full(corpora["text"], scenario):
        assert all(row[phase] is not None and 0 <= row[phase] <= row["total_ms"] + 1 for phase in PHASES), row
        assert row["total_ms"] < 1000
        assert row["keys"] in (3000, 3420)


def test_bytes_and_distance(corpora: dict[str, Analysed]) -> None:
    """The replica said `receiving 62068 bytes`, and was 52,690 bytes behind the second time."""
    first, second = full(corpora["text"], "redis7-disk")
    assert first["behind_bytes"] is None
    assert 50_000 < first["bytes"] < second["bytes"] < 100_000
    assert (second["asked_offset"], second["offset"], second["behind_bytes"]) == (2633, 55323, 52690)


def sync(number: int, **told: Any) -> dict[str, Any]:
    """A full resync of master m as attempts.py has it."""
    shape = {"sync": str(number), "node": "m", "replica": "r", "ends": "master", "at_us": number * 1000,
             "verdict": "full", "ok": True, "online_us": number * 1000 + 500, "m.node": "m", "m.form": "text",
             "m.run": "1", "m.snapshot": number, "m.bgsave_us": number * 1000}  # fmt: skip
    return shape | told


def estimated(*told: dict[str, Any]) -> pl.DataFrame:
    """The table SYNCS; snapshot 2 was written by a child, of 70 bytes."""
    child = {"node": "m", "form": "text", "run": None, "snapshot": 2, "written_bytes": 70}
    return syncs(tried.frame(told), tried.children([child]))


def test_bytes_that_no_log_tells_are_estimated() -> None:
    rows = estimated(
        sync(1, **{"r.bytes": 40}),
        sync(2),
        sync(3, **{"m.snapshot": 1}),
        sync(4),
        sync(5, ok=False, online_us=None, lost_us=9000),
        sync(6, ok=False, online_us=None, lost_us=9000, **{"m.bgsave_us": None}),
        sync(7, verdict="continue", **{"m.missing_bytes": 5}),
        sync(8, **{"r.bytes": 60}),
    )
    assert rows.sort("at_us").select("bytes", "bytes_estimate").rows() == [
        (40, 40), (None, 70), (None, 40), (None, 50), (None, 50), (None, 0), (5, None), (60, 60)
    ]  # fmt: skip


def test_nothing_is_estimated_from_nothing() -> None:
    rows = estimated(sync(1), sync(4))
    assert rows["bytes_estimate"].to_list() == [None, None]


def test_a_continue_costs_what_was_missing(corpora: dict[str, Analysed]) -> None:
    (row,) = [row for row in corpora["text"].rows("syncs", "redis7-disk") if row["mode"] == "continue"]
    assert (row["ok"], row["bytes"], row["behind_bytes"], row["load_ms"]) == (True, 0, 0, None)


def test_a_failure_says_why(corpora: dict[str, Analysed]) -> None:
    rows = full(corpora["text"], "redis8-to-redis7-loop")
    assert [row["failure"] for row in rows] == ["rdb_version"] * 4 + ["role_change"]
    assert rows[0]["failure_detail"] == "Can't handle RDB format version 12"
    (loop,) = corpora["text"].rows("loops", "redis8-to-redis7-loop")
    assert (loop["count"], loop["over"]) == (4, False)
    assert 0.5 < loop["every_s"] < 3


def test_a_cut_lasts_until_the_next_good_sync(corpora: dict[str, Analysed]) -> None:
    (row,) = corpora["text"].rows("cuts", "redis7-output-buffer")
    assert (row["cause"], row["phase"], row["ends"]) == ("output_buffer", "stream", "both")
    assert row["output_buffer_bytes"] > 0
    assert 0 < row["down_s"] < 30


def test_a_cut_tells_when_the_replica_came_back_and_what_it_lacked(corpora: dict[str, Analysed]) -> None:
    """What waited at the cut is just above the limit of 3 MB; what was written until it came back is 25 MB, less what
    the sockets between the two held."""
    (row,) = [row for row in corpora["text"].rows("cuts", "redis7-output-buffer") if row["cause"] == "output_buffer"]
    assert row["output_buffer_bytes"] < 4_000_000 < 20_926_560 == row["lacked_bytes"]
    assert 0 < row["back_s"] <= row["down_s"]
    first, second = corpora["text"].rows("cuts", "redis7-disk")
    assert (first["lacked_bytes"], second["lacked_bytes"]) == (0, 52_690)
    (gone,) = [row for row in corpora["text"].rows("cuts", "redis7-foreign") if row["cause"] == "shutdown"]
    assert (gone["back_s"], gone["lacked_bytes"]) == (None, None)


def test_the_event_log_knows_by_how_much_the_backlog_was_missed(corpora: dict[str, Analysed]) -> None:
    _, second = full(corpora["events"], "pyrepl-pair")
    assert second["gap_bytes"] == second["behind_bytes"] - 16384
