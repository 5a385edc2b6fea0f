"""A writer of facts over a real table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.table import TableError
from pyrepl.changes.writer import Writer, check_row


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SqliteTable]:
    table = SqliteTable(str(tmp_path / "facts.db"))
    yield table
    table.close()


def rows_of(table: SqliteTable) -> dict[int, tuple[str, ...]]:
    return {stream_id: rows for stream_id, _, rows in table.facts("s", None, 0, 10**9, 10**9)}


def test_out_of_order(table: SqliteTable) -> None:
    writer = Writer(table, "s", "a")
    [one, two] = writer.reserve(2)
    assert writer.complete(two, ["2"]) == []
    assert table.positions() == {"s": {"a": 0}}
    assert writer.complete(one, ["1"]) == [one, two]
    assert table.positions() == {"s": {"a": two}}


def test_a_block_that_fails_completes_without_rows(table: SqliteTable) -> None:
    writer = Writer(table, "s", "a")
    with pytest.raises(ZeroDivisionError), writer.fact() as fact:
        fact.add("1")
        raise ZeroDivisionError
    with writer.fact() as fact:
        fact.add("2")
        fact.add("3")
    assert rows_of(table) == {1: (), 2: ("2", "3")}
    assert writer.current == 2 and writer.pending == []


def test_a_bad_row_leaves_the_fact_pending(table: SqliteTable) -> None:
    writer = Writer(table, "s", "a")
    [one] = writer.reserve()
    with pytest.raises(ValueError, match="expected JSON"):
        writer.complete(one, ["{"])
    assert writer.pending == [one] and rows_of(table) == {}
    with pytest.raises(ValueError):
        writer.append("nonsense")
    assert table.last_id("s") == one, "no id is lost to a bad row"
    writer.abort(one)
    with pytest.raises(KeyError):
        writer.abort(one)


def test_a_writer_that_rests_lets_others_go_on(table: SqliteTable) -> None:
    one, two = Writer(table, "s", "a"), Writer(table, "s", "b")
    one.append("1")
    assert table.positions()["s"] == {"a": 1, "b": 0}
    assert two.rest() and not two.rest()
    assert table.positions()["s"] == {"a": 1, "b": 1}
    [pending] = two.reserve()
    one.append("3")
    assert not two.rest()
    two.abort(pending)
    assert two.rest() and two.current == 3


def test_a_sole_writer_settles_what_others_left(table: SqliteTable) -> None:
    Writer(table, "s", "a").reserve(3)
    table.is_sole = True
    assert Writer(table, "s", "b").current == 3
    assert table.positions()["s"] == {"a": 3, "b": 3}


@pytest.mark.parametrize(("stream", "name"), [("ALL", "a"), ("a b", "a"), ("s", "17"), ("s", "")])
def test_names_that_cannot_be(table: SqliteTable, stream: str, name: str) -> None:
    with pytest.raises(ValueError):
        Writer(table, stream, name)


def test_a_sequence_that_was_set_back_is_told(table: SqliteTable) -> None:
    writer = Writer(table, "s", "a")
    writer.reserve(5)
    with sqlite3.connect(table._path) as db:
        db.execute("UPDATE pyrepl_sequences SET last = 2")
    with pytest.raises(TableError, match="has the sequence been set back"):
        writer.append("1")


def test_rows_are_json() -> None:
    check_row('{"a": [1, null, "x"]}')
    for row in ("", "{", "nope", "[" * 100_000):
        with pytest.raises(ValueError, match="expected JSON in a row"):
            check_row(row)


def test_what_applications_need_is_at_hand() -> None:
    import pyrepl.changes as streams

    assert (streams.Writer, streams.SqliteTable) == (Writer, SqliteTable)
    with pytest.raises(AttributeError, match="no attribute Reader"):
        streams.Reader  # noqa: B018
