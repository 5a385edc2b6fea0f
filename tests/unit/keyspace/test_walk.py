"""Databases into bytes: in any form, and read again."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import pytest

from pyrepl.keyspace import borrowed_walk
from pyrepl.keyspace.access import AccessTracker, Clocks, Tracking
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.keyspace.loader import Loader
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.keyspace.walk import PlainWalk, walk
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.types.row import CannotHold
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.versions import numbered
from pyrepl.rdb.writer import RdbWriter

NUMBERS = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    4095,
    4096,
    -4097,
    32768,
    1 << 23,
    1 << 31,
    -(1 << 31),
    (1 << 63) - 1,
    -(1 << 63),
]
ODD = [b"", b"-", b"-0", b"00", b"+1", b"1 ", b"9" * 19, b"9" * 20, b"9" * 21, b"18446744073709551616", b"x" * 64]
LONG = [b"y" * 65, b"ab" * 2048, b"c" * 4096, b"d" * 8192, b"e" * 20_000]
SCORES = [0.0, -0.0, 1.5, -3.0, 1e300, float("inf"), -float("inf"), 2.0**52, 2.0**52 - 1, -(2.0**52), 0.1, 1e17, 5.0]

Text = Callable[[], bytes]


def _texts(dice: random.Random) -> list[Text]:
    return [
        lambda: b"%d" % dice.choice(NUMBERS),
        lambda: b"%d" % dice.randrange(-70_000, 70_000),
        lambda: dice.choice([*ODD, b"%d" % dice.choice(NUMBERS), dice.randbytes(dice.randrange(40))]),
        lambda: dice.choice([*ODD, *LONG, dice.randbytes(20)]),
    ]


def _values(dice: random.Random) -> list[Value]:
    values: list[Value] = [StreamValue(), *ODD, *LONG]
    for text in _texts(dice):
        for count in (1, 3, 128, 129, 513):
            texts = [text() for _ in range(count)]
            values += [
                text(),
                ListValue(deque(texts)),
                HashValue({field: text() for field in texts}),
                SetValue(set(texts)),
                ZsetValue({member: dice.choice(SCORES) for member in texts}),
            ]
    return values


@pytest.fixture(scope="module")
def keyspace() -> Keyspace:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    for number, value in enumerate(_values(random.Random(3))):
        db.store.values[b"%d" % number] = value
        if number % 4 == 0:
            db.store.expires[b"%d" % number] = number << 20
    return keyspace


def _encode(walker: Callable[[Database, RdbWriter, int, int], object], db: Database, writer: RdbWriter) -> list[bytes]:
    walking = walker(db, writer, 1 << 16, 1)
    blocks = []
    while block := walking.block():  # type: ignore[attr-defined]
        blocks.append(block)
    return blocks


@pytest.mark.parametrize("version", [8, 9, 10, 11, 12, 80])
@pytest.mark.parametrize("compress", [False, True])
def test_both_forms_write_the_same(keyspace: Keyspace, version: int, compress: bool) -> None:
    db = keyspace.databases[0]
    if version < 9:
        db = Keyspace(1).databases[0]
        db.store.values = {
            key: value for key, value in keyspace.databases[0].store.values.items() if type(value) is not StreamValue
        }
    plain = _encode(PlainWalk, db, RdbWriter(numbered(version), compress=compress))
    assert len(plain) == len(db.store.values)
    assert _encode(walk, db, RdbWriter(numbered(version), compress=compress)) == plain


CLOCKS = [
    Clocks(Tracking.LRU, {b"%d" % number: 10_000_000 - 7**number for number in range(10)}, 9_000_000, 10_000_000, 0),
    Clocks(Tracking.LRU, {b"1": 99}, 50, 40, 0),
    Clocks(
        Tracking.LFU, {b"%d" % number: (1000 - number) << 8 | 25 * number for number in range(10)}, 256_005, 1000, 1
    ),
    Clocks(Tracking.LFU, {b"3": 1000 << 8 | 200}, 990 << 8 | 5, 1000, 3),
    Clocks(Tracking.LFU, {b"3": 2000 << 8 | 200}, 990 << 8 | 5, 1000, 0),
]


@pytest.mark.parametrize("version", [8, 9, 10])
@pytest.mark.parametrize("clocks", CLOCKS)
def test_clocks_are_written_by_both_forms_and_read(version: int, clocks: Clocks) -> None:
    db = Keyspace(1).databases[0]
    db.store.values = {
        b"%d" % number: value
        for number, value in enumerate(
            [b"v", b"5", ListValue(deque([b"a"])), SetValue({b"a"}), ZsetValue({b"a": 1.0}), HashValue({b"f": b"v"})]
            * 2
        )
    }
    db.store.expires = {b"1": 7, b"3": 8}
    blocks = []
    for walker in (PlainWalk, walk) if version > 8 else (walk,):
        writer = RdbWriter(numbered(version))
        head = writer.begin() + writer.select_db(0, 1, 1)
        walking = walker(db, writer, 1 << 30, 1 << 20, clocks)
        blocks.append(head + walking.block() + walking.block() + writer.end())
    assert blocks[0] == blocks[-1]
    fresh = Keyspace(1)
    tracker = AccessTracker(fresh)
    tracker.track(clocks.tracking)
    loader = Loader(RdbLimits(), fresh, tracker=tracker)
    loader.feed(blocks[0])
    loader.end()
    found = tracker.clocks(fresh.databases[0])
    assert found is not None
    kept = clocks if version > 8 else found
    assert {key: found.of(key) for key in db.store.values} == {key: kept.of(key) for key in db.store.values}
    assert len(found.numbers) == (len(db.store.values) if version > 8 else 0)


@pytest.mark.parametrize("version", [10, 11])
def test_what_was_written_is_read_and_written_again(keyspace: Keyspace, version: int) -> None:
    digest = keyspace_digest(keyspace)
    for max_bytes in (1, 1 << 20):
        writer = RdbWriter(numbered(version), compress=True)
        db = keyspace.databases[0]
        parts = [writer.begin(), writer.select_db(0, len(db.store.values), len(db.store.expires))]
        walking = walk(db, writer, max_bytes, 1 << 20)
        while block := walking.block():
            parts.append(block)
        assert walking.keys == len(db.store.values)
        fresh = Keyspace(1)
        loader = Loader(RdbLimits(), fresh)
        loader.feed(b"".join((*parts, writer.end())))
        loader.end()
        assert keyspace_digest(fresh) == digest
        assert fresh.databases[0].store.expires == db.store.expires
        keyspace = fresh


def test_fields_with_a_time_to_live() -> None:
    db = Keyspace(1).databases[0]
    db.store.values[b"h"] = HashValue({b"f": b"v"}, {b"f": 5})
    for walker in (PlainWalk, walk):
        with pytest.raises(CannotHold, match="key b'h'"):
            _encode(walker, db, RdbWriter(numbered(11)))
        assert len(_encode(walker, db, RdbWriter(numbered(12)))) == 1


def test_blocks_end_at_their_bounds() -> None:
    db = Keyspace(1).databases[0]
    db.store.values.update({b"k%03d" % number: b"x" * 95 for number in range(100)})
    for walker in (PlainWalk, walk):
        by_keys = walker(db, RdbWriter(), 1 << 20, 30)
        by_bytes = walker(db, RdbWriter(), 1000, 1)
        assert [len(by_keys.block()) for _ in range(5)] == [3090, 3090, 3090, 1030, 0]
        assert max(len(by_bytes.block()) for _ in range(11)) <= 1000 + 103


def test_the_compiled_form_is_used_where_it_is() -> None:
    walking = walk(Keyspace(1).databases[0], RdbWriter(numbered(10)), 1, 1)
    assert isinstance(walking, borrowed_walk.BorrowedWalk if borrowed_walk.COMPILED else PlainWalk)
    assert isinstance(walk(Keyspace(1).databases[0], RdbWriter(numbered(9)), 1, 1), PlainWalk)
