"""Columns and tables as records."""

from __future__ import annotations

import pytest

from pyrepl.metrics.column import Kind, Table, count, flag, number, text

TABLE = Table("t", "one row per thing", (text("a", "word"), count("b", "bytes", "size"), flag("c", "yes")))


def test_names_in_order() -> None:
    assert TABLE.names == ("a", "b", "c")


def test_a_column_by_name() -> None:
    assert TABLE.column("b").unit == "bytes"
    with pytest.raises(KeyError, match="t has no column d"):
        TABLE.column("d")


def test_kinds_are_spark_names() -> None:
    columns = text("a", ""), count("a", "", ""), number("a", "s", ""), flag("a", "")
    assert [column.kind for column in columns] == [Kind.TEXT, Kind.COUNT, Kind.NUMBER, Kind.FLAG]
    assert [column.kind.value for column in columns] == ["string", "bigint", "double", "boolean"]
