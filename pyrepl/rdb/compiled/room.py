# cython: language_level=3, boundscheck=False, wraparound=False
"""Tables for large dictionaries, made in parts beside the node's work, so that no client waits while a database grows.

CPython moves a dictionary that is full into a larger table in one go: it touches the memory of the new table for the
first time, page after page, and puts every key in its place. That takes 20 ms for 350,000 keys and 80 ms for 1.4
million, in which the node serves nobody. Here the same is done in parts:

| part | where | how long |
|---|---|---|
| `Room(size)`, memory that nobody has touched | the node's thread | at once |
| `Room.make`: an empty table in it, all or its index touched | any thread, without a lock | as memory is touched |
| `Growth.step`: where each key belongs in it | the node's thread | as many keys as is asked for |
| `Growth.finish`: the keys and values are copied, and the tables exchanged | the node's thread | 4 ns a key |
| `Room.give_back`: the pages of the old table | any thread | as it takes |

Until `finish` the dictionary is as it was. After `finish` it is as if CPython had let it grow at that moment: it is the
same object, its keys come in the same order, and no reference count has changed. `step` only reads the old table, and
of that only the hashes, which never change while a key is there. Keys that were added, removed or changed between the
steps are no problem, since `finish` copies the whole old table as it then is. `finish` does nothing in two cases:
CPython has given the dictionary another table meanwhile, or an entry was used again for another key, which only
`popitem` causes.

The module must know how CPython lays a table out. All versions that `pyrepl.layout` accepts do it in this way
(`Objects/dictobject.c`, `pycore_dict.h`):

    8 bytes  references, 1
    1        binary logarithm of the number of slots        SIZE_AT
    1        binary logarithm of the bytes of all slots     BYTES_AT
    1        kind, 0: any keys                              KIND_AT
    4        version, 0 after each change (at 12)
    8        entries that there is room for still           LEFT_AT
    8        entries that were made                         COUNT_AT
    slots    an entry's number each, or EMPTY, or DUMMY; of 4 bytes from 2**16 slots on
    entries  hash, key, value of each; two thirds as many as there are slots

This layout is tried out on a small dictionary, and `Growth` checks it on the dictionary that is to grow. With another
layout, and in the plain form, `size_for` answers 0 and dictionaries grow as CPython lets them.
"""

from __future__ import annotations

import sys

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.stdint import uintptr_t
    from cython.cimports.libc.string import memcpy, memset
    from cython.cimports.pyrepl.rdb.compiled.raw import DictObject, fetch
    from cython.cimports.pyrepl.rdb.compiled.room import (
        MADV_DONTNEED,
        free_memory,
        free_object,
        madvise,
        take_memory,
        take_object,
    )

    HEAD_BYTES = cython.declare(cython.Py_ssize_t, 32)
    SIZE_AT = cython.declare(cython.int, 8)
    BYTES_AT = cython.declare(cython.int, 9)
    KIND_AT = cython.declare(cython.int, 10)
    LEFT_AT = cython.declare(cython.int, 16)
    COUNT_AT = cython.declare(cython.int, 24)
    EMPTY = cython.declare(cython.int, -1)
    DUMMY = cython.declare(cython.int, -2)
    PAGE = cython.declare(cython.size_t, 4096)
    AHEAD = cython.declare(cython.Py_ssize_t, 16)
    TRIED = cython.declare(cython.int, 5)
    """Keys of a dictionary of eight slots, which is full then."""
    TRIED_SIZE = cython.declare(cython.int, 3)
    SAMPLE = cython.declare(cython.Py_ssize_t, 255)
    """Of each 256 keys of a table one is looked up, to see whether it is where the layout says. A mask of an index."""

    Entry = cython.struct(hash=cython.Py_ssize_t, key=cython.p_void, value=cython.p_void)

    _is_memory = cython.declare(cython.bint, sys.version_info >= (3, 13))
    """Do tables come from the domain of memory (3.13), and not from that of objects?"""
    _is_tried = cython.declare(cython.bint, False)
    _is_known = cython.declare(cython.bint, False)

COMPILED = cython.compiled
LEAST_SIZE = 17
"""The binary logarithm of the slots of the smallest table made here, which has room for 87,381 keys; CPython lets
smaller ones grow within 3 ms."""
MOST_SIZE = 28


