"""What a report is made of."""

from __future__ import annotations

from pyrepl.metrics.report.model import Row, moved, outage, pair, real, whole, whom, word
from tests.unit.metrics.report.sample import DAY_US, empty, minute, report


def test_rows_of_what_was_not_made_are_none() -> None:
    assert empty().rows("syncs") == () and empty().totals == {} and empty().span_us is None
    assert report().totals["syncs"] == len(report().rows("syncs"))


def test_the_span_is_that_of_all_nodes() -> None:
    nodes: list[Row] = [{"first_us": 5, "last_us": 9}, {"first_us": 2, "last_us": 7}, {"first_us": None}]
    assert report(nodes=nodes).span_us == (2, 9)
    assert report().span_us == (DAY_US, minute(1438))


def test_an_outage_that_goes_on_is_told_as_one() -> None:
    assert outage({"longest_outage_s": 90.0, "open_outage_s": None}) == "1 min 30 s"
    assert outage({"longest_outage_s": 90.0, "open_outage_s": 12.0}) == "1 min 30 s, out for 12 s"
    assert moved({"count": 3, "bytes": 5, "bytes_known": 1, "bytes_estimate": 14}) == "5 B (1 of 3), about 14 B in all"


def test_what_the_logs_do_not_tell() -> None:
    row = {"a": None, "b": 1.5, "c": "x", "d": True}
    assert (word(row, "a"), word(row, "a", "?"), word(row, "c"), word(row, "no", "?")) == ("", "?", "x", "?")
    assert (whole(row, "a"), whole(row, "b"), whole(row, "c")) == (0, 1, 0)
    assert (real(row, "a"), real(row, "b"), real(row, "c"), real(row, "d")) == (None, 1.5, None, None)
    assert pair({"node": "m"}) == "m → ?"
    assert (whom({"node": "m"}), whom({"node": "m", "replica": "r"}), whom({})) == ("m", "m → r", "?")
