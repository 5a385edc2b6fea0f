"""Room for keys: a table made elsewhere holds what the old one held, whatever happens between the steps.

In the plain form there is no room to be had, which must not do harm either.
"""

from __future__ import annotations

import gc
import random
import sys
import threading
from typing import Any

import pytest

from pyrepl.rdb.compiled.room import COMPILED, Growth, Room, filling, move_in, size_for

MANY = 60_000
"""Keys of a table that is large enough; it has room for 87,381."""
SIZE = 17
ROOM = (2 << SIZE) // 3

Table = dict[bytes, Any]


def table_of(count: int) -> Table:
    return {b"%d" % number: b"value%d" % number for number in range(count)}


def made(size: int, touches_entries: bool = True) -> Room:
    """As the node makes it: in a thread."""
    room = Room(size)
    thread = threading.Thread(target=room.make, args=(touches_entries,))
    thread.start()
    thread.join()
    return room


def grow(table: Table, size: int = SIZE + 1) -> bool:
    """All at once; has it grown?"""
    growth = Growth(table, made(size))
    growth.step(1 << 30)
    old = growth.finish()
    if old is not None:
        old.give_back()
    return old is not None


def works(table: Table, expected: Table) -> None:
    """Each way that CPython goes through a table."""
    assert list(table.items()) == list(expected.items())
    assert len(table) == len(expected) and table == expected
    for key, value in expected.items():
        assert table[key] is value
    assert table.get(b"nobody") is None and b"none" not in table
    for number in range(100):
        table[b"fresh%d" % number] = b""
    assert list(table)[-1] == b"fresh99"
    for number in range(100):
        del table[b"fresh%d" % number]
    assert table.copy() == expected


