"""The compiled walk over a database: it writes keys into one buffer, and reads them by borrowed references.

The walk makes a full sync fast and a snapshot child small. A snapshot child shares the pages of its parent until one of
them writes to a page, and taking a reference writes to the object. So the walk takes no references: it goes through the
keys as the store froze them (`Store.freeze`), reads the slots of the values, and goes through deques and sets by their
`tp_traverse`. Values that it does not know (streams, hashes with times to live) it hands to the writer, one by one.

The plain form is `walk.PlainWalk`; both write the same bytes for a key, given the same compressor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyrepl.keyspace.access import Tracking
from pyrepl.keyspace.packed import Packed, PackedHash, PackedIntset, PackedList, PackedSet, PackedZset
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, ZsetValue, plain_value
from pyrepl.rdb import opcodes
from pyrepl.rdb.settings import list_node_bytes, list_node_entries
from pyrepl.rdb.types import hash as hashes
from pyrepl.rdb.types import list as lists
from pyrepl.rdb.types import set as sets
from pyrepl.rdb.types import zset as zsets

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
    from cython.cimports.libc.stdlib import free, realloc
    from cython.cimports.libc.string import memcpy, memmove
    from cython.cimports.pyrepl.rdb.compiled.gather import References, Scored, by_number, by_score, collect
    from cython.cimports.pyrepl.rdb.compiled.raw import (
        BYTES,
        NONE,
        Ref,
        Type,
        dict_get,
        dict_size,
        double_of,
        longlong_of,
        next_item,
        qsort,
        size_of,
        text_of,
        type_of,
    )
    from cython.cimports.pyrepl.rdb.compiled.sink import (
        Sink,
        parse_integer,
        put_entry,
        put_length,
        put_little_endian,
        put_score_entry,
        put_text,
    )
    from cython.cimports.pyrepl.store.borrowed_keys import Frozen

if TYPE_CHECKING:
    from pyrepl.keyspace.access import Clocks
    from pyrepl.rdb.writer import RdbWriter

COMPILED = cython.compiled

if cython.compiled:
    EXPIRETIME_MS = cython.declare(cython.int, opcodes.EXPIRETIME_MS.number)
    IDLE = cython.declare(cython.int, opcodes.IDLE.number)
    FREQ = cython.declare(cython.int, opcodes.FREQ.number)
    HASH = cython.declare(cython.int, hashes.HASH)
    HASH_LISTPACK = cython.declare(cython.int, hashes.HASH_LISTPACK)
    LIST_QUICKLIST2 = cython.declare(cython.int, lists.LIST_QUICKLIST2)
    PLAIN_NODE = cython.declare(cython.int, lists.PLAIN_NODE)
    PACKED_NODE = cython.declare(cython.int, lists.PACKED_NODE)
    SET_PLAIN = cython.declare(cython.int, sets.SET)
    SET_INTSET = cython.declare(cython.int, sets.SET_INTSET)
    SET_LISTPACK = cython.declare(cython.int, sets.SET_LISTPACK)
    ZSET2 = cython.declare(cython.int, zsets.ZSET2)
    ZSET_LISTPACK = cython.declare(cython.int, zsets.ZSET_LISTPACK)
    LONGEST = cython.declare(cython.Py_ssize_t, 64)
    """Most bytes of an element that commands pack (`pyrepl.rdb.compiled.edits`)."""


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _slot(holder: cython.pointer[Ref], offset: cython.Py_ssize_t) -> cython.pointer[Ref]:
    """The reference that stands `offset` bytes behind the start of an object."""
    return cython.cast(cython.pointer[cython.pointer[Ref]], cython.cast(cython.p_char, holder) + offset)[0]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _count(listpack: cython.pointer[Ref]) -> cython.int:
    """The number of elements that the header of a listpack gives."""
    data: cython.p_uchar = text_of(listpack)
    return data[4] | data[5] << 8 if size_of(listpack) > 5 else 0


def _offset_of(holder: object, part: object) -> int:
    """The offset in bytes of `holder`'s reference to `part`. It is searched for, as the interpreter decides the order
    of slots."""
    head: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], holder)
    offset: cython.Py_ssize_t = 2 * cython.sizeof(cython.p_void)
    while offset + cython.sizeof(cython.p_void) <= type_of(head).tp_basicsize:
        if _slot(head, offset) is cython.cast(cython.pointer[Ref], part):
            return offset
        offset += cython.sizeof(cython.p_void)
    raise TypeError(f"{type(holder).__name__} has no slot for its {type(part).__name__}")


@cython.final
@cython.cclass
class BorrowedWalk:
    """See `walk.Walk`; for RDB version 10 and later."""

    keys = cython.declare(cython.Py_ssize_t, visibility="public")
    _frozen: Frozen
    _writer: object
    _max_bytes: cython.Py_ssize_t
    _max_keys: cython.Py_ssize_t
    _compress: cython.bint
    _out: Sink
    _packed: Sink
    _found: References
    _scored: cython.pointer[Scored]
    _scored_room: cython.Py_ssize_t
    _hash_entries: cython.Py_ssize_t
    _hash_value: cython.Py_ssize_t
    _zset_entries: cython.Py_ssize_t
    _zset_value: cython.Py_ssize_t
    _set_integers: cython.Py_ssize_t
    _set_entries: cython.Py_ssize_t
    _set_value: cython.Py_ssize_t
    _node_bytes: cython.Py_ssize_t
    _node_entries: cython.Py_ssize_t
    _numbers: dict
    """The clocks' numbers; None if no clocks are written."""
    _is_lfu: cython.bint
    _untouched: cython.longlong
    _now: cython.longlong
    _decay: cython.longlong

    def __init__(self, frozen: Frozen, writer: RdbWriter, max_bytes: int, max_keys: int, clocks: Clocks | None) -> None:
        self.keys = 0
        if clocks is not None:
            self._numbers = clocks.numbers
            self._is_lfu = clocks.tracking is Tracking.LFU
            self._untouched, self._now, self._decay = clocks.untouched, clocks.now, clocks.decay_minutes
        self._frozen = frozen
        self._writer = writer
        self._max_bytes = max_bytes
        self._max_keys = max_keys
        self._compress = writer.compresses
        self._out = Sink()
        self._packed = Sink()
        self._found = References()
        packing = writer.packing
        self._hash_entries = packing.hash_max_listpack_entries
        self._hash_value = packing.hash_max_listpack_value
        self._zset_entries = packing.zset_max_listpack_entries
        self._zset_value = packing.zset_max_listpack_value
        self._set_integers = packing.set_max_intset_entries
        has_listpack_sets: cython.bint = writer.version in sets.SET_LISTPACK_VERSIONS
        self._set_entries = packing.set_max_listpack_entries if has_listpack_sets else -1
        self._set_value = packing.set_max_listpack_value
        self._node_bytes = list_node_bytes(packing.list_max_listpack_size)
        self._node_entries = list_node_entries(packing.list_max_listpack_size)

    def __dealloc__(self) -> None:
        free(self._scored)

    def block(self) -> bytes:
        """See `walk.Walk`."""
        frozen: Frozen = self._frozen
        key: cython.pointer[Ref] = cython.NULL
        value: cython.pointer[Ref] = cython.NULL
        at: cython.pointer[Ref]
        out: Sink = self._out
        last: cython.Py_ssize_t = self.keys + self._max_keys
        out.size = 0
        while out.size < self._max_bytes and self.keys < last:
            if not frozen.next(cython.address(key), cython.address(value)):
                break
            at = frozen.expiry_of(key)
            if at is not cython.NULL:
                out.reserve(9)
                out.data[out.size] = EXPIRETIME_MS
                put_little_endian(out.data + out.size + 1, longlong_of(at), 8)
                out.size += 9
            if self._numbers is not None:
                self._put_clock(key)
            self._put(key, value)
            self.keys += 1
        return self._writer.counted(PyBytes_FromStringAndSize(cython.cast(cython.p_char, out.data), out.size))

    @cython.cfunc
    @cython.exceptval(-1)
    def _put(self, key: cython.pointer[Ref], value: cython.pointer[Ref]) -> cython.int:
        kind: cython.pointer[Type] = type_of(value)
        part: cython.pointer[Ref]
        if kind is cython.address(BYTES):
            self._put_key(0, key)
            return put_text(self._out, text_of(value), size_of(value), self._compress)
        if kind is _HASH:
            part = _slot(value, _HASH_EXPIRES)
            if part is NONE or dict_size(part) == 0:
                return self._put_hash(key, _slot(value, _HASH_FIELDS))
        elif kind is _LIST:
            return self._put_list(key, _slot(value, _LIST_ITEMS))
        elif kind is _ZSET:
            return self._put_zset(key, _slot(value, _ZSET_SCORES))
        elif kind is _SET:
            return self._put_set(key, _slot(value, _SET_MEMBERS))
        elif kind is _PACKED_HASH:
            if self._hash_value >= LONGEST and _count(value) <= 2 * self._hash_entries:
                return self._put_packed(HASH_LISTPACK, key, value)
        elif kind is _PACKED_ZSET:
            if self._zset_value >= LONGEST and _count(value) <= 2 * self._zset_entries:
                return self._put_packed(ZSET_LISTPACK, key, value)
        elif kind is _PACKED_LIST:
            if size_of(value) <= self._node_bytes and _count(value) <= self._node_entries:
                return self._put_packed(LIST_QUICKLIST2, key, value)
        elif kind is _PACKED_INTSET:
            return self._put_packed(SET_INTSET, key, value)
        elif kind is _PACKED_SET and self._set_entries >= 0:
            return self._put_packed(SET_LISTPACK, key, value)
        return self._put_plainly(cython.cast(object, key), cython.cast(object, value))

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_clock(self, key: cython.pointer[Ref]) -> cython.int:
        """Write what `access.Clocks.of` says of a key."""
        out: Sink = self._out
        found: cython.pointer[Ref] = dict_get(cython.cast(cython.pointer[Ref], self._numbers), key)
        number: cython.longlong = self._untouched if found is cython.NULL else longlong_of(found)
        out.reserve(2)
        if not self._is_lfu:
            out.data[out.size] = IDLE
            out.size += 1
            return put_length(out, max(0, self._now - number))
        minutes: cython.longlong = max(0, self._now - (number >> 8))
        counter: cython.longlong = (number & 0xFF) - (minutes // self._decay if self._decay > 0 else 0)
        out.data[out.size] = FREQ
        out.data[out.size + 1] = max(0, counter)
        out.size += 2
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_packed(self, kind: cython.int, key: cython.pointer[Ref], value: cython.pointer[Ref]) -> cython.int:
        """Write a collection whose packed bytes are already those that a snapshot holds."""
        self._put_key(kind, key)
        if kind == LIST_QUICKLIST2:
            put_length(self._out, 1)
            put_length(self._out, PACKED_NODE)
        return put_text(self._out, text_of(value), size_of(value), self._compress)

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_plainly(self, key: object, value: object) -> cython.int:
        """Let the writer encode the key: it knows every type and every limit."""
        encoded: bytes = self._writer.encode_key(
            key, plain_value(value.unpack() if isinstance(value, Packed) else value)
        )
        size: cython.Py_ssize_t = len(encoded)
        self._out.reserve(size)
        memcpy(self._out.data + self._out.size, text_of(cython.cast(cython.pointer[Ref], encoded)), size)
        self._out.size += size
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_key(self, kind: cython.int, key: cython.pointer[Ref]) -> cython.int:
        out: Sink = self._out
        out.reserve(1)
        out.data[out.size] = kind
        out.size += 1
        return put_text(out, text_of(key), size_of(key), self._compress)

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_pack(self, count: cython.Py_ssize_t) -> cython.int:
        """Write the `count` elements in `_packed` as a listpack. They stand behind six bytes kept for its header."""
        packed: Sink = self._packed
        packed.reserve(1)
        packed.data[packed.size] = 0xFF
        packed.size += 1
        put_little_endian(packed.data, packed.size, 4)
        put_little_endian(packed.data + 4, count if count < 0xFFFF else 0xFFFF, 2)
        return put_text(self._out, packed.data, packed.size, self._compress)

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_hash(self, key: cython.pointer[Ref], fields: cython.pointer[Ref]) -> cython.int:
        count: cython.Py_ssize_t = dict_size(fields)
        place: cython.Py_ssize_t = 0
        field: cython.pointer[Ref] = cython.NULL
        content: cython.pointer[Ref] = cython.NULL
        fits: cython.bint = count <= self._hash_entries
        packed: Sink = self._packed
        if fits:
            packed.reserve(6)
            packed.size = 6
            while next_item(fields, cython.address(place), cython.address(field), cython.address(content)):
                if size_of(field) > self._hash_value or size_of(content) > self._hash_value:
                    fits = False
                    break
                put_entry(packed, text_of(field), size_of(field))
                put_entry(packed, text_of(content), size_of(content))
        if fits:
            self._put_key(HASH_LISTPACK, key)
            return self._put_pack(2 * count)
        self._put_key(HASH, key)
        put_length(self._out, count)
        place = 0
        while next_item(fields, cython.address(place), cython.address(field), cython.address(content)):
            put_text(self._out, text_of(field), size_of(field), self._compress)
            put_text(self._out, text_of(content), size_of(content), self._compress)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _gather(self, holder: cython.pointer[Ref]) -> cython.int:
        """Put the elements of a deque or set into `_found`, in the order of the holder."""
        found: References = self._found
        found.count = 0
        found.failed = False
        type_of(holder).tp_traverse(holder, collect, cython.cast(cython.p_void, found))
        if found.failed:
            raise MemoryError
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_list(self, key: cython.pointer[Ref], items: cython.pointer[Ref]) -> cython.int:
        """Write a list as a chain of listpacks, filled as Redis fills them. An element too large for a listpack is a
        node of its own."""
        self._gather(items)
        out: Sink = self._out
        packed: Sink = self._packed
        item: cython.pointer[Ref]
        before: cython.Py_ssize_t
        nodes: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t = 0
        self._put_key(LIST_QUICKLIST2, key)
        # The number of nodes stands before the nodes, but is known only after them: five bytes are kept for it.
        start: cython.Py_ssize_t = out.size
        out.reserve(16)
        out.size += 5
        packed.reserve(6)
        packed.size = 6
        index: cython.Py_ssize_t
        for index in range(self._found.count):
            item = self._found.items[index]
            if size_of(item) > self._node_bytes:
                if count:
                    self._put_node(count)
                    nodes += 1
                    count = 0
                put_length(out, PLAIN_NODE)
                put_text(out, text_of(item), size_of(item), self._compress)
                nodes += 1
                continue
            before = packed.size
            put_entry(packed, text_of(item), size_of(item))
            if count and (packed.size + 1 > self._node_bytes or count >= self._node_entries):
                packed.size = before
                self._put_node(count)
                nodes += 1
                count = 0
                put_entry(packed, text_of(item), size_of(item))
            count += 1
        if count:
            self._put_node(count)
            nodes += 1
        end: cython.Py_ssize_t = out.size
        out.size = start
        put_length(out, nodes)
        memmove(out.data + out.size, out.data + start + 5, end - start - 5)
        out.size += end - start - 5
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_node(self, count: cython.Py_ssize_t) -> cython.int:
        put_length(self._out, PACKED_NODE)
        self._put_pack(count)
        self._packed.size = 6
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_zset(self, key: cython.pointer[Ref], scores: cython.pointer[Ref]) -> cython.int:
        count: cython.Py_ssize_t = dict_size(scores)
        place: cython.Py_ssize_t = 0
        member: cython.pointer[Ref] = cython.NULL
        score: cython.pointer[Ref] = cython.NULL
        index: cython.Py_ssize_t
        out: Sink = self._out
        if count <= self._zset_entries and self._sort_small(scores, count):
            self._packed.reserve(6)
            self._packed.size = 6
            for index in range(count):
                member = self._scored[index].member
                put_entry(self._packed, text_of(member), size_of(member))
                put_score_entry(self._packed, self._scored[index].score)
            self._put_key(ZSET_LISTPACK, key)
            return self._put_pack(2 * count)
        self._put_key(ZSET2, key)
        put_length(out, count)
        number: cython.double
        while next_item(scores, cython.address(place), cython.address(member), cython.address(score)):
            put_text(out, text_of(member), size_of(member), self._compress)
            number = double_of(score)
            out.reserve(8)
            memcpy(out.data + out.size, cython.address(number), 8)
            out.size += 8
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _sort_small(self, scores: cython.pointer[Ref], count: cython.Py_ssize_t) -> cython.int:
        """Put the members into `_scored`, by ascending score; 0 if a member is too long for a listpack."""
        if count > self._scored_room:
            memory: cython.p_void = realloc(self._scored, count * cython.sizeof(Scored))
            if memory is cython.NULL:
                raise MemoryError
            self._scored = cython.cast(cython.pointer[Scored], memory)
            self._scored_room = count
        place: cython.Py_ssize_t = 0
        index: cython.Py_ssize_t = 0
        member: cython.pointer[Ref] = cython.NULL
        score: cython.pointer[Ref] = cython.NULL
        while next_item(scores, cython.address(place), cython.address(member), cython.address(score)):
            if size_of(member) > self._zset_value:
                return 0
            self._scored[index].score = double_of(score)
            self._scored[index].member = member
            index += 1
        qsort(self._scored, count, cython.sizeof(Scored), by_score)
        return 1

    @cython.cfunc
    @cython.exceptval(-1)
    def _put_set(self, key: cython.pointer[Ref], members: cython.pointer[Ref]) -> cython.int:
        self._gather(members)
        found: References = self._found
        index: cython.Py_ssize_t
        item: cython.pointer[Ref]
        if found.count <= self._set_integers and self._pack_integers():
            self._put_key(SET_INTSET, key)
            return put_text(self._out, self._packed.data, self._packed.size, self._compress)
        fits: cython.bint = found.count <= self._set_entries
        if fits:
            self._packed.reserve(6)
            self._packed.size = 6
            for index in range(found.count):
                item = found.items[index]
                if size_of(item) > self._set_value:
                    fits = False
                    break
                put_entry(self._packed, text_of(item), size_of(item))
        if fits:
            self._put_key(SET_LISTPACK, key)
            return self._put_pack(found.count)
        self._put_key(SET_PLAIN, key)
        put_length(self._out, found.count)
        for index in range(found.count):
            item = found.items[index]
            put_text(self._out, text_of(item), size_of(item), self._compress)
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _pack_integers(self) -> cython.int:
        """Put the members into `_packed` as an intset; 0 if a member is no integer."""
        found: References = self._found
        packed: Sink = self._packed
        index: cython.Py_ssize_t
        number: cython.longlong = 0
        packed.size = 0
        packed.reserve(8 + 16 * found.count)
        # The numbers are sorted at the far end of the buffer, and then copied to the front at the intset's width.
        numbers: cython.pointer[cython.longlong] = cython.cast(
            cython.pointer[cython.longlong], packed.data + 8 + 8 * found.count
        )
        for index in range(found.count):
            if not parse_integer(text_of(found.items[index]), size_of(found.items[index]), cython.address(number)):
                return 0
            numbers[index] = number
        qsort(numbers, found.count, 8, by_number)
        width: cython.int = 2
        if found.count:
            if numbers[0] < -0x80000000 or numbers[found.count - 1] > 0x7FFFFFFF:
                width = 8
            elif numbers[0] < -0x8000 or numbers[found.count - 1] > 0x7FFF:
                width = 4
        put_little_endian(packed.data, width, 4)
        put_little_endian(packed.data + 4, found.count, 4)
        for index in range(found.count):
            put_little_endian(packed.data + 8 + index * width, numbers[index], width)
        packed.size = 8 + found.count * width
        return 1


if cython.compiled:
    _HASH = cython.declare(cython.pointer[Type])
    _LIST = cython.declare(cython.pointer[Type])
    _ZSET = cython.declare(cython.pointer[Type])
    _SET = cython.declare(cython.pointer[Type])
    _PACKED_HASH = cython.declare(cython.pointer[Type])
    _PACKED_ZSET = cython.declare(cython.pointer[Type])
    _PACKED_LIST = cython.declare(cython.pointer[Type])
    _PACKED_SET = cython.declare(cython.pointer[Type])
    _PACKED_INTSET = cython.declare(cython.pointer[Type])
    _HASH_FIELDS = cython.declare(cython.Py_ssize_t)
    _HASH_EXPIRES = cython.declare(cython.Py_ssize_t)
    _LIST_ITEMS = cython.declare(cython.Py_ssize_t)
    _ZSET_SCORES = cython.declare(cython.Py_ssize_t)
    _SET_MEMBERS = cython.declare(cython.Py_ssize_t)


def _look_up_slots() -> None:
    global _PACKED_HASH, _PACKED_ZSET, _PACKED_LIST, _PACKED_SET, _PACKED_INTSET
    global _HASH, _LIST, _ZSET, _SET, _HASH_FIELDS, _HASH_EXPIRES, _LIST_ITEMS, _ZSET_SCORES, _SET_MEMBERS
    fields: dict = {}
    expires: dict = {}
    hashed, listed, scored, grouped = HashValue(fields, expires), ListValue(), ZsetValue(), SetValue()
    _HASH = cython.cast(cython.pointer[Type], HashValue)
    _LIST = cython.cast(cython.pointer[Type], ListValue)
    _ZSET = cython.cast(cython.pointer[Type], ZsetValue)
    _SET = cython.cast(cython.pointer[Type], SetValue)
    _PACKED_HASH = cython.cast(cython.pointer[Type], PackedHash)
    _PACKED_ZSET = cython.cast(cython.pointer[Type], PackedZset)
    _PACKED_LIST = cython.cast(cython.pointer[Type], PackedList)
    _PACKED_SET = cython.cast(cython.pointer[Type], PackedSet)
    _PACKED_INTSET = cython.cast(cython.pointer[Type], PackedIntset)
    _HASH_FIELDS = _offset_of(hashed, fields)
    _HASH_EXPIRES = _offset_of(hashed, expires)
    _LIST_ITEMS = _offset_of(listed, listed.items)
    _ZSET_SCORES = _offset_of(scored, scored.scores)
    _SET_MEMBERS = _offset_of(grouped, grouped.members)


if cython.compiled:
    _look_up_slots()
