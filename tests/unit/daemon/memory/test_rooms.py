"""Room made beside a load: the table is the large one when it is there, and the same dictionary all the time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import MAX_SLICE_BYTES, Files
from pyrepl.daemon.memory.rooms import Rooms
from pyrepl.keyspace.database import Keyspace
from pyrepl.rdb.compiled.room import COMPILED
from pyrepl.store.plain_table import PlainTable
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop, job_of, until

MANY = 50_000


async def until_moved(rooms: Rooms, true: Callable[[], bool]) -> None:
    def moved() -> bool:
        rooms.move_in()
        return true()

    await until(moved)


@in_loop
async def test_a_table_moves_in_when_its_room_is_made() -> None:
    rooms = Rooms()
    table = {b"a": b"1"}
    small = sys.getsizeof(table)
    assert (
        rooms.make(PlainTable(table), MANY, is_sure=True)
        == rooms.make(PlainTable(table), 2 * MANY, is_sure=True)
        == COMPILED
    )
    await until(lambda: not rooms.is_making)
    table[b"b"] = b"2"
    assert sys.getsizeof(table) == small
    rooms.move_in()
    assert list(table.items()) == [(b"a", b"1"), (b"b", b"2")]
    assert (sys.getsizeof(table) > 24 * MANY) == COMPILED
    rooms.move_in()
    assert table == {b"a": b"1", b"b": b"2"}


@in_loop
async def test_what_is_not_worth_it() -> None:
    rooms = Rooms()
    assert not rooms.make(PlainTable({}), 1000, is_sure=True)
    assert not rooms.is_making


@in_loop
async def test_a_table_that_filled_meanwhile_moves_in_parts() -> None:
    """Nobody waits for its room, and more keys may come between the parts."""
    rooms = Rooms()
    table: dict[bytes, bytes] = {}
    assert rooms.make(PlainTable(table), 10 * MANY, is_sure=True) == COMPILED
    table.update({b"%d" % number: b"" for number in range(2 * MANY)})
    assert not rooms.is_making
    small = sys.getsizeof(table)
    for number in range(2 * MANY, 3 * MANY):
        if number % 10_000 == 0:
            rooms.move_in()
            await asyncio.sleep(0)
        table[b"%d" % number] = b""
    if COMPILED:
        await until_moved(rooms, lambda: sys.getsizeof(table) > 2 * small)
    assert list(table) == [b"%d" % number for number in range(3 * MANY)]
    assert all(table[b"%d" % number] == b"" for number in range(3 * MANY))


@in_loop
async def test_a_larger_room_is_made_when_more_is_believed() -> None:
    rooms = Rooms()
    table: dict[bytes, bytes] = {}
    assert (
        rooms.make(PlainTable(table), 2 * MANY, is_sure=True)
        == rooms.make(PlainTable(table), 20 * MANY, is_sure=True)
        == COMPILED
    )
    await until(lambda: not rooms.is_making)
    rooms.move_in()
    first = sys.getsizeof(table)
    assert (first > 24 * 2 * MANY) == COMPILED and first < 24 * 20 * MANY
    table.update({b"%d" % number: b"" for number in range(MANY)})
    assert (
        rooms.make(PlainTable(table), 2 * MANY, is_sure=True)
        == rooms.make(PlainTable(table), 20 * MANY, is_sure=True)
        == COMPILED
    )
    if COMPILED:
        await until_moved(rooms, lambda: sys.getsizeof(table) > 24 * 20 * MANY)
    assert list(table) == [b"%d" % number for number in range(MANY)]


@in_loop
async def test_a_load_waits_for_room_and_is_complete(tmp_path: Path) -> None:
    """Of keys and of times to live, in two databases."""
    source = bare_node()
    for db in source.keyspace.databases[:2]:
        for number in range(MANY):
            db.put(b"key:%d" % number, b"value:%d" % number)
            db.expire_at(b"key:%d" % number, 1 << 50)
    data = b"".join(block for block, _ in job_of(source).blocks())
    assert len(data) > 4 * MAX_SLICE_BYTES
    node = bare_node()
    files = Files(node, Clock(), KeptLog().log)
    fresh = Keyspace(2)
    loader = files.loader(fresh, len(data))
    loading = files.begin_loading(len(data), asynchronous=True)
    waited = 0
    for start in range(0, len(data), 64 * 1024):
        files.feed(loader, loading, data[start : start + 64 * 1024])
        while loader.is_making_room:
            waited += 1
            assert files.load_delay_s(loader, loading) > 0
            await asyncio.sleep(0.001)
    assert files.load_delay_s(loader, loading) == 0
    loader.end()
    files.end_loading(loader)
    assert (waited > 0) == COMPILED
    for db, loaded in zip(source.keyspace.databases[:2], fresh.databases, strict=True):
        assert loaded.store.values == db.store.values and loaded.store.expires == db.store.expires


@in_loop
async def test_a_file_is_loaded_into_one_table(tmp_path: Path) -> None:
    """However long the room takes: nothing is read meanwhile."""
    source = bare_node()
    db = source.keyspace.databases[0]
    for number in range(4 * MANY):
        db.put(b"key:%d" % number, b"v")
    path = tmp_path / "dump.rdb"
    path.write_bytes(b"".join(block for block, _ in job_of(source).blocks()))
    node = bare_node()
    await Files(node, Clock(), KeptLog().log).load(path, node.keyspace)
    loaded = node.keyspace.databases[0].store.values
    assert loaded == db.store.values and list(loaded) == list(db.store.values)
