"""Logs that are followed as they grow give the tables that a batch gives over the whole, whenever it was killed."""

from __future__ import annotations

from pyrepl.metrics.follow import watermark
from tests.unit.metrics.conftest import Analysed
from tests.unit.metrics.test_jobs import plain


def test_the_watermark_follows_the_newest_line() -> None:
    nodes: list[dict[str, int | None]] = [{"last_us": 5_000_000}, {"last_us": 90_000_000}, {"last_us": None}]
    assert watermark(nodes, 60_000_000) == 30_000_000
    assert watermark([{"last_us": None}], 1) is None and watermark([], 1) is None


def test_batch_equals_streaming(corpora: dict[str, Analysed]) -> None:
    """Every result table, and lines and bytes of each file: none is lost and none counts twice."""
    batch, followed = (corpora[name].tables for name in ("batch", "followed"))
    assert batch["syncs"] and batch["cuts"] and batch["samples"] and len(batch["unparsed"]) == 2
    for table in batch:
        assert plain(followed[table]) == plain(batch[table]), table


def test_a_start_goes_on_where_the_one_before_was_killed(corpora: dict[str, Analysed]) -> None:
    starts = {row["start"]: (row["files"], row["died"], row["commits"]) for row in corpora["followed"].tables["starts"]}
    assert starts == {
        "no lines": ([0], "", [0]),
        "killed behind the manifest": ([2], "Killed", [0]),
        "again": ([0], "", [0, 1]),
        "killed before the manifest": ([2], "", [0, 1, 2]),
        "rotated": ([3], "", [0, 1, 2, 3]),
        "checkpoint lost": ([0], "", [0]),
    }


def test_many_batches_leave_few_ranges(corpora: dict[str, Analysed]) -> None:
    ranges = corpora["followed"].tables["ranges"]
    assert len(ranges) == 4 and {row["told"] for row in ranges} == {1}