def test_sizes() -> None:
    assert size_for(0) == 0 and size_for((1 << 16) * 2 // 3) == 0
    assert size_for(1 << 40) == 0
    if COMPILED:
        assert size_for((1 << 16) * 2 // 3 + 1) == SIZE == size_for(ROOM)
        assert size_for(ROOM + 1) == SIZE + 1
    else:
        assert size_for(ROOM) == 0


def test_how_full_a_table_is() -> None:
    table = table_of(MANY)
    for number in range(10):
        del table[b"%d" % number]
    assert filling(table) == ((MANY, ROOM - MANY) if COMPILED else (0, 0))
    assert filling({}) == filling(table_of(1000)) == filling(dict(vars(sys))) == (0, 0)
    table.popitem()
    assert filling(table) == (0, 0)


def test_a_room_of_no_size_is_refused() -> None:
    for size in (0, 16, 29, 63):
        with pytest.raises(ValueError, match="not made here"):
            Room(size)


def test_a_room_that_nobody_wants_is_freed() -> None:
    for _ in range(50):
        Room(SIZE)
        made(SIZE)
        made(SIZE).give_back()


@pytest.mark.parametrize("touches_entries", [True, False])
def test_few_keys_move_in(touches_entries: bool) -> None:
    for count in (0, 1, 5, 6, 1000):
        table = table_of(count)
        expected = dict(table)
        before = id(table)
        move_in(table, made(SIZE, touches_entries))
        works(table, expected)
        assert id(table) == before
        assert (sys.getsizeof(table) > 24 * ROOM) == COMPILED
        room = sys.getsizeof(table)
        for number in range(MANY):
            table[b"more%d" % number] = b""
        assert (sys.getsizeof(table) == room) == COMPILED


def test_more_keys_than_there_is_room_for_stay() -> None:
    table = table_of(ROOM + 1)
    expected = dict(table)
    move_in(table, made(SIZE))
    works(table, expected)


def test_a_room_is_given_once() -> None:
    room = made(SIZE)
    one, two = table_of(5), table_of(7)
    move_in(one, room)
    move_in(two, room)
    assert one == table_of(5) and two == table_of(7)


def test_references_are_what_they_were() -> None:
    key, value = b"key of its own", b"value of its own"
    table = table_of(MANY)
    table[key] = value
    counts = sys.getrefcount(key), sys.getrefcount(value)
    assert grow(table) == COMPILED
    assert (sys.getrefcount(key), sys.getrefcount(value)) == counts
    few = {key: value}
    counts = sys.getrefcount(key), sys.getrefcount(value)
    move_in(few, made(SIZE))
    assert (sys.getrefcount(key), sys.getrefcount(value)) == counts
    table.clear()
    few.clear()
    gc.collect()
    assert (sys.getrefcount(key), sys.getrefcount(value)) == (counts[0] - 2, counts[1] - 2)


def test_twice_the_room_for_the_same_keys() -> None:
    table = table_of(MANY)
    expected = dict(table)
    before = id(table), sys.getsizeof(table)
    assert grow(table) == COMPILED
    works(table, expected)
    assert id(table) == before[0]
    assert (sys.getsizeof(table) > 1.9 * before[1]) == COMPILED
    assert grow(table, SIZE + 2) == COMPILED
    works(table, expected)


def test_what_keys_that_went_have_left_stays_behind() -> None:
    table = table_of(MANY)
    for number in range(0, MANY, 3):
        del table[b"%d" % number]
    expected = dict(table)
    assert grow(table, SIZE) == COMPILED
    assert filling(table) == ((len(table), ROOM - len(table)) if COMPILED else (0, 0))
    works(table, expected)


def change(rng: random.Random, tables: tuple[Table, Table], count: int) -> None:
    """Both alike."""
    for _ in range(count):
        key = b"%d" % rng.randrange(MANY + 2000)
        if rng.randrange(3):
            text = b"%d" % rng.getrandbits(60)
            for table in tables:
                table[key] = text
        else:
            for table in tables:
                table.pop(key, None)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_changes_between_the_steps(seed: int) -> None:
    rng = random.Random(seed)
    table = table_of(MANY)
    expected = dict(table)
    change(rng, (table, expected), 5000 * (seed % 2))
    growth = Growth(table, made(SIZE + 1))
    left = growth.step(1000)
    while left > 100:
        change(rng, (table, expected), 40)
        left = growth.step(rng.randrange(1, 2000))
    change(rng, (table, expected), 500)
    assert (growth.finish() is not None) == COMPILED
    works(table, expected)
    assert growth.finish() is None and growth.step(1) == -1


def test_a_key_that_went_and_came_back() -> None:
    table = table_of(MANY)
    growth = Growth(table, made(SIZE + 1))
    growth.step(MANY)
    for number in range(0, MANY, 7):
        table[b"%d" % number] = table.pop(b"%d" % number)
    expected = dict(table)
    growth.finish()
    works(table, expected)


@pytest.mark.parametrize("what", ["grew", "clear", "popitem", "all gone", "filled"])
@pytest.mark.parametrize("part", [0, 1000, MANY])
def test_it_comes_to_nothing(what: str, part: int) -> None:
    table = table_of(MANY)
    growth = Growth(table, made(SIZE + (what != "filled")))
    growth.step(part)
    if what == "grew":
        table.update(dict.fromkeys(range(ROOM), b""))  # type: ignore[arg-type]
    elif what == "filled":
        # There is a place for each of the entries, but for no more.
        for number in range(ROOM - MANY + 1):
            table[b"more%d" % number] = b""
    elif what == "clear":
        table.clear()
    elif what == "popitem":
        table.popitem()
        table[b"another"] = b""
    else:
        while table:
            table.popitem()
    expected = dict(table)
    assert growth.finish() is None
    assert growth.step(10) == -1
    works(table, expected)


def test_it_knows_its_table() -> None:
    table = table_of(MANY)
    growth = Growth(table, made(SIZE + 1))
    assert growth.is_of(table) and not growth.is_of(dict(table))


def test_a_table_that_is_gone_through_meanwhile_says_so_or_goes_on() -> None:
    """As with CPython's own growth: an iterator goes on by its place, and no count has changed."""
    table = table_of(MANY)
    going = iter(table.items())
    first = [next(going) for _ in range(1000)]
    grow(table)
    assert [*first, *going] == list(table.items())


def test_collections_as_values() -> None:
    table: Table = {b"%d" % number: [number] for number in range(MANY)}
    expected = dict(table)
    gc.collect()
    grow(table)
    gc.collect()
    works(table, expected)
