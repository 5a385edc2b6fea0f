# cython: language_level=3, boundscheck=False, wraparound=False
"""Asks for the memory of keys before they are looked up, so that the misses of a whole batch overlap. Hot.

Theory: in a table of a million keys each step of a lookup (slot, entry, key, value) waits for memory, about as long as
all the rest of a GET takes, and no step can begin before the one before it. The processor fetches a dozen lines at the
same time if it is told which. So the keys of a batch go through each step together: what one step needs was asked for
while the others' was. Redis 8 does so between its threads (`prefetch-batch-max-size`).

Compiled by Cython; as it is written it does nothing, and what it does changes no result anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.keyspace.prefetch import Place, Search, SetObject, hash_of
    from cython.cimports.pyrepl.rdb.compiled.raw import (
        BYTES,
        DictObject,
        Ref,
        fetch,
        item_of,
        items_of,
        size_of,
        type_of,
    )

    _ROOM = cython.declare(cython.Py_ssize_t, 32)
    _LEAST_KEYS = cython.declare(cython.Py_ssize_t, 2048)
    """A smaller table is in the cache."""
    _MOST_KEY_BYTES = cython.declare(cython.Py_ssize_t, 512)
    """A longer key is left alone: to hash it is work."""
    _MOST_PROBES = cython.declare(cython.int, 4)
    """Slots looked at for one hash; nearly all keys are found in fewer."""
    _LINE = cython.declare(cython.Py_ssize_t, 64)

    # A dictionary's table of keys, CPython 3.11 to 3.14 (Objects/dictobject.c): the binary logarithm of how many slots
    # it has, behind it that of their bytes, and its kind; then the slots, an index each; then the entries: hash, key,
    # value. Nothing is compared for a result or written, so a wrong guess costs time alone.
    _SIZE_AT = cython.declare(cython.int, 8)
    _BYTES_AT = cython.declare(cython.int, 9)
    _KIND_AT = cython.declare(cython.int, 10)
    _SLOTS_AT = cython.declare(cython.int, 32)
    _ENTRY_BYTES = cython.declare(cython.Py_ssize_t, 24)
    _MEMBER_BYTES = cython.declare(cython.Py_ssize_t, 16)
    """Of a place in a set: member and hash."""
    _is_known = cython.declare(cython.bint, (3, 11) <= sys.version_info[:2] <= (3, 14) and "t" not in sys.abiflags)
    _asked = cython.declare(cython.Py_ssize_t, 0)
    """Read by `asked_for`: what nobody could read the compiler would leave out, and the asking with it."""

WINDOW = 32
"""Keys asked for at once: what is asked for too early is gone from the cache again."""


def prefetch_commands(
    values: dict[bytes, Any], expires: dict[bytes, int], commands: list[list[bytes]], start: int
) -> int:
    """Ask for the first keys of the next commands from `start` on; before which command to ask again.

    What is no key (`CLIENT LIST`) is asked for in vain.
    """
    if cython.compiled:
        if len(values) < _LEAST_KEYS:
            return len(commands)
        index: cython.Py_ssize_t = start
        end: cython.Py_ssize_t = min(index + _ROOM, len(commands))
        search: Search
        search.count = 0
        argv: list
        while index < end:
            argv = commands[index]
            if len(argv) > 1:
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
        while index < len(words) and search.count < _ROOM:
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
        end: cython.Py_ssize_t = min(first + _ROOM, len(order))
        index: cython.Py_ssize_t
        member: object
        for index in range(first, end):
            fetch(item_of(order, index))
        table: cython.pointer[SetObject] = cython.cast(cython.pointer[SetObject], members)
        places: cython.p_char = cython.cast(cython.p_char, table.table)
        for index in range(first, end):
            member = order[index]
            fetch(places + (hash_of(cython.cast(cython.pointer[Ref], member)) & table.mask) * _MEMBER_BYTES)


def asked_for() -> int:
    """Keys whose memory was asked for and found so far; 0 in the plain form and in a CPython that is not known."""
    if cython.compiled:
        return _asked
    return 0


if cython.compiled:

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
            _find(cython.address(timed), cython.cast(cython.pointer[Ref], expires))
        _find(search, cython.cast(cython.pointer[Ref], values))
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _slot(keys: cython.p_uchar, slot: cython.size_t) -> cython.p_uchar:
        return keys + _SLOTS_AT + (slot << (keys[_BYTES_AT] - keys[_SIZE_AT]))

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _index(keys: cython.p_uchar, slot: cython.size_t) -> cython.Py_ssize_t:
        """Which entry a slot leads to; -1: it is empty, -2: somebody has left it. Indices have 2 or 4 bytes."""
        at: cython.p_uchar = _slot(keys, slot)
        if keys[_BYTES_AT] - keys[_SIZE_AT] == 1:
            return cython.cast(cython.pointer[cython.short], at)[0]
        return cython.cast(cython.pointer[cython.int], at)[0]

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _entry(keys: cython.p_uchar, index: cython.Py_ssize_t) -> cython.p_uchar:
        return keys + _SLOTS_AT + (cython.cast(cython.size_t, 1) << keys[_BYTES_AT]) + index * _ENTRY_BYTES

    @cython.cfunc
    @cython.exceptval(check=False)
    def _find(search: cython.pointer[Search], table: cython.pointer[Ref]) -> cython.void:
        """Go the way of all hashes through the table side by side."""
        global _asked
        keys: cython.p_uchar = cython.cast(cython.p_uchar, cython.cast(cython.pointer[DictObject], table).ma_keys)
        if not _is_known or keys[_KIND_AT] != 0 or not 1 <= keys[_BYTES_AT] - keys[_SIZE_AT] <= 2:
            return
        mask: cython.size_t = (cython.cast(cython.size_t, 1) << keys[_SIZE_AT]) - 1
        index: cython.Py_ssize_t
        place: cython.pointer[Place]
        _asked += search.count
        for index in range(search.count):
            place = cython.address(search.places[index])
            place.perturb = cython.cast(cython.size_t, place.hash)
            place.slot = place.perturb & mask
            fetch(_slot(keys, place.slot))
        probes: cython.int = 0
        while search.count and probes < _MOST_PROBES:
            _ask_entries(search, keys)
            _ask_objects(search, keys, mask)
            probes += 1
        # What is left counts, so that nothing above is without effect.
        _asked -= search.count

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _ask_entries(search: cython.pointer[Search], keys: cython.p_uchar) -> cython.void:
        """From slots to entries; who meets an empty slot is not there and leaves."""
        index: cython.Py_ssize_t
        left: cython.Py_ssize_t = 0
        for index in range(search.count):
            found: cython.Py_ssize_t = _index(keys, search.places[index].slot)
            if found == -1:
                continue
            search.places[left] = search.places[index]
            search.places[left].index = found
            left += 1
            if found >= 0:
                entry: cython.p_uchar = _entry(keys, found)
                fetch(entry)
                fetch(entry + (_ENTRY_BYTES - 1))
        search.count = left

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _ask_objects(search: cython.pointer[Search], keys: cython.p_uchar, mask: cython.size_t) -> cython.void:
        """From entries to keys and values, their heads and what follows as a rule; another's entry leads to a slot."""
        index: cython.Py_ssize_t
        left: cython.Py_ssize_t = 0
        for index in range(search.count):
            place: cython.pointer[Place] = cython.address(search.places[index])
            words: cython.pointer[cython.Py_ssize_t] = cython.cast(
                cython.pointer[cython.Py_ssize_t], _entry(keys, place.index if place.index > 0 else 0)
            )
            if place.index >= 0 and words[0] == place.hash:
                fetch(cython.cast(cython.p_void, words[1]))
                fetch(cython.cast(cython.p_void, words[2]))
                fetch(cython.cast(cython.p_void, words[2] + _LINE))
                continue
            place.perturb >>= 5
            place.slot = (place.slot * 5 + place.perturb + 1) & mask
            fetch(_slot(keys, place.slot))
            search.places[left] = place[0]
            left += 1
        search.count = left
