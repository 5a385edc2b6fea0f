"""The SQL of the charts runs as it stands over what is written, and asks for what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pyrepl.metrics.parquet import write
from pyrepl.metrics.report import lines
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.report.page import drawings
from pyrepl.metrics.report.queries import QUERIES, VIEW
from pyrepl.metrics.results import COSTS
from tests.peers import finder
from tests.unit.metrics.report.sample import report

Asks = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
def asks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asks]:
    folder = tmp_path_factory.mktemp("page")
    write(report(), None, folder / "results")
    if request.param == "duckdb":
        with duckdb.connect() as database:
            for table in TABLES:
                database.sql(VIEW.format(table=table.name).replace("results/", f"{folder}/results/"))
            yield lambda query: database.sql(query).fetchall()
        return
    finder.java()
    from pyrepl.metrics.session import session

    with session("local[1]", memory="1g", quick=True) as spark:
        for table in TABLES:
            spark.read.parquet(str(Path(folder) / "results" / table.name)).createOrReplaceTempView(table.name)
        yield lambda query: [tuple(row) for row in spark.sql(query).collect()]


def test_each_chart_has_its_own() -> None:
    small = {"lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes"}
    assert set(QUERIES) == set(drawings(report())) | small


def test_what_is_asked_is_what_is_drawn(asks: Asks) -> None:
    found = {name: asks(query) for name, query in QUERIES.items()}
    drawn = drawings(report())
    assert len(found["timeline"]) == 43
    phases = {(row[0], row[2]) for row in found["phases"]}
    assert len(phases) == len({value["sync"] for value in drawn["phases"]["data"]["values"]}) == 11
    for column in ("lag_bytes", "lag_s", "output_bytes", "sync_buffer_bytes"):
        values = [value for _, spec in lines.over_time(report(), column, "") for value in spec["data"]["values"]]
        assert [row[3] for row in found[column]] == [value["value"] for value in values], column
    for name in ("backlog", "limit", "delay"):
        points = drawn[name]["layer"][1]["data"]["values"]
        assert [(row[0], row[1], row[4]) for row in found[name]] == [
            (point["node"], point["size"], point["share"]) for point in points
        ]
    for name in ("fleet_backlog", "fleet_limit", "fleet_delay"):
        # A line of one value begins at half of it, where nothing is spared.
        points = drawn[name]["data"]["values"][-len(found[name]) :]
        assert [(row[0], row[3]) for row in found[name]] == [(point["value"], point["share"]) for point in points]
    for name in ("full_causes", "cut_causes"):
        assert [row[1] for row in found[name]] == [value["count"] for value in drawn[name]["data"]["values"]]
    assert COSTS in TABLES
