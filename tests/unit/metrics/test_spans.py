"""The series of all nodes: spans of one width, the same however the nodes are shared out; of too many, the largest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pyrepl.metrics.answers import DRAWN
from pyrepl.metrics.asking import few, of_lines
from pyrepl.metrics.places import of_answer, place
from pyrepl.metrics.results import SERIES
from pyrepl.metrics.samples import DRAWN as VALUES
from pyrepl.metrics.spans import MOST_LINES, PEAKS, Line, Spread, spans, spread, those
from tests.unit.metrics.inline import Inline

NO_BOUNDS = (None, None)
SHAPE = {"node": pl.String, "peer": pl.String, "at_us": pl.Int64, "called": pl.String} | dict.fromkeys(
    VALUES, pl.Float64
)
Row = dict[str, Any]


def drawn(*rows: Row) -> pl.DataFrame:
    return pl.DataFrame([dict.fromkeys(SHAPE) | row for row in rows], SHAPE)


def made(tables: Path, shares: list[list[Row]], wide: int = 10) -> Spread:
    """The table of some shares' rows."""
    for number, rows in enumerate(shares):
        path = of_answer(place(tables, NO_BOUNDS), f"share{number}", DRAWN)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn(*rows).write_parquet(path)
    spark: Any = Inline()
    return spread(spark, tables, NO_BOUNDS, wide)


def line(number: int, **values: float) -> list[Row]:
    return [{"node": f"n{number:02}", "peer": "r", "at_us": at_us} | values for at_us in (5, 15, 16)]


def test_the_largest_of_each_span() -> None:
    rows = drawn(
        {"node": "m", "at_us": 10, "output_bytes": 1.0}, {"node": "m", "at_us": 19, "output_bytes": 3.0},
        {"node": "m", "at_us": 20}, {"node": "m", "at_us": 12, "peer": "10.0.0.2:6379", "called": "r", "lag_s": 0.5},
        {"node": "m", "at_us": 13, "peer": "10.0.0.3:6379", "lag_s": 0.1},
    )  # fmt: skip
    found = spans(rows, 10).select("node", "replica", "at_us", "lag_s", "output_bytes").sort("replica", "at_us").rows()
    assert found == [
        ("m", None, 10, None, 3.0), ("m", None, 20, None, None), ("m", "10.0.0.3:6379", 10, 0.1, None),
        ("m", "r", 10, 0.5, None),
    ]  # fmt: skip


@pytest.mark.parametrize("share", [1, 7, 40])
def test_shares_make_one_table(tmp_path: Path, share: int) -> None:
    rows = [row for number in range(40) for row in line(number, lag_bytes=float(number))]
    found = made(tmp_path, [rows[begin : begin + 3 * share] for begin in range(0, len(rows), 3 * share)])
    assert found.rows == 80
    assert {int(node[1:]) for node, _ in found.lines} == {*range(28, 40), *range(MOST_LINES)}
    every = few(tmp_path, NO_BOUNDS, SERIES).to_pylist()
    assert len(every) == 80 and set(every[0]) == set(SERIES.names)
    shown = of_lines(tmp_path, NO_BOUNDS, found.lines).to_pylist()
    assert len(shown) == 2 * len(found.lines) and all(row in every for row in shown)


def test_lines_that_are_largest_in_anything_are_shown(tmp_path: Path) -> None:
    rows = [row for number in range(90) for row in line(number, **{PEAKS[number % len(PEAKS)]: float(number)})]
    found = made(tmp_path, [rows[:90], rows[90:]])
    assert {f"n{number}" for number in range(90 - MOST_LINES * len(PEAKS), 90)} == {node for node, _ in found.lines}


def test_another_width_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    shares = [line(1, lag_s=1.0), line(2, lag_s=2.0)]
    assert [made(tmp_path, shares, wide).rows for wide in (1, 10, 100)] == [6, 4, 2]
    assert few(tmp_path, NO_BOUNDS, SERIES)["at_us"].to_pylist() == [0, 0]


def test_of_no_samples(tmp_path: Path) -> None:
    assert made(tmp_path, []) == Spread(0, ())
    assert made(tmp_path, [[]]) == Spread(0, ())


def test_a_node_is_not_its_replica() -> None:
    names: list[Line] = [("m", None), ("m", "r"), ("n", "r")]
    rows = pl.LazyFrame([{"node": node, "replica": replica} for node, replica in names])
    found = those(rows, [("m", None), ("n", "r")]).collect()
    assert found.to_dicts() == [{"node": "m", "replica": None}, {"node": "n", "replica": "r"}]
