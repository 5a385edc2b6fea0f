"""Lines over time: small multiples of the largest."""

from __future__ import annotations

import pytest
import vl_convert

from pyrepl.metrics.report import lines
from pyrepl.metrics.report.model import Row
from tests.unit.metrics.report.sample import report


def test_the_largest_peak_comes_first_and_all_share_the_time() -> None:
    found = lines.over_time(report(), "output_bytes", "bytes")
    assert found[0][0] == "cache-1:6379 → cache-3:6379" and len(found) == 3
    assert len({tuple(spec["encoding"]["x"]["scale"]["domain"]) for _, spec in found}) == 1
    assert vl_convert.vegalite_to_svg(found[0][1] | {"width": 300}).count("<path") > 2


def test_the_largest_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_LINES", 1)
    assert [name for name, _ in lines.over_time(report(), "output_bytes", "bytes")] == ["cache-1:6379 → cache-3:6379"]


def test_parts_of_a_second_have_no_prefix_that_reads_as_minutes() -> None:
    def labels(column: str, value: float) -> str:
        rows: list[Row] = [{"node": "n", "replica": "r", "at_us": 1, column: value}]
        ((_, spec),) = lines.over_time(report(series=rows), column, "")
        return str(spec["encoding"]["y"]["axis"]["format"])

    assert labels("lag_s", 0.4) == "~g" and labels("lag_s", 40_000.0) == "~s"
    assert labels("lag_bytes", 400.0) == "~s"


def test_of_nothing() -> None:
    assert lines.over_time(report(), "sync_buffer_bytes", "bytes") == [], "nobody told any"
    zero: list[Row] = [{"node": "n", "replica": None, "at_us": 1, "lag_s": 0.0}]
    assert lines.over_time(report(series=zero), "lag_s", "s") == []


def test_a_node_that_speaks_of_itself() -> None:
    rows: list[Row] = [{"node": "n", "replica": None, "at_us": 1, "sync_buffer_bytes": 5.0}]
    ((name, spec),) = lines.over_time(report(series=rows), "sync_buffer_bytes", "bytes")
    assert name == "n" and spec["data"]["values"][0]["shown"] == "5 B"
