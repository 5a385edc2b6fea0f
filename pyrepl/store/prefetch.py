"""Asks for the memory of keys before they are looked up, so that the waits for memory of a whole batch overlap. Hot.

This module chooses the keys; `rdb.compiled.places` goes through a table ahead, and says why that pays. Redis 8 does the
same between its threads (`prefetch-batch-max-size`).

Compiled by Cython. Uncompiled, nothing is asked for; the results of commands are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.places import AT_ONCE, Search, look_ahead
    from cython.cimports.pyrepl.rdb.compiled.raw import (
        BYTES,
        Ref,
        fetch,
        item_of,
        items_of,
        size_of,
        text_of,
        type_of,
    )
    from cython.cimports.pyrepl.store.prefetch import SetObject, hash_of

    _LEAST_KEYS = cython.declare(cython.Py_ssize_t, 2048)
    """Tables with fewer keys are not prefetched: they are in the processor's cache."""
    _MOST_KEY_BYTES = cython.declare(cython.Py_ssize_t, 512)
    """Longer keys are not prefetched: hashing them takes too long."""
    _MEMBER_BYTES = cython.declare(cython.Py_ssize_t, 16)
    """The bytes of one place in a set: member and hash."""

WINDOW = 32
"""How many keys are asked for at once. With more, the first would have left the cache again before they are used."""


def prefetch_commands(
    values: dict[bytes, Any], expires: dict[bytes, int], commands: list[list[bytes]], start: int
) -> int:
    """Ask for the first keys of the next commands from `start` on. Returns the index of the command before which to ask
    again.

    The first argument is taken for a key, of scripts and functions the third; where it is none (`CLIENT LIST`), asking
    does no harm.
    """
    if cython.compiled:
        if len(values) < _LEAST_KEYS:
            return len(commands)
        index: cython.Py_ssize_t = start
        end: cython.Py_ssize_t = min(index + AT_ONCE, len(commands))
        search: Search
        search.count = 0
        argv: list
        while index < end:
            argv = commands[index]
            if len(argv) > 3 and _is_script(item_of(argv, 0)):
                _add(cython.address(search), argv[3])
            elif len(argv) > 1:
                _add(cython.address(search), argv[1])
            index += 1
        _look_ahead(cython.address(search), values, expires)
        return end
    return len(commands)


def prefetch_words(
    values: dict[bytes, Any], expires: dict[bytes, int], words: list[bytes], start: int, step: int
) -> None:
    """Ask for the keys `words[start::step]`, WINDOW of them at most."""
    if cython.compiled:
        if len(values) < _LEAST_KEYS:
            return
        index: cython.Py_ssize_t = start
        stride: cython.Py_ssize_t = step
        search: Search
        search.count = 0
        while index < len(words) and search.count < AT_ONCE:
            _add(cython.address(search), words[index])
            index += stride
        _look_ahead(cython.address(search), values, expires)


def draw_last(order: list[bytes], count: int, below: Callable[[int], int]) -> None:
    """Let the last `count` members be random ones, by the first steps of a Fisher-Yates shuffle from the end.

    Compiled, the members themselves are not touched. Raises ValueError when `below(n)` is not in [0, n).
    """
    place: cython.Py_ssize_t = len(order)
    end: cython.Py_ssize_t = place - count
    slot: cython.Py_ssize_t
    while place > end:
        slot = below(place)
        place -= 1
        if slot < 0 or slot > place or place >= len(order):
            raise ValueError(f"a draw below {place + 1} gave {slot}")
        if cython.compiled:
            items: cython.pointer[cython.pointer[Ref]] = items_of(order)
            items[place], items[slot] = items[slot], items[place]
        else:
            order[place], order[slot] = order[slot], order[place]


def prefetch_members(members: set[bytes], order: list[bytes], start: int) -> None:
    """Ask for the members `order[start:]`, WINDOW of them at most, and for their places in the set."""
    if cython.compiled:
        if len(members) < _LEAST_KEYS:
            return
        first: cython.Py_ssize_t = start
        end: cython.Py_ssize_t = min(first + AT_ONCE, len(order))
        index: cython.Py_ssize_t
        member: object
        for index in range(first, end):
            fetch(item_of(order, index))
        table: cython.pointer[SetObject] = cython.cast(cython.pointer[SetObject], members)
        places: cython.p_char = cython.cast(cython.p_char, table.table)
        for index in range(first, end):
            member = order[index]
            fetch(places + (hash_of(cython.cast(cython.pointer[Ref], member)) & table.mask) * _MEMBER_BYTES)


if cython.compiled:

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _is_script(name: cython.pointer[Ref]) -> cython.bint:
        """Is this EVAL, EVALSHA or FCALL, or one of those with _RO? No other command begins with EV or FC."""
        if type_of(name) is not cython.address(BYTES) or size_of(name) < 4:
            return False
        text: cython.pointer[cython.uchar] = text_of(name)
        first: cython.int = text[0] | 0x20
        second: cython.int = text[1] | 0x20
        return (first == 0x65 and second == 0x76) or (first == 0x66 and second == 0x63)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(-1)
    def _add(search: cython.pointer[Search], word: object) -> cython.int:
        key: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], word)
        if type_of(key) is cython.address(BYTES) and size_of(key) <= _MOST_KEY_BYTES:
            search.places[search.count].hash = hash_of(key)
            search.count += 1
        return 0

    @cython.cfunc
    def _look_ahead(search: cython.pointer[Search], values: dict, expires: dict) -> cython.int:
        timed: Search
        if len(expires) >= _LEAST_KEYS:
            timed = search[0]
            look_ahead(cython.address(timed), cython.cast(cython.pointer[Ref], expires))
        look_ahead(search, cython.cast(cython.pointer[Ref], values))
        return 0
