"""Asking for memory ahead: whatever the tables hold, nothing is changed and nothing comes out of it but the place."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from pyrepl.kernels import COMPILED, form
from pyrepl.rdb.compiled.places import asked_for
from pyrepl.store.prefetch import (
    WINDOW,
    draw_last,
    prefetch_commands,
    prefetch_members,
    prefetch_words,
)

MANY = 5000
"""Enough keys that the compiled form looks at the tables."""


def tables(count: int) -> tuple[dict[bytes, object], dict[bytes, int]]:
    values: dict[bytes, object] = {b"key:%d" % number: b"x" * 100 for number in range(count)}
    return values, dict.fromkeys(values, 1)


def gets(count: int) -> list[list[bytes]]:
    """Commands of which every other key exists."""
    return [[b"GET", b"key:%d" % (number if number % 2 else -number)] for number in range(count)]


@pytest.mark.parametrize("count", [0, 10, MANY, 70_000])
def test_nothing_is_changed(count: int) -> None:
    values, expires = tables(count)
    before = dict(values), dict(expires)
    commands = gets(100)
    place = 0
    while place < len(commands):
        following = prefetch_commands(values, expires, commands, place)
        assert place < following <= len(commands)
        place = following
    prefetch_words(values, expires, [word for argv in commands for word in argv], 1, 2)
    assert (values, expires) == before


@pytest.mark.parametrize("count", [MANY, 70_000])
def test_keys_are_asked_for_in_small_and_large_tables(count: int) -> None:
    """Indices of two bytes, and of four. A search that takes too long is given up, so nearly all."""
    values, _ = tables(count)
    before = asked_for()
    prefetch_words(values, {}, [b"key:%d" % number for number in range(WINDOW)], 0, 1)
    found = asked_for() - before
    assert WINDOW // 2 < found <= WINDOW if form() == COMPILED else found == 0


def test_whatever_a_command_may_look_like() -> None:
    values, expires = tables(MANY)
    commands = [[b"PING"], [b"ECHO", b""], [b"ECHO", b"x" * 100_000], [b"MSET", *(b"key:1", b"v") * 500]]
    assert prefetch_commands(values, expires, commands, 0) == len(commands)
    assert prefetch_commands(values, expires, commands, len(commands)) == len(commands)
    prefetch_words(values, expires, commands[3], 1, 2)
    prefetch_words(values, expires, [], 1, 2)


@pytest.mark.parametrize("make", [dict[bytes, object], lambda: dict.fromkeys(map(str, range(MANY)))])
def test_tables_of_another_kind(make: Callable[[], dict[bytes, object]]) -> None:
    """An empty dictionary, or one whose keys were all text, has another layout."""
    prefetch_commands(make(), {}, gets(WINDOW), 0)


def test_a_table_full_of_holes() -> None:
    values, expires = tables(2 * MANY)
    for number in range(0, 2 * MANY, 2):
        del values[b"key:%d" % number]
    prefetch_commands(values, expires, gets(WINDOW), 0)
    assert len(values) == MANY


def test_no_reference_is_taken() -> None:
    values, expires = tables(MANY)
    key = next(iter(values))
    commands = [[b"GET", key]] * WINDOW
    counts = sys.getrefcount(key), sys.getrefcount(values[key])
    prefetch_commands(values, expires, commands, 0)
    prefetch_words(values, expires, [key] * (2 * WINDOW), 0, 1)
    order = list(values)
    members = set(order)
    prefetch_members(members, order, 0)
    prefetch_members(members, order, MANY)
    del order, members
    assert (sys.getrefcount(key), sys.getrefcount(values[key])) == counts


def test_the_last_ones_are_drawn() -> None:
    order = [b"a", b"b", b"c", b"d", b"e"]
    asked: list[int] = []

    def first(below: int) -> int:
        asked.append(below)
        return 0

    draw_last(order, 3, first)
    assert asked == [5, 4, 3]
    assert order[4] == b"a" and order[3] == b"e" and order[2] == b"d" and sorted(order[:2]) == [b"b", b"c"]


def test_drawing_keeps_every_reference() -> None:
    order = [bytes([65 + number]) * 50 for number in range(20)]
    before = sum(map(sys.getrefcount, order))
    draw_last(order, 20, lambda n: n // 2)
    draw_last(order, 0, lambda n: 0)
    assert sum(map(sys.getrefcount, order)) == before


@pytest.mark.parametrize("slot", [-1, 10, 11])
def test_a_draw_that_is_out_of_range(slot: int) -> None:
    order = [b"%d" % number for number in range(10)]
    with pytest.raises(ValueError, match="below 10"):
        draw_last(order, 1, lambda n: slot)
    assert order == [b"%d" % number for number in range(10)]