if cython.compiled:

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _entries_of(size: cython.int) -> cython.Py_ssize_t:
        """For how many keys a table of 2**size slots has room."""
        return (cython.cast(cython.Py_ssize_t, 2) << size) // 3

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _bytes_of(size: cython.int) -> cython.size_t:
        """The bytes of a whole table of 2**size slots of four bytes each."""
        entries: cython.size_t = _entries_of(size)
        return HEAD_BYTES + (cython.cast(cython.size_t, 4) << size) + entries * cython.sizeof(Entry)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _number_at(keys: cython.p_uchar, at: cython.int) -> cython.Py_ssize_t:
        return cython.cast(cython.pointer[cython.Py_ssize_t], keys + at)[0]

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _set_number_at(keys: cython.p_uchar, at: cython.int, number: cython.Py_ssize_t) -> cython.void:
        cython.cast(cython.pointer[cython.Py_ssize_t], keys + at)[0] = number

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _slots_in(keys: cython.p_uchar) -> cython.pointer[cython.int]:
        return cython.cast(cython.pointer[cython.int], keys + HEAD_BYTES)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _entries_in(keys: cython.p_uchar) -> cython.pointer[Entry]:
        return cython.cast(cython.pointer[Entry], keys + HEAD_BYTES + (cython.cast(cython.size_t, 1) << keys[BYTES_AT]))

    @cython.cfunc
    @cython.exceptval(check=False)
    def _take_keys(size: cython.size_t) -> cython.p_void:
        return take_memory(size) if _is_memory else take_object(size)

    @cython.cfunc
    @cython.exceptval(check=False)
    def _free_keys(keys: cython.p_void) -> cython.void:
        if _is_memory:
            free_memory(keys)
        else:
            free_object(keys)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _keys_of(table: object) -> cython.p_uchar:
        return cython.cast(cython.p_uchar, cython.cast(cython.pointer[DictObject], table).ma_keys)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _slot_of(keys: cython.p_uchar, hashed: cython.Py_ssize_t, number: cython.int) -> cython.Py_ssize_t:
        """The first slot that holds `number`, in the order in which a hash is looked up; -1 if an empty slot comes
        before.

        For tables with slots of four bytes.
        """
        slots: cython.pointer[cython.int] = _slots_in(keys)
        mask: cython.size_t = (cython.cast(cython.size_t, 1) << keys[SIZE_AT]) - 1
        rest: cython.size_t = cython.cast(cython.size_t, hashed)
        slot: cython.size_t = rest & mask
        while slots[slot] != number:
            if slots[slot] == EMPTY:
                return -1
            rest >>= 5
            slot = (slot * 5 + rest + 1) & mask
        return slot

    @cython.cfunc
    @cython.exceptval(check=False)
    def _is_whole(table: object) -> cython.bint:
        """Do the fields of the table's head agree with each other, and with the size that CPython reports?"""
        keys: cython.p_uchar = _keys_of(table)
        size: cython.int = keys[SIZE_AT]
        entries: cython.Py_ssize_t = _entries_of(size) if size < 62 else 0
        count: cython.Py_ssize_t = _number_at(keys, COUNT_AT)
        left: cython.Py_ssize_t = _number_at(keys, LEFT_AT)
        used: cython.Py_ssize_t = cython.cast(cython.pointer[DictObject], table).ma_used
        return (
            _number_at(keys, 0) == 1
            and keys[KIND_AT] == 0
            and 0 <= left
            and 0 <= used <= count
            # Less after a `popitem`: what an entry was made for may be another key now.
            and count + left == entries
        )


def _try_layout() -> bool:
    """Is a small dictionary laid out as the module's docstring says? Tried once, then remembered."""
    if cython.compiled:
        global _is_tried, _is_known
        if _is_tried:
            return _is_known
        _is_tried = True
        tried: dict = {b"%d" % number: number for number in range(TRIED)}
        keys: cython.p_uchar = _keys_of(tried)
        if not _is_whole(tried) or keys[SIZE_AT] != TRIED_SIZE or keys[BYTES_AT] != TRIED_SIZE:
            return False
        if _number_at(keys, COUNT_AT) != TRIED or _number_at(keys, LEFT_AT) != 0:
            return False
        whole: cython.Py_ssize_t = HEAD_BYTES + (1 << TRIED_SIZE) + TRIED * cython.sizeof(Entry)
        if tried.__sizeof__() != dict.__basicsize__ + whole:
            return False
        entries: cython.pointer[Entry] = _entries_in(keys)
        index: cython.int = 0
        for key in tried:
            value: object = tried[key]
            if (
                entries[index].key != cython.cast(cython.p_void, key)
                or entries[index].value != cython.cast(cython.p_void, value)
                or entries[index].hash != hash(key)
            ):
                return False
            index += 1
        _is_known = True
        return True
    return False


def size_for(count: int) -> int:
    """The binary logarithm of the slots of the smallest table with room for `count` keys; 0 if no such table is made
    here: it is too small, too large, or the layout is not known."""
    if cython.compiled:
        size: cython.int = LEAST_SIZE
        if count <= _entries_of(LEAST_SIZE - 1) or not _try_layout():
            return 0
        while size <= MOST_SIZE:
            if _entries_of(size) >= count:
                return size
            size += 1
    return 0


