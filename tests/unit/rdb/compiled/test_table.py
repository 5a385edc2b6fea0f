"""A table made in its final size: what the snapshot says is believed up to a limit, and only the size follows it."""

from __future__ import annotations

import sys

from pyrepl.keyspace.foresight import KEY_BYTES, Foresight
from pyrepl.keyspace.packed import CLASSES
from pyrepl.rdb.compiled import bulk
from pyrepl.rdb.length import encode_length
from pyrepl.rdb.reader import RdbLimits, RdbReader
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.taker import DictTaker
from pyrepl.store.plain_table import PlainTable
from tests.unit.rdb.compiled.collections_in_rdb import keys, whole

SAID = 100_000
INPUT_BYTES = 1 << 22
"""So long is each snapshot, or so it is said."""
BELIEVED = INPUT_BYTES // KEY_BYTES


def says(count: int) -> bytes:
    return b"\xfe\x00\xfb" + encode_length(count) + b"\x00"


def table(data: bytes, mine: dict[bytes, bytes]) -> dict[bytes, bytes]:
    foresight = Foresight(None)

    def promise(db: int, count: int, left_bytes: int | None) -> int:
        return foresight.promise(PlainTable(mine), count, KEY_BYTES, left_bytes)

    RdbReader(RdbLimits(input_bytes=INPUT_BYTES), CLASSES, lambda db: DictTaker(mine), promise).feed(data)
    return mine


def room(count: int) -> int:
    """The bytes of a dictionary that so many keys were put into one by one."""
    return sys.getsizeof({b"%d" % key: b"" for key in range(count)})


def test_there_is_room_for_all_keys_before_the_first_one() -> None:
    empty = table(whole(says(SAID))[:-9], {})
    assert not empty
    assert (sys.getsizeof(empty) >= room(SAID) * 3 // 4) == bulk.COMPILED
    full = table(whole(says(SAID) + keys(0, *[encode_string(b"v")] * SAID)), {})
    assert full == {b"k%d" % number: b"v" for number in range(SAID)}
    assert (sys.getsizeof(full) == sys.getsizeof(empty)) == bulk.COMPILED


def test_keys_that_were_there_stay() -> None:
    before = {b"a": b"1", b"b": b"2"}
    after = table(whole(says(SAID) + keys(0, encode_string(b"v"))), dict(before))
    assert after == {**before, b"k0": b"v"}


def test_more_than_was_said_may_come_and_less() -> None:
    for said in (0, 1, 2, 999, 1000, 1001):
        found = table(whole(says(said) + keys(0, *[encode_string(b"v")] * 100)), {})
        assert found == {b"k%d" % number: b"v" for number in range(100)}


def test_not_every_number_is_believed() -> None:
    found = table(whole(says((1 << 32) - 1) + keys(0, encode_string(b"v"))), {})
    assert found == {b"k0": b"v"}
    assert sys.getsizeof(found) < 60 * BELIEVED
