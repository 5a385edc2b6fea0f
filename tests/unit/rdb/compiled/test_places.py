"""Asking for what a lookup will need: CPython's tables are as we take them to be, and are left as they are."""

from __future__ import annotations

import sys

import pytest

from pyrepl.keyspace.packed import CLASSES
from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.compiled.places import asked_for
from pyrepl.rdb.reader import RdbLimits, RdbReader
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.taker import DictTaker
from pyrepl.store.prefetch import WINDOW, prefetch_words
from tests.unit.rdb.compiled.collections_in_rdb import keys, whole


@pytest.mark.parametrize("count", [5000, 70_000])
def test_what_is_asked_for_is_found(count: int) -> None:
    """Indices of two bytes, and of four: a table laid out otherwise would lead to entries of other hashes."""
    table: dict[bytes, object] = {b"key:%d" % number: b"" for number in range(count)}
    wanted = list(table)
    found = 0
    for start in range(0, count, WINDOW):
        before = asked_for()
        prefetch_words(table, {}, wanted, start, 1)
        found += asked_for() - before
    # A search of more than a few steps is given up.
    assert (0.9 * count < found <= count) if bulk.COMPILED else found == 0


def test_what_is_not_there_leads_nowhere() -> None:
    table: dict[bytes, object] = {b"key:%d" % number: b"" for number in range(70_000)}
    before = dict(table), sys.getsizeof(table)
    prefetch_words(table, {}, [b"other:%d" % number for number in range(WINDOW)], 0, 1)
    assert (table, sys.getsizeof(table)) == before


@pytest.mark.parametrize("there", [0, 10, 5000, 70_000])
def test_a_load_into_tables_of_any_size(there: int) -> None:
    """An empty table has another layout, a small one indices of one byte; the places of both are asked for as well."""
    mine: dict[bytes, bytes] = {b"old:%d" % number: b"o" for number in range(there)}
    data = whole(keys(0, *[encode_string(b"v")] * 1000))
    RdbReader(RdbLimits(), CLASSES, lambda db: DictTaker(mine)).feed(data)
    assert len(mine) == there + 1000
    assert all(mine[b"k%d" % number] == b"v" for number in range(1000))