def filling(table: dict) -> tuple[int, int]:
    """(entries made, entries that there is room for still) of the table of a large dictionary; (0, 0) for any other.

    CPython makes an entry for each new key, and reclaims the entries of removed keys only when it makes a new table.
    """
    if cython.compiled:
        if _try_layout() and len(table) >= _entries_of(LEAST_SIZE - 1) // 2 and _is_whole(table):
            keys: cython.p_uchar = _keys_of(table)
            if keys[SIZE_AT] >= LEAST_SIZE - 1:
                return _number_at(keys, COUNT_AT), _number_at(keys, LEFT_AT)
    return 0, 0


@cython.final
@cython.cclass
class Room:
    """The memory of one table that no dictionary uses. Freed with the object.

    Any thread may call `make` and `give_back`, but one at a time.
    """

    _keys: cython.p_uchar
    _size: cython.int

    def __init__(self, size: int) -> None:
        """A room for 2**size slots; `size` as `size_for` gives it, 17 to 28, else ValueError. Raises MemoryError."""
        if not LEAST_SIZE <= size <= MOST_SIZE:
            raise ValueError(f"a table of 2**{size} slots is not made here")
        if cython.compiled:
            self._size = size
            self._keys = cython.cast(cython.p_uchar, _take_keys(_bytes_of(self._size)))
            if self._keys is cython.NULL:
                raise MemoryError

    def __dealloc__(self) -> None:
        if cython.compiled:
            if self._keys is not cython.NULL:
                _free_keys(self._keys)

    def make(self, touches_entries: bool = True) -> None:
        """Write an empty table into the room. Then every page has been touched or, without `touches_entries`, only
        those before the entries."""
        if cython.compiled:
            keys: cython.p_uchar = self._keys
            size: cython.int = self._size
            if keys is cython.NULL:
                return
            slots_bytes: cython.size_t = cython.cast(cython.size_t, 4) << size
            touched: cython.size_t = _bytes_of(size) - HEAD_BYTES - slots_bytes if touches_entries else 0
            with cython.nogil:
                memset(keys, 0, HEAD_BYTES)
                _set_number_at(keys, 0, 1)
                keys[SIZE_AT] = size
                keys[BYTES_AT] = size + 2
                _set_number_at(keys, LEFT_AT, _entries_of(size))
                memset(keys + HEAD_BYTES, 0xFF, slots_bytes)
                memset(keys + HEAD_BYTES + slots_bytes, 0, touched)

    def give_back(self) -> None:
        """Give the room's pages back to the system, so that freeing it later takes no time. The room is of no use
        then."""
        if cython.compiled:
            if self._keys is cython.NULL:
                return
            first: uintptr_t = (cython.cast(uintptr_t, self._keys) + 2 * PAGE) & ~(PAGE - 1)
            end: uintptr_t = (cython.cast(uintptr_t, self._keys) + _bytes_of(self._size) - PAGE) & ~(PAGE - 1)
            with cython.nogil:
                madvise(cython.cast(cython.p_void, first), end - first, MADV_DONTNEED)


def move_in(table: dict, room: Room) -> None:
    """Move a dictionary, which has few keys yet, into a room that was made. Where that is not possible nothing happens:
    the dictionary only grows later, as CPython lets it."""
    if cython.compiled:
        before: dict = {b"": None}
        del before[b""]
        if room._keys is cython.NULL or not _is_whole(before) or len(table) >= _entries_of(room._size):
            return
        small: cython.p_uchar = _keys_of(before)
        cython.cast(cython.pointer[DictObject], before).ma_keys = cython.cast(cython.p_void, room._keys)
        room._keys = cython.NULL
        _free_keys(small)
        for key, value in table.items():
            before[key] = value
        # Now it is the other way round: `before` gets what the dictionary had.
        _exchange(table, before)


@cython.cfunc
@cython.exceptval(check=False)
def _exchange(table: dict, other: dict) -> cython.void:
    """Exchange the tables of two dictionaries with the same keys."""
    one: cython.pointer[DictObject] = cython.cast(cython.pointer[DictObject], table)
    two: cython.pointer[DictObject] = cython.cast(cython.pointer[DictObject], other)
    one.ma_keys, two.ma_keys = two.ma_keys, one.ma_keys


