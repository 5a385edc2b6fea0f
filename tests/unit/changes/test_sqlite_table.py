"""Facts in a SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.table import Table, TableError
from pyrepl.changes.writer import Writer
from tests.unit.changes.tables import every_check


@every_check
def test_as_every_table(check: Callable[[Table], None], tmp_path: Path) -> None:
    table = SqliteTable(str(tmp_path / "facts.db"))
    check(table)
    table.close()


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "facts.db")
    table = SqliteTable(path)
    Writer(table, "s", "a").append("1")
    table.close()
    again = SqliteTable(path)
    assert again.facts("s", None, 0, 9, 9) == [(1, "a", ("1",))]
    assert again.next_ids("s", 1) == [2]
    again.close()


def test_two_connections_draw_different_ids_and_see_each_other(tmp_path: Path) -> None:
    path = str(tmp_path / "facts.db")
    one, two = SqliteTable(path), SqliteTable(path)
    ids = [table.next_ids("s", 1)[0] for _ in range(20) for table in (one, two)]
    assert sorted(set(ids)) == list(range(1, 41))
    one.add("s", "a", 1, ("1",))
    assert two.facts("s", None, 0, 9, 9) == [(1, "a", ("1",))]
    one.close()
    two.close()


def test_what_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "facts.db").write_bytes(b"not a database, " * 100)
    with pytest.raises(TableError, match=r"facts\.db: file is not a database"):
        SqliteTable(str(tmp_path / "facts.db"))
    with pytest.raises(TableError, match=r"facts\.db: No such file or directory"):
        SqliteTable(str(tmp_path / "nowhere" / "facts.db"))


def test_a_table_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = SqliteTable(":memory:")
    Writer(table, "s", "a").append("1")
    table.close()
    assert list(tmp_path.iterdir()) == []
