"""Spark's tasks answer for shares of the nodes: what each is asked travels whole, and its answers do not travel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.asking import COUNTED, SHARES, answer_batches, answered, counts_of, few, newest, plain, rows
from pyrepl.metrics.keep import key
from pyrepl.metrics.parts import Again, Bounds, Sources
from pyrepl.metrics.places import of_answer, place
from pyrepl.metrics.results import NODES, SYNCS
from tests.unit.metrics.conftest import Row
from tests.unit.metrics.inline import session

MARK: dict[str, Any] = {
    "table": "samples", "form": "json", "first_us": 1, "last_us": 2, "count": 1, "backlog_size": None, "sampled": False,
    "edges": [],
}  # fmt: skip


def of_node(name: str, bounds: Bounds = (None, None)) -> Sources:
    return Sources([json.dumps({**MARK, "node": name})], [], [], {}, frozenset(), {}, (), bounds, ((name,),))


def test_answers_of_all_shares_are_views(tmp_path: Path) -> None:
    wanted = [of_node(name) for name in "bac"]
    spark = session()
    found = answered(spark, wanted, tmp_path, 2)
    assert found.counted["nodes"] == 3 and found.counted["syncs"] == 0
    assert [found.counted[name] for name in ("connect_failures", "dumps")] == [0, 0]
    assert (found.first_us, found.last_us, found.since_us) == (1, 2, {})
    assert spark.sql("select node from nodes order by node").toArrow()["node"].to_pylist() == ["a", "b", "c"]
    for one in wanted:
        path = of_answer(place(tmp_path, one.bounds), key(one), "nodes")
        assert pl.read_parquet(path)["node"].to_list() == list(one.groups[0])


def test_tables_of_few_rows_are_read_as_they_are(tmp_path: Path) -> None:
    wanted = [of_node(name) for name in "ba"]
    spark = session()
    answered(spark, wanted, tmp_path, 2)
    with pytest.raises(duckdb.CatalogException):
        spark.sql("select node from nodes")
    assert sorted(few(tmp_path, (None, None), NODES)["node"].to_pylist()) == ["a", "b"]
    assert spark.sql("select count(*) as count from syncs").toArrow()["count"].to_pylist() == [0], "SQL reads it"


def test_of_happenings_the_newest_are_read_alone(tmp_path: Path) -> None:
    told = pa.table({
        field.name: pa.array([8, 4] if field.name in ("syncs", "nodes") else [None, 0], field.type)
        if field.type == pa.int64() else pa.array([[80, 70, 50, 10], [90, 60]], field.type) for field in COUNTED
    })  # fmt: skip
    found = counts_of(told, 4)
    assert found.counted["syncs"] == 12 and found.since_us == {"syncs": 60}
    assert counts_of(told, 12).since_us == {} and counts_of(told, 11).since_us == {"syncs": None}
    folder = place(tmp_path, (None, None)) / "syncs"
    folder.mkdir(parents=True)
    for name, times in (("a", [80, 70, 50, 10]), ("b", [90, 60, 20])):
        syncs = pa.Table.from_pylist([dict.fromkeys(SYNCS.names) | {"at_us": at} for at in times], schema(SYNCS))
        pq.write_table(syncs, folder / f"{name}.parquet")
    for since_us, most, read in ((60, 9, [60, 70, 80, 90]), (60, 2, [80, 90]), (None, 3, [70, 80, 90])):
        assert sorted(newest(tmp_path, (None, None), SYNCS, since_us, most)["at_us"].to_pylist()) == read
    assert len(newest(tmp_path, (None, None), SYNCS, None, 7)) == len(few(tmp_path, (None, None), SYNCS)) == 7


def test_what_is_asked_no_more_is_in_no_view(tmp_path: Path) -> None:
    for names in ("ab", "ac", "c"):
        spark = session()
        answered(spark, [of_node(name) for name in names], tmp_path, 0)
        assert spark.sql("select node from nodes order by node").toArrow()["node"].to_pylist() == list(names)
    answered(spark, [of_node("a", (0, None))], tmp_path, 0)
    assert spark.sql("select node from nodes").toArrow()["node"].to_pylist() == ["a"]


def test_letters_that_spark_takes_for_patterns() -> None:
    assert plain(Path("/a [1]/{b}*?/c\\d")) == "/a \\[1\\]/\\{b\\}\\*\\?/c\\\\d"


def test_all_that_is_asked_travels(tmp_path: Path) -> None:
    edges = [["r", 1, 2, 3, 4, 5, 6], [None, 1, 2, 3, 4, 5, 6]]
    whole = Sources(
        marks=[json.dumps({**MARK, "node": "a", "edges": edges})],
        kept=[],
        again=[],
        text={},
        told_elsewhere=frozenset({("d", "7"), ("e", "8")}),
        samples={},
        named=(),
        bounds=(None, 7),
        groups=(("a", "b"), ("c",)),
        passing=frozenset({("b", "halves/p2")}),
    )
    (batch,) = rows([whole]).to_batches()
    (told,) = answer_batches([batch], str(tmp_path))
    assert told.to_pylist()[0]["nodes"] == 1
    assert of_answer(place(tmp_path, whole.bounds), key(whole), "counts").exists()


def test_what_is_asked_has_a_declared_shape() -> None:
    files = Sources(
        marks=[],
        kept=[("halves", ("halves/p1", "halves/p2"), frozenset({"a", "b"}))],
        again=[Again("events", "a", ("events/day=x/node=a/p1",), True)],
        text={"d": ("events/day=x/node=d/p1",)},
        told_elsewhere=frozenset(),
        samples={"a": ("samples/day=x/node=a/p1",)},
        named=("halves/p1",),
    )
    (row,) = rows([files]).to_pylist()
    assert rows([files]).schema == SHARES
    assert row["kept"] == [{"name": "halves", "paths": ["halves/p1", "halves/p2"], "nodes": ["a", "b"]}]
    assert row["text"] == [{"node": "d", "rows": ["events/day=x/node=d/p1"]}]


def test_spark_answers_in_tasks_of_a_frame(seen: dict[str, list[Row]]) -> None:
    (row,) = seen["answers_plan"]
    assert "MapInArrow" in row["told"] and "Exchange" not in row["told"] and row["tasks"] == 3
