"""Who takes in keys: a dictionary, in both forms, by one key and by runs of them."""

from __future__ import annotations

import sys

from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.events import Noted
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.taker import DictTaker, Taker
from tests.unit.rdb.compiled.collections_in_rdb import keys


def test_one_key_after_the_other() -> None:
    table: dict[bytes, bytes] = {b"a": b"1"}
    taker: Taker = DictTaker(table)
    assert taker.holds(b"a") and not taker.holds(b"b")
    taker.add(b"b", b"2")
    assert taker.holds(b"b") and table == {b"a": b"1", b"b": b"2"}


def test_a_run_ends_before_a_key_that_is_there() -> None:
    if not bulk.COMPILED:
        return
    data = keys(0, *[encode_string(b"v")] * 5)
    for there, taken in ({}, 5), ({b"k3": b"old"}, 3):
        table: dict[bytes, bytes] = dict(there)
        decoder = bulk.Bulk({}, 100, True, True)
        DictTaker(table).run(decoder, data, 0, {}, Noted({}, {}, {}))
        assert (decoder.keys, decoder.position) == (taken, len(data) * taken // 5)
        assert table == {**there, **{b"k%d" % number: b"v" for number in range(taken)}}
    table = {}
    DictTaker(table).run(decoder, data, 0, {b"k1": None}, Noted({}, {}, {}))
    assert list(table) == [b"k0"]


def test_room_is_made_at_once() -> None:
    if bulk.COMPILED:
        table: dict[bytes, bytes] = {}
        DictTaker(table).foresee(bulk.Bulk({}, 100, True, True), 100_000)
        assert not table and sys.getsizeof(table) > 2_000_000
