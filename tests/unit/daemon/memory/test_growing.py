"""Tables that are soon full grow while the node does other things; what changes meanwhile is in the larger one too."""

from __future__ import annotations

import asyncio
import random
import sys
from typing import Any

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.memory.growing import Growing
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.rdb.compiled.room import COMPILED
from pyrepl.store.key_round import KeyRound
from tests.unit.daemon.rig import in_loop, until

MANY = 60_000
ROOM = (2 << 17) // 3


def database(count: int = MANY) -> Database:
    db = Keyspace(2).databases[0]
    for number in range(count):
        db.write(b"%d" % number, b"value%d" % number)
    return db


def begun(db: Database) -> Growing:
    """Looks after a database whose keys became so many since the last look, and as many before that."""
    growing = Growing(db.keyspace, lambda: False, Clock())
    growing._gained = [MANY] * 4
    growing.tick(0.0)
    return growing


async def over(table: dict[bytes, Any], size: int) -> None:
    """Until it has grown, where tables can."""
    if COMPILED:
        await until(lambda: sys.getsizeof(table) > 1.9 * size)
    else:
        await asyncio.sleep(0.05)
        assert sys.getsizeof(table) == size


@in_loop
async def test_a_table_that_fills_grows_before_it_is_full() -> None:
    db = database()
    table, size, before = db.store.values, sys.getsizeof(db.store.values), dict(db.store.values)
    growing = begun(db)
    await over(table, size)
    assert db.store.values is table and list(table.items()) == list(before.items())
    growing.tick(0.0)
    growing.stop()


@in_loop
async def test_times_to_live_have_tables_too() -> None:
    db = database()
    for key in db.store.values:
        db.expire_at(key, 1 << 50)
    sizes = sys.getsizeof(db.store.values), sys.getsizeof(db.store.expires)
    growing = begun(db)
    await over(db.store.values, sizes[0])
    for number in range(2000):
        db.expire_at(b"%d" % number, None)
        db.write(b"more%d" % number, b"")
        db.expire_at(b"more%d" % number, 1 << 50)
    growing.tick(0.0)
    await over(db.store.expires, sizes[1])
    assert len(db.store.expires) == MANY
    growing.stop()


@in_loop
async def test_one_that_does_not_fill_is_left_alone_until_it_is_nearly_full() -> None:
    db = database()
    size = sys.getsizeof(db.store.values)
    growing = Growing(db.keyspace, lambda: False, Clock())
    # As if it had been looked at before.
    growing._made[0] = MANY
    growing.tick(0.0)
    await asyncio.sleep(0.05)
    assert sys.getsizeof(db.store.values) == size
    for number in range(MANY, ROOM * 97 // 100):
        db.write(b"%d" % number, b"")
    growing._made[0] = len(db.store.values)
    growing.tick(0.0)
    await over(db.store.values, size)
    growing.stop()


@in_loop
async def test_one_that_was_loaded_is_left_alone() -> None:
    db = database()
    size = sys.getsizeof(db.store.values)
    growing = Growing(db.keyspace, lambda: False, Clock())
    for _ in range(3):
        growing.tick(0.0)
        await asyncio.sleep(0.02)
    assert sys.getsizeof(db.store.values) == size
    growing.stop()


@in_loop
async def test_small_tables_are_left_alone() -> None:
    db = database(5000)
    size = sys.getsizeof(db.store.values)
    growing = begun(db)
    await asyncio.sleep(0.02)
    assert sys.getsizeof(db.store.values) == size
    growing.stop()


@pytest.mark.parametrize("seed", range(2))
@in_loop
async def test_nothing_is_lost_or_comes_back(seed: int) -> None:
    """A plain dictionary that is changed alike says what must be there, and in which order."""
    rng = random.Random(seed)
    db = database()
    db.scan(0, 10)
    model = dict(db.store.values)
    table, size = db.store.values, sys.getsizeof(db.store.values)
    going = KeyRound(table, exact=True)
    met = set(going.take(1000))
    stay = set(model)
    growing = begun(db)
    for turn in range(300):
        for _ in range(20):
            key = b"%d" % rng.randrange(MANY + 500)
            if rng.randrange(3):
                text = model[key] = b"%d" % rng.getrandbits(40)
                (db.put, db.write, db.replace, db.update)[turn % 4](key, text)
            else:
                assert (db.delete, db.drop)[turn % 2](key) == (model.pop(key, None) is not None)
                stay.discard(key)
        met.update(going.take(100))
        await asyncio.sleep(0)
    await over(table, size)
    assert list(db.store.values.items()) == list(model.items())
    while keys := going.take(5000):
        met.update(keys)
    assert met >= stay
    cursor, seen = db.scan(0, 1000)
    while cursor:
        cursor, keys = db.scan(cursor, 1000)
        seen += keys
    assert set(seen) >= model.keys()
    fresh = Keyspace(2)
    for key, value in model.items():
        fresh.databases[0].put(key, value)
    assert keyspace_digest(db.keyspace) == keyspace_digest(fresh)
    growing.stop()


@pytest.mark.parametrize("what", ["clear", "swap", "stop", "fill"])
@in_loop
async def test_it_is_given_up(what: str) -> None:
    db = database()
    keyspace = db.keyspace
    growing = begun(db)
    if what == "clear":
        db.clear()
        db.write(b"a", b"1")
        expected: dict[bytes, Any] = {b"a": b"1"}
    elif what == "swap":
        expected = {}
        keyspace.swap(0, 1)
    elif what == "stop":
        expected = dict(db.store.values)
        growing.stop()
    else:
        for number in range(ROOM):
            db.write(b"more%d" % number, b"")
        expected = dict(db.store.values)
    await asyncio.sleep(0.1)
    assert db.store.values == expected
    if what == "swap":
        assert len(keyspace.databases[1].store.values) == MANY
    growing.stop()
