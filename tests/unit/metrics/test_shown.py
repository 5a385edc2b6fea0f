"""What is shown of tables that have too many rows: the newest, or those that matter most, and no more than that."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pyrepl.metrics.arrow import schema
from pyrepl.metrics.report.as_json import TABLES
from pyrepl.metrics.results import NODES
from pyrepl.metrics.shown import FIRST, MOST_UNPARSED, OF, ORDER, ordered, shown
from tests.unit.metrics.conftest import Row
from tests.unit.metrics.inline import Inline


class Counting(Inline):
    """A session that counts the rows that the driver gets, and the queries."""

    def __init__(self, **tables: list[Row]) -> None:
        super().__init__()
        for table in TABLES:
            rows = [dict.fromkeys(table.names) | row for row in tables.get(table.name, [])]
            self.createDataFrame(pa.Table.from_pylist(rows, schema(table))).createOrReplaceTempView(table.name)
        self.handed_over: list[int] = []

    def sql(self, statement: str) -> Any:
        found = super().sql(statement)
        self.handed_over.append(len(found.toArrow()))
        return found


def test_all_rows_in_their_order_by_one_query() -> None:
    causes = [{"cause": name, "count": count} for name, count in (("b", 1), ("c", 2), ("a", 1))]
    spark: Any = Counting(full_causes=causes, syncs=[{"at_us": 2, "ok": True, "mb_per_s": 0.1}, {"at_us": 1}])
    rows, cut = shown(spark, {})
    assert [row["cause"] for row in rows["full_causes"]] == ["c", "a", "b"]
    assert [row["at_us"] for row in rows["syncs"]] == [1, 2]
    assert (rows["syncs"][1]["ok"], rows["syncs"][1]["mb_per_s"], rows["syncs"][1]["node"]) == (True, 0.1, None)
    assert cut == frozenset() and spark.handed_over == [5]
    assert all(not rows[table.name] for table in TABLES if table.name not in ("full_causes", "syncs"))


def test_the_driver_gets_no_more_rows_however_many_there_are() -> None:
    for count in (30, 3000):
        spark: Any = Counting(syncs=[{"at_us": at, "sync": "s"} for at in range(count)],
                              unparsed=[{"file": "f", "position": at} for at in range(count)])  # fmt: skip
        rows, cut = shown(spark, {}, 10)
        assert spark.handed_over == [22] and cut == {"syncs", "unparsed"}
        assert [row["at_us"] for row in rows["syncs"]] == list(range(count - 10, count))
        assert [row["position"] for row in rows["unparsed"]] == list(range(10))


@pytest.mark.parametrize(
    ("table", "rows", "expected"),
    [
        ("nodes", [{"node": name, "last_us": at} for name, at in (("a", 1), ("b", 2), ("c", 3))], ["b", "c"]),
        ("availability", [{"node": name, "availability": at} for name, at in (("a", 1.0), ("b", 0.5), ("c", None))],
         ["c", "b"]),
        ("advice", [{"node": name, "running_s": at} for name, at in (("a", None), ("b", 0.5), ("c", 7.0))], ["c", "b"]),
    ],
)  # fmt: skip
def test_those_that_matter_most(table: str, rows: list[Row], expected: list[str]) -> None:
    spark: Any = Counting(**{table: rows})
    assert [row["node"] for row in shown(spark, {}, 2)[0][table]] == expected


def test_of_lines_that_were_not_understood_some_of_each_file() -> None:
    lines = [{"file": name, "position": at} for name, many in (("a", 500), ("b", 2), ("c", 1)) for at in range(many)]
    spark: Any = Counting(unparsed=lines)
    shown_rows, cut = shown(spark, {})
    assert cut == {"unparsed"} and len(shown_rows["unparsed"]) == MOST_UNPARSED
    assert [row["file"] for row in shown_rows["unparsed"][-3:]] == ["b", "b", "c"]


def test_what_is_known_to_be_empty_is_not_asked_for() -> None:
    spark: Any = Counting(syncs=[{"at_us": at} for at in (3, 1, 2)], cuts=[{"at_us": 1}])
    rows, cut = shown(spark, {"syncs": 3, "cuts": 0}, 3)
    assert [row["at_us"] for row in rows["syncs"]] == [1, 2, 3] and not rows["cuts"] and not cut
    assert shown(spark, {"syncs": 3}, 2)[1] == {"syncs"}


def test_tables_of_few_rows_are_not_asked_for() -> None:
    spark: Any = Counting(syncs=[{"at_us": 1}], nodes=[{"node": "never asked"}])
    held = pa.Table.from_pylist([{"node": name} for name in "ba"], schema(NODES))
    rows, cut = shown(spark, {"nodes": 2}, 3, {"nodes": lambda: held})
    assert [row["node"] for row in rows["nodes"]] == ["a", "b"] and not cut
    assert spark.handed_over == [1]


def test_every_table_has_an_order_of_its_own_columns() -> None:
    for table in TABLES:
        for order in (ORDER[table.name], FIRST.get(table.name, "")):
            columns = {*table.names, *(["turn"] if table.name in OF else [])}
            assert {item.split()[0] for item in order.split(", ") if item} <= columns


def test_null_is_the_least() -> None:
    rows = [(1, "x", 0), (None, "y", 1), (2, None, 2), (2, "x", 3)]
    table = pa.Table.from_pylist([dict(zip("abc", row, strict=True)) for row in rows])
    assert ordered(table, "a, b")["c"].to_pylist() == [1, 0, 2, 3]
    assert ordered(table, "a desc, b")["c"].to_pylist() == [2, 3, 0, 1]
    assert ordered(table, "a desc, b desc")["c"].to_pylist() == [3, 2, 0, 1]


def test_equals_stay_as_they_came() -> None:
    table = pa.table({"a": [2, 1] * 500, "b": range(1000)})
    assert ordered(table, "a")["b"].to_pylist() == [*range(1, 1000, 2), *range(0, 1000, 2)]
    assert ordered(table, "a desc")["b"].to_pylist() == [*range(0, 1000, 2), *range(1, 1000, 2)]
