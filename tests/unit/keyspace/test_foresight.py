"""What is believed of the sizes that a snapshot promises: never more than its bytes can pay for, in sum."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.foresight import FIRST_BYTES, KEY_BYTES, MOST_BYTES, PROOF, TTL_BYTES, Foresight
from pyrepl.keyspace.loader import Loader
from pyrepl.rdb.length import encode_length
from pyrepl.rdb.opcodes import EOF, RESIZEDB, SELECTDB
from pyrepl.rdb.reader import RdbLimits
from pyrepl.store.plain_table import PlainTable
from pyrepl.store.store import Growable

Table = dict[bytes, Any]


class Asked:
    """Notes what room is asked for."""

    is_making = False

    def __init__(self) -> None:
        self.counts: dict[Growable, int] = {}
        self.sure: list[bool] = []

    def make(self, table: Growable, count: int, *, is_sure: bool) -> bool:
        self.counts[table] = count
        self.sure.append(is_sure)
        return True

    def move_in(self) -> None:
        """Nothing was made."""


def table_of(count: int) -> Table:
    return dict.fromkeys((b"%d" % number for number in range(count)), b"")


def test_a_true_promise_is_believed_at_once() -> None:
    asked = Asked()
    table: Table = {}
    assert Foresight(asked).promise(PlainTable(table), 5000, KEY_BYTES, 5000 * 20) == 0
    assert asked.counts == {PlainTable(table): 5000}
    assert asked.sure == [True]


def test_where_nobody_makes_room_the_caller_does() -> None:
    foresight = Foresight(None)
    assert foresight.promise(PlainTable({}), 5000, KEY_BYTES, 5000 * 20) == 5000


@pytest.mark.parametrize("left", [0, 3, 200, 1 << 20])
def test_all_promises_together_are_paid_for_by_what_is_left(left: int) -> None:
    foresight = Foresight(None)
    believed = [
        foresight.promise(PlainTable({}), 1 << 33, KEY_BYTES if number % 2 else TTL_BYTES, left) for number in range(64)
    ]
    assert sum(believed) <= left // KEY_BYTES
    assert believed[0] == left // TTL_BYTES


def test_keys_that_came_were_paid_for() -> None:
    """Ten databases of 1,000 keys: each promise is believed when it comes."""
    foresight = Foresight(None)
    size = 10 * 1000 * KEY_BYTES
    for number in range(10):
        assert foresight.promise(PlainTable({}), 1000, KEY_BYTES, size - number * 1000 * KEY_BYTES) == 1000
        foresight.keep(1000, 0)


def test_no_promise_is_believed_without_end() -> None:
    foresight = Foresight(None)
    assert foresight.promise(PlainTable({}), 1 << 40, KEY_BYTES, 1 << 50) == MOST_BYTES // KEY_BYTES
    assert foresight.promise(PlainTable({}), 1 << 40, KEY_BYTES, 1 << 50) == 0


def test_without_a_length_the_rest_is_believed_once_it_is_paid_for() -> None:
    """In one step, as every step moves the keys that have come."""
    asked = Asked()
    foresight = Foresight(asked)
    table: Table = {}
    first = FIRST_BYTES // KEY_BYTES
    promised = 2 * first
    assert foresight.promise(PlainTable(table), promised, KEY_BYTES, None) == 0
    assert asked.counts[PlainTable(table)] == first
    assert asked.sure == [False]
    foresight.look(PROOF * FIRST_BYTES - 1)
    assert asked.counts[PlainTable(table)] == first
    foresight.look(PROOF * FIRST_BYTES)
    assert asked.counts[PlainTable(table)] == promised


def test_without_a_length_a_table_that_fills_up_gets_what_is_paid_for() -> None:
    asked = Asked()
    foresight = Foresight(asked)
    table: Table = {}
    first = FIRST_BYTES // KEY_BYTES
    assert foresight.promise(PlainTable(table), 100 * first, KEY_BYTES, None) == 0
    came = first * 7 // 8
    table.update(table_of(came - 1))
    foresight.keep(came - 1, 0)
    foresight.look(PROOF * FIRST_BYTES)
    assert asked.counts[PlainTable(table)] == first
    table[b"one more"] = b""
    foresight.keep(1, 0)
    foresight.look(PROOF * FIRST_BYTES)
    assert asked.counts[PlainTable(table)] == first + came + first


def test_without_a_length_and_without_a_maker_nothing_is_believed() -> None:
    assert Foresight(None).promise(PlainTable({}), 5000, KEY_BYTES, None) == 0


def test_without_a_length_all_lies_together_cost_little() -> None:
    """Sixteen databases that promise millions and hold ten thousand keys each."""
    asked = Asked()
    foresight = Foresight(asked)
    tables: list[Table] = [{} for _ in range(16)]
    kept = 0
    for table in tables:
        foresight.promise(PlainTable(table), 1 << 30, KEY_BYTES, None)
        table.update(table_of(10_000))
        foresight.keep(10_000, 0)
        kept += 10_000
        came = kept * 20
        foresight.look(came)
        assert sum(asked.counts.values()) <= (FIRST_BYTES + came // PROOF) // KEY_BYTES + kept


@pytest.mark.parametrize("is_sized", [True, False])
def test_the_loader_asks_for_no_more(is_sized: bool) -> None:
    """A snapshot of promises and nothing else."""
    lies = b"".join(
        bytes((SELECTDB.number,))
        + encode_length(db)
        + bytes((RESIZEDB.number,))
        + encode_length(1 << 31)
        + encode_length(1 << 31)
        for db in range(16)
    )
    data = b"REDIS0011" + lies + bytes((EOF.number,)) + bytes(8)
    asked = Asked()
    limits = RdbLimits(input_bytes=len(data)) if is_sized else RdbLimits()
    loader = Loader(limits, Keyspace(16), rooms=asked)
    size = random.Random(5).randrange(1, 50)
    for start in range(0, len(data), size):
        loader.feed(data[start : start + size])
    loader.end()
    most_bytes = len(data) if is_sized else FIRST_BYTES
    assert sum(asked.counts.values()) <= most_bytes // KEY_BYTES
