"""A dictionary that is made larger beside all else, as its store offers it."""

from __future__ import annotations

import sys

from pyrepl.rdb.compiled.room import COMPILED
from pyrepl.store.plain_table import PlainTable
from pyrepl.store.store import Growable

MANY = 60_000


def test_it_is_its_dictionary() -> None:
    one: dict[bytes, bytes] = {b"a": b"1"}
    table: Growable = PlainTable(one)
    assert len(table) == 1
    assert table == PlainTable(one) and hash(table) == hash(PlainTable(one))
    assert table != PlainTable(dict(one))
    assert table in [PlainTable({}), PlainTable(one)]


def test_small_ones_are_left_alone() -> None:
    table = PlainTable({b"a": b"1"})
    assert table.size_for(100) == 0
    assert table.filling() == (0, 0)


def test_an_empty_one_moves_in() -> None:
    source: dict[bytes, bytes] = {b"a": b"1"}
    table = PlainTable(source)
    size = table.size_for(MANY)
    assert (size > 0) == COMPILED
    if size:
        room = table.room(size)
        room.make()
        table.move_in(room)
        assert sys.getsizeof(source) > 24 * MANY
    assert source == {b"a": b"1"}


def test_a_large_one_grows() -> None:
    source = {b"%d" % number: b"" for number in range(MANY)}
    before, table = dict(source), PlainTable(source)
    made, left = table.filling()
    assert (made == MANY) == COMPILED
    if COMPILED:
        room = table.room(table.size_for(made + left + 1))
        room.make()
        growth = table.growth(room)
        while growth.step(10_000) > 0:
            source[b"more"] = before[b"more"] = b""
        old = growth.finish()
        assert old is not None
        old.give_back()
        assert table.filling()[1] > left
    assert source == before and list(source) == list(before)
