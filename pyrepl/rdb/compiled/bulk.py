"""Runs of keys decoded at once, as C: strings and packed collections out of a buffer, straight into a dictionary.

The plain form is `pyrepl.rdb.plain_bulk`. What is taken here is only what is complete, in order, and as Redis writes
it; at anything else the run ends, before the key at which it was met. `RdbReader`, which decodes any key, one at a
time, goes on from there and has the words for what is wrong.

A packed collection is checked as its decoder would check it (`checks`) and then kept as it is: an instance of the
`bytes` class that the caller names for its RDB type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl.rdb import opcodes
from pyrepl.rdb.types import list as lists
from pyrepl.rdb.types import string as strings

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.string import memcpy
    from cython.cimports.pyrepl.rdb.compiled.checks import Checks, put_decimal, signed_of
    from cython.cimports.pyrepl.rdb.compiled.lzf import decompress_into
    from cython.cimports.pyrepl.rdb.compiled.places import AT_ONCE, ask_for_place, ask_for_rival
    from cython.cimports.pyrepl.rdb.compiled.raw import (
        BytesObject,
        DictObject,
        Ref,
        Type,
        dict_set,
        dict_set_default,
        error_at_work,
        hash_of,
        new_bytes,
        new_instance,
        new_int,
        release,
        size_of,
        text_of,
        untrack,
    )
    from cython.cimports.pyrepl.rdb.compiled.table import Found, Handful, foresee

    EXPIRETIME_MS = cython.declare(cython.int, opcodes.EXPIRETIME_MS.number)
    IDLE = cython.declare(cython.int, opcodes.IDLE.number)
    FREQ = cython.declare(cython.int, opcodes.FREQ.number)
    STRING = cython.declare(cython.int, strings.STRING)
    LIST_QUICKLIST2 = cython.declare(cython.int, lists.LIST_QUICKLIST2)

if TYPE_CHECKING:
    from pyrepl.rdb.events import Noted

COMPILED = cython.compiled


@cython.final
@cython.cclass
class Bulk:
    """Decodes runs of keys for one snapshot."""

    position = cython.declare(cython.Py_ssize_t, visibility="public")
    """Where the last run ended."""
    keys = cython.declare(cython.Py_ssize_t, visibility="public")
    """How many keys it had."""
    _classes: list
    """RDB type -> class of bytes, None for those that the reader decodes."""
    _max_string_bytes: cython.Py_ssize_t
    _reads_ms: cython.bint
    _reads_clocks: cython.bint
    _expires: dict
    _idles: dict
    _frequencies: dict
    _data: cython.p_uchar
    _end: cython.Py_ssize_t
    _checks: Checks

    def __init__(self, classes: dict, max_string_bytes: int, reads_ms: bool, reads_clocks: bool) -> None:
        """`classes`: RDB type number -> class; `reads_ms`: the version has expiries in ms; `reads_clocks`: it has idle
        times and frequencies."""
        self._classes = [classes.get(number) for number in range(32)]
        self._max_string_bytes = min(max_string_bytes, 1 << 30)
        self._reads_ms = reads_ms
        self._reads_clocks = reads_clocks
        self._checks = Checks()

    def foresee(self, table: dict, count: int) -> None:
        """So many keys are to come into `table`, which the caller believes. Raises MemoryError."""
        foresee(table, count)

    def run(self, buf: bytes, start: int, values: dict, also: dict, noted: Noted) -> None:
        """Decode from `start` on into `values`, which gets keys that neither it nor `also` has.

        What stands before the keys goes to `noted`. Sets `position` and `keys`.
        """
        self._data = text_of(cython.cast(cython.pointer[Ref], buf))
        self._end = size_of(cython.cast(cython.pointer[Ref], buf))
        self.position = start
        self.keys = 0
        self._expires, self._idles, self._frequencies = noted
        while self._some(values, also):
            pass
        if error_at_work() is not cython.NULL:
            raise MemoryError

    @cython.cfunc
    @cython.exceptval(-1)
    def _some(self, values: dict, also: dict) -> cython.int:
        """A handful of keys; 0 when the run ends with them. While the last are decoded, the first ones' places in the
        table are on their way from memory."""
        table: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], values)
        found: Handful
        count: cython.int = 0
        index: cython.int = 0
        pos: cython.Py_ssize_t = self.position
        while count < AT_ONCE and self._one(cython.address(pos), cython.address(found.items[count])):
            hash_of(found.items[count].key)
            ask_for_place(table, found.items[count].key)
            count += 1
        for index in range(count):
            ask_for_rival(table, found.items[index].key)
        index = 0
        while index < count and self._store(cython.address(found.items[index]), table, also):
            self.position = found.items[index].end
            index += 1
        self.keys += index
        stored: cython.int = index
        while index < count:
            release(found.items[index].key)
            release(found.items[index].value)
            index += 1
        return stored == AT_ONCE

    @cython.cfunc
    @cython.exceptval(-1)
    def _store(self, found: cython.pointer[Found], table: cython.pointer[Ref], also: dict) -> cython.int:
        """Put one key into the table; 0, and it stays the caller's, if it is there already or memory is out."""
        if also and cython.cast(object, found.key) in also:
            return 0
        # The size says whether the key is new. The value in the table does not: CPython has one object for each byte.
        size: cython.Py_ssize_t = cython.cast(cython.pointer[DictObject], table).ma_used
        dict_set_default(table, found.key, found.value)
        if cython.cast(cython.pointer[DictObject], table).ma_used == size:
            return 0
        if found.expiring:
            self._note(self._expires, found.key, found.at_ms)
        if found.idle_s >= 0:
            self._note(self._idles, found.key, found.idle_s)
        if found.frequency >= 0:
            self._note(self._frequencies, found.key, found.frequency)
        release(found.key)
        release(found.value)
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _note(self, numbers: dict, key: cython.pointer[Ref], number: cython.longlong) -> cython.int:
        noted: cython.pointer[Ref] = new_int(number)
        dict_set(cython.cast(cython.pointer[Ref], numbers), key, noted)
        release(noted)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _one(self, place: cython.pointer[cython.Py_ssize_t], found: cython.pointer[Found]) -> cython.int:
        """One key, if it is one for us: then the place is behind it."""
        pos: cython.Py_ssize_t = place[0]
        key: cython.pointer[Ref]
        value: cython.pointer[Ref]
        if not self._attributes(cython.address(pos), found):
            return 0
        kind: cython.int = self._data[pos]
        if kind >= 32 or (kind != STRING and self._classes[kind] is None):
            return 0
        pos += 1
        key = self._text(cython.address(pos), cython.NULL)
        if key is cython.NULL:
            return 0
        value = cython.NULL
        if kind == STRING:
            value = self._text(cython.address(pos), cython.NULL)
        elif kind != LIST_QUICKLIST2:
            value = self._text(cython.address(pos), cython.cast(cython.pointer[Ref], self._classes[kind]))
        elif pos + 2 <= self._end and self._data[pos] == 1 and self._data[pos + 1] == 2:
            # One node, which is a listpack: most lists.
            pos += 2
            value = self._text(cython.address(pos), cython.cast(cython.pointer[Ref], self._classes[kind]))
        if value is cython.NULL:
            release(key)
            return 0
        if kind != STRING and not self._checks.is_sound(kind, text_of(value), size_of(value)):
            release(key)
            release(value)
            return 0
        found.key = key
        found.value = value
        found.end = place[0] = pos
        return 1

    @cython.cfunc
    @cython.exceptval(check=False)
    def _attributes(self, place: cython.pointer[cython.Py_ssize_t], found: cython.pointer[Found]) -> cython.int:
        """What stands before a key, in any order; 0 if it is cut. The place is then at the key's type."""
        pos: cython.Py_ssize_t = place[0]
        kind: cython.int
        found.expiring = False
        found.idle_s = found.frequency = -1
        while pos < self._end:
            kind = self._data[pos]
            if kind == EXPIRETIME_MS and self._reads_ms:
                if pos + 9 > self._end:
                    return 0
                memcpy(cython.address(found.at_ms), self._data + pos + 1, 8)
                found.expiring = True
                pos += 9
            elif kind == FREQ and self._reads_clocks:
                if pos + 2 > self._end:
                    return 0
                found.frequency = self._data[pos + 1]
                pos += 2
            elif kind == IDLE and self._reads_clocks:
                pos += 1
                found.idle_s = self._length(cython.address(pos))
                if found.idle_s < 0:
                    return 0
            else:
                place[0] = pos
                return 1
        return 0

    @cython.cfunc
    @cython.exceptval(check=False)
    def _length(self, pos: cython.pointer[cython.Py_ssize_t]) -> cython.Py_ssize_t:
        """A length below 2**32 and steps behind it; -1 for anything else."""
        at: cython.Py_ssize_t = pos[0]
        if at >= self._end:
            return -1
        first: cython.int = self._data[at]
        if first < 64:
            pos[0] = at + 1
            return first
        if first < 128:
            if at + 2 > self._end:
                return -1
            pos[0] = at + 2
            return (first & 63) << 8 | self._data[at + 1]
        if first != 128 or at + 5 > self._end:
            return -1
        pos[0] = at + 5
        return (
            cython.cast(cython.Py_ssize_t, self._data[at + 1]) << 24
            | self._data[at + 2] << 16
            | self._data[at + 3] << 8
            | self._data[at + 4]
        )

    @cython.cfunc
    @cython.exceptval(check=False)
    def _text(self, place: cython.pointer[cython.Py_ssize_t], cls: cython.pointer[Ref]) -> cython.pointer[Ref]:
        """A new string, of class `cls` if that is not NULL; NULL for what is not complete or not in order."""
        pos: cython.Py_ssize_t = place[0]
        made: cython.pointer[Ref]
        number: cython.longlong
        packed: cython.Py_ssize_t
        if pos >= self._end:
            return cython.NULL
        first: cython.int = self._data[pos]
        size: cython.Py_ssize_t
        if first < 0xC0:
            size = self._length(cython.address(pos))
            if size < 0 or size > self._max_string_bytes or size > self._end - pos:
                return cython.NULL
            made = _new(cls, self._data + pos, size)
            place[0] = pos + size
            return made
        if first == 0xC3:
            pos += 1
            packed = self._length(cython.address(pos))
            if packed < 0:
                return cython.NULL
            size = self._length(cython.address(pos))
            if size <= 0 or size > self._max_string_bytes or packed > self._end - pos or size // 88 > packed:
                return cython.NULL
            made = _new(cls, cython.NULL, size)
            if made is cython.NULL:
                return cython.NULL
            if not decompress_into(self._data + pos, packed, text_of(made), size):
                release(made)
                return cython.NULL
            place[0] = pos + packed
            return made
        if first > 0xC3 or cls is not cython.NULL:
            return cython.NULL
        size = 1 << (first - 0xC0)
        if pos + 1 + size > self._end:
            return cython.NULL
        number = signed_of(self._data + pos + 1, size)
        place[0] = pos + 1 + size
        return _decimal(number)


@cython.cfunc
@cython.exceptval(check=False)
def _new(cls: cython.pointer[Ref], data: cython.p_uchar, size: cython.Py_ssize_t) -> cython.pointer[Ref]:
    """A bytes object, of a class derived from bytes if `cls` is not NULL; NULL when memory is out."""
    if cls is cython.NULL:
        return new_bytes(cython.cast(cython.p_char, data), size)
    made: cython.pointer[Ref] = new_instance(cython.cast(cython.pointer[Type], cls), size)
    if made is not cython.NULL:
        # It refers to nothing but its class, so the collector has no business with it.
        untrack(made)
        cython.cast(cython.pointer[BytesObject], made).ob_shash = -1
        if data is not cython.NULL:
            memcpy(text_of(made), data, size)
    return made


@cython.cfunc
@cython.exceptval(check=False)
def _decimal(number: cython.longlong) -> cython.pointer[Ref]:
    text: cython.uchar[24]
    return new_bytes(cython.cast(cython.p_char, text), put_decimal(number, text))
