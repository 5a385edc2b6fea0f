"""What samples come to in parts is, merged, what they come to as a whole."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.samples import added, drawn, edges, values, widened, width
from pyrepl.metrics.schemas import schema
from pyrepl.metrics.tables import SAMPLES

BEGIN_US = 1_795_000_000_000_000
LINES = st.lists(
    st.fixed_dictionaries(
        {
            "at_us": st.integers(BEGIN_US, BEGIN_US + 10**9),
            "node": st.sampled_from(["a", "b"]),
            "event": st.sampled_from(["sample", "replica_sample"]),
            "peer": st.sampled_from(["x:1", "y:2", None]),
            "phase": st.sampled_from(["online", "load", None]),
            "lag_bytes": st.none() | st.integers(0, 9),
            "lag_s": st.none() | st.floats(0, 5),
            "output_bytes": st.none() | st.integers(0, 9),
            "writes_per_s": st.none() | st.floats(0, 9),
            "replid": st.sampled_from(["r", "s"]),
            "offset": st.integers(0, 1000),
        }
    ),
    min_size=1,
    max_size=60,
)


def frame(lines: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(lines, schema=schema(SAMPLES))


def shown(rows: pl.DataFrame) -> list[str]:
    return sorted(map(repr, rows.iter_rows()))


@settings(deadline=None, max_examples=40)
@given(LINES, st.integers(0, 60))
def test_counts_of_parts_add_up(lines: list[dict[str, Any]], cut: int) -> None:
    parts = [values(frame(part)) for part in (lines[:cut], lines[cut:])]
    sums = [added(pl.concat(parts)), added(values(frame(lines)))]
    counts = [shown(rows.filter(pl.col("what").is_in(["lag_bytes", "lag_s", "writes"]))) for rows in sums]
    assert counts[0] == counts[1]


@settings(deadline=None, max_examples=40)
@given(LINES, st.integers(0, 60), st.integers(2, 240))
def test_spans_of_parts_lie_within_those_of_the_whole(lines: list[dict[str, Any]], cut: int, spans: int) -> None:
    whole = frame(lines)
    wide = width(whole["at_us"].min(), whole["at_us"].max(), spans)  # type: ignore[arg-type]
    parts = [drawn(frame(part), spans) for part in (lines[:cut], lines[cut:])]
    found = drawn(whole, spans)
    assert shown(widened(pl.concat(parts), wide)) == shown(widened(found, wide))
    assert found.group_by("node").agg(pl.col("at_us").n_unique())["at_us"].max() <= spans  # type: ignore[operator]


@pytest.mark.parametrize(
    ("first", "last", "spans", "wide"), [(0, 0, 1, 1), (0, 1, 1, 2), (7, 8, 1, 16), (0, 239, 240, 1), (0, 240, 240, 2)]
)
def test_the_least_width(first: int, last: int, spans: int, wide: int) -> None:
    assert width(first, last, spans) == wide


def test_a_stream_has_bounds_and_spans() -> None:
    points = [(5, 100), (1, 0), (3, 40), (9, 90), (9, 95)]
    lines = [{"at_us": at, "offset": cut, "node": "a", "event": "sample", "replid": "r"} for at, cut in points]
    assert edges(frame(lines)) == {"a": [["r", 1, 0, 9, 95, 4, 100]]}, "bytes do not go back, nor in no time"
    rates = values(frame(lines)).filter(pl.col("what") == "rate").sort("value")
    assert rates.select("value", "times").rows() == [(20e6, 1), (30e6, 1)]


def test_a_replica_lags_while_its_stream_flows() -> None:
    """What it has not acknowledged before that is its snapshot, and no lag."""
    phases = [("wait_bgsave", 69_100_000), ("load", 80_000_000), ("online", 14), ("online", 0)]
    lines = [
        {"at_us": at, "node": "a", "event": "replica_sample", "peer": "x:1", "phase": phase, "lag_bytes": lag,
         "lag_s": 0.5, "output_bytes": lag}
        for at, (phase, lag) in enumerate(phases)
    ]  # fmt: skip
    found = values(frame(lines))
    of = {what: found.filter(pl.col("what") == what).sort("value") for what in ("lag_bytes", "lag_s", "output_max")}
    assert of["lag_bytes"]["value"].to_list() == [0, 14] and of["lag_s"]["times"].to_list() == [2]
    assert of["output_max"]["value"].to_list() == [80_000_000], "what waits for it takes memory all the same"
    shown_lags = drawn(frame(lines), 4).sort("at_us").select("lag_bytes", "output_bytes").rows()
    assert shown_lags == [(None, 69_100_000), (None, 80_000_000), (14, 14), (0, 0)]


def test_of_nothing_there_is_nothing() -> None:
    assert values(frame([])).is_empty() and drawn(frame([])).is_empty() and edges(frame([])) == {}
