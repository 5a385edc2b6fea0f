"""What every table of facts must do, as functions on an empty one; each kind runs them all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.changes.table import Table
from pyrepl.changes.writer import Writer


def ids_grow_and_are_drawn_once(table: Table) -> None:
    assert table.last_id("s") == 0
    drawn = table.next_ids("s", 1) + table.next_ids("s", 3) + table.next_ids("s", 1)
    assert drawn == sorted(set(drawn)) and len(drawn) == 5
    assert table.last_id("s") == drawn[-1]
    assert table.next_ids("other", 1) == [1], "each stream has its own"


def facts_come_back_in_order(table: Table) -> None:
    facts = {5: ("a", ('{"x": 1}',)), 2: ("b", ("[1]", "[2]")), 9: ("a", ())}
    for writer in ("a", "b"):
        table.set_position("s", writer, 0)
    for stream_id, (writer, rows) in facts.items():
        table.add("s", writer, stream_id, rows)
    table.add("s", "a", 5, ('{"x": 1}',))
    table.add("t", "a", 7, ("0",))
    assert table.facts("s", None, 0, 100, 10) == [(2, "b", ("[1]", "[2]")), (5, "a", ('{"x": 1}',)), (9, "a", ())]
    assert table.facts("s", None, 2, 5, 10) == [(5, "a", ('{"x": 1}',))]
    assert table.facts("s", "a", 0, 100, 1) == [(5, "a", ('{"x": 1}',))]
    assert table.facts("s", "nobody", 0, 100, 10) == []
    assert table.complete_ids("s", 2, 10) == [5, 9]
    assert table.complete_ids("s", 0, 2) == [2, 5]
    assert table.last_of("t", "a") == 7


def text_of_all_kinds_survives(table: Table) -> None:
    row = '"größe \\n \\" \\\\ \\u0000 😀"'
    table.set_position("größe", "wörter", 0)
    table.add("größe", "wörter", 1, (row, "[1,\n2]"))
    assert table.facts("größe", "wörter", 0, 9, 9) == [(1, "wörter", (row, "[1, 2]"))]


def positions_never_move_back(table: Table) -> None:
    for position in (3, 8, 5):
        table.set_position("s", "a", position)
    table.set_position("s", "b", 1)
    table.set_position("t", "a", 2)
    assert table.positions() == {"s": {"a": 8, "b": 1}, "t": {"a": 2}}


def a_writer_finds_its_place_again(table: Table) -> None:
    writer = Writer(table, "s", "a")
    one, two, three = (writer.reserve()[0] for _ in range(3))
    writer.complete(one, ["1"])
    writer.complete(three, ["3"])
    assert writer.current == one and writer.pending == [two]
    again = Writer(table, "s", "a")
    assert again.current == three, "nothing is pending at the start"
    assert table.positions()["s"]["a"] == three
    four = again.append("4")
    assert four > three
    assert [stream_id for stream_id, _, _ in table.facts("s", "a", 0, four, 9)] == [one, three, four]


CHECKS: list[Callable[[Table], None]] = [
    ids_grow_and_are_drawn_once,
    facts_come_back_in_order,
    text_of_all_kinds_survives,
    positions_never_move_back,
    a_writer_finds_its_place_again,
]

every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