@cython.final
@cython.cclass
class Growth:
    """Moves one large dictionary into a larger room that was made, step by step.

    Invariant: as long as the dictionary has the same table, its first `_place` entries are dealt with. `_count` of them
    held a key: each has a slot in the room and an entry there, with its hash and, in place of the key, the number of
    its entry in the old table.
    """

    _table: dict
    _room: Room
    _old: cython.p_uchar
    _place: cython.Py_ssize_t
    _count: cython.Py_ssize_t

    def __init__(self, table: dict, room: Room) -> None:
        """`filling` must have answered other than (0, 0) for `table`."""
        self._table = table
        self._room = room
        if cython.compiled:
            self._old = _keys_of(table)
            self._place = 0
            self._count = 0

    def is_of(self, table: dict) -> bool:
        """Is it this dictionary that grows?"""
        return self._table is table

    def step(self, count: cython.Py_ssize_t) -> int:
        """Find slots for the next `count` entries; returns how many entries are left after them, -1 if the growth has
        failed and the dictionary must grow as CPython lets it."""
        if cython.compiled:
            old: cython.p_uchar = self._old
            if not self._is_same() or not self._seek(min(self._place + count, _number_at(old, COUNT_AT))):
                self._old = cython.NULL
                return -1
            return _number_at(old, COUNT_AT) - self._place
        return -1

    def finish(self) -> Room | None:
        """Copy all keys and values, and exchange the tables; returns the old table, None if the growth has failed.

        Call it when `step` has left few entries: it finds slots for the rest itself, and the node waits for it.
        """
        if cython.compiled:
            if not self._is_same() or not self._seek(_number_at(self._old, COUNT_AT)) or not self._copy():
                self._old = cython.NULL
                return None
            new: cython.p_uchar = self._room._keys
            _set_number_at(new, COUNT_AT, self._count)
            _set_number_at(new, LEFT_AT, _entries_of(new[SIZE_AT]) - self._count)
            left: Room = Room.__new__(Room)
            left._keys = self._old
            left._size = self._old[SIZE_AT]
            cython.cast(cython.pointer[DictObject], self._table).ma_keys = cython.cast(cython.p_void, new)
            self._room._keys = cython.NULL
            self._old = cython.NULL
            return left
        return None

    @cython.cfunc
    @cython.exceptval(check=False)
    def _is_same(self) -> cython.bint:
        """Is the dictionary's table still the one that the growth began with, with no fewer entries than were seen?"""
        old: cython.p_uchar = self._old
        return (
            old is not cython.NULL
            and self._room._keys is not cython.NULL
            and _keys_of(self._table) is old
            and _is_whole(self._table)
            and old[BYTES_AT] - old[SIZE_AT] == 2
            and _number_at(old, COUNT_AT) >= self._place
        )

    @cython.cfunc
    @cython.exceptval(check=False)
    def _seek(self, end: cython.Py_ssize_t) -> cython.bint:
        """Find slots for the entries up to `end`; False if the room is too small, or if a sampled key is not where the
        layout says."""
        old: cython.p_uchar = self._old
        new: cython.p_uchar = self._room._keys
        entries: cython.pointer[Entry] = _entries_in(old)
        places: cython.pointer[Entry] = _entries_in(new)
        slots: cython.pointer[cython.int] = _slots_in(new)
        mask: cython.size_t = (cython.cast(cython.size_t, 1) << new[SIZE_AT]) - 1
        room: cython.Py_ssize_t = _entries_of(new[SIZE_AT])
        index: cython.Py_ssize_t = self._place
        count: cython.Py_ssize_t = self._count
        while index < end:
            if index + AHEAD < end:
                fetch(cython.cast(cython.p_void, slots + (entries[index + AHEAD].hash & mask)))
            if entries[index].key is not cython.NULL:
                if count == room or (index & SAMPLE == 0 and _slot_of(old, entries[index].hash, index) < 0):
                    return False
                slots[_slot_of(new, entries[index].hash, EMPTY)] = count
                places[count].hash = entries[index].hash
                places[count].key = cython.cast(cython.p_void, index)
                count += 1
            index += 1
        self._place = end
        self._count = count
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def _copy(self) -> cython.bint:
        """Copy all entries with their keys and values, as they are now; False if their hashes are not those seen."""
        entries: cython.pointer[Entry] = _entries_in(self._old)
        places: cython.pointer[Entry] = _entries_in(self._room._keys)
        count: cython.Py_ssize_t = self._count
        used: cython.Py_ssize_t = 0
        index: cython.Py_ssize_t
        if count == self._place and count == cython.cast(cython.pointer[DictObject], self._table).ma_used:
            # None has gone. Were it another table, in the place of the one that was seen, its hashes would be others.
            for index in range(count):
                if entries[index].hash != places[index].hash:
                    return False
            memcpy(places, entries, count * cython.sizeof(Entry))
            return True
        entry: cython.pointer[Entry]
        for index in range(count):
            entry = entries + cython.cast(cython.Py_ssize_t, places[index].key)
            if entry.key is cython.NULL:
                _slots_in(self._room._keys)[_slot_of(self._room._keys, places[index].hash, index)] = DUMMY
                places[index].hash = 0
            elif entry.hash != places[index].hash:
                return False
            else:
                used += 1
            places[index].key = entry.key
            places[index].value = entry.value
        return used == cython.cast(cython.pointer[DictObject], self._table).ma_used
