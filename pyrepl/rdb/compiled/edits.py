"""Small collections changed while they stay packed, as C: one block of memory in, one out, nothing taken apart.

A list, hash or sorted set of few and short elements costs a tenth, packed in a listpack, of what it costs as Python's
objects, and touches a tenth of the memory. The functions here make such a block, read it, and make a changed one of it,
of the same class; where it is kept is the caller's. They answer None where it would not be small any more: then the
caller takes it apart, for good.

The plain form is `pyrepl.rdb.plain_edits`, and `pyrepl.rdb.edits` is where the one is called that the package runs
with. What a listpack is stands in `pyrepl.rdb.packed.listpack`.

Blocks that came in a snapshot were checked by `checks`: all their elements are whole, and their heads tell how many
these are. Nothing here relies on that for its memory: a walk goes from element to element by `_behind`, which is given
the end of the block and leads nowhere but to it, and `_take` lets in no block with more elements than it has room for.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.string import memcmp, memcpy, memmove
    from cython.cimports.pyrepl.rdb.compiled.checks import is_before, number_of, put_decimal, score_of, text_head
    from cython.cimports.pyrepl.rdb.compiled.raw import (
        BytesObject,
        Ref,
        Type,
        new_instance,
        release,
        size_of,
        text_of,
        type_of,
        untrack,
    )
    from cython.cimports.pyrepl.rdb.compiled.sink import Sink, put_entry, put_little_endian, put_score_entry

    HEADER = cython.declare(cython.int, 6)
    SMALLEST = cython.declare(cython.Py_ssize_t, 7)
    """Bytes of a block without elements."""
    LONGEST_HEAD = cython.declare(cython.Py_ssize_t, 5)
    """Bytes of an element before its text, at most."""
    LEAST_ENTRY = cython.declare(cython.Py_ssize_t, 2)
    """Bytes of the smallest element with its back length."""
    LONGEST = cython.declare(cython.Py_ssize_t, 64)
    """Bytes of a field, its value, or a member: Redis's default for what a listpack may hold."""
    MOST_PAIRED = cython.declare(cython.int, 256)
    """Elements of a hash or sorted set: two for each of Redis's 128 pairs."""
    LARGEST = cython.declare(cython.Py_ssize_t, 1024)
    """Bytes of a block that is changed: it is copied each time."""

    _work = cython.declare(Sink, Sink())
    """The block that is being changed, without its last byte."""
    _entry = cython.declare(Sink, Sink())
    """The elements that are being put into it."""

COMPILED = cython.compiled
NO = -1


# ------------------------------------------------------------------ hashes


def packed_hash(cls: type, pairs: tuple) -> Any:
    """A new block of class `cls` of field, value, ...; None if it would not be small. Of a field that comes twice the
    last value counts."""
    _begin()
    if _put_pairs(pairs) < 0:
        return None
    return _made(cython.cast(cython.pointer[Type], cls))


def set_fields(packed: object, pairs: tuple) -> Any:
    """(a hash with fields and values put into it, how many fields are new), or None."""
    if not _take(packed):
        return None
    created: cython.int = _put_pairs(pairs)
    return _changed(packed, created) if created >= 0 else None


def field_value(packed: object, field: bytes) -> Any:
    """The value of a hash's field, None without the field."""
    block: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], packed)
    end: cython.p_uchar = text_of(block) + size_of(block) - 1
    at: cython.p_uchar = _find(text_of(block), end, field)
    return None if at is cython.NULL else _text(_behind(at, end))


# ------------------------------------------------------------------ lists


def packed_list(cls: type, elements: tuple, left: bool) -> Any:
    """A new block of class `cls` of elements pushed one by one from an end; None if it would not be small."""
    _begin()
    if not _push(elements, left):
        return None
    return _made(cython.cast(cython.pointer[Type], cls))


def push(packed: object, elements: tuple, left: bool) -> Any:
    """(a list with elements pushed to it, its length), or None."""
    if not _take(packed) or not _push(elements, left):
        return None
    return _changed(packed, _count(_work.data))


def pop(packed: object, left: bool) -> Any:
    """(a list of at least two elements without the one at an end, that element), or None."""
    if not _take(packed) or _count(_work.data) < 2:
        return None
    start: cython.p_uchar = _work.data + HEADER
    end: cython.p_uchar = _work.data + _work.size
    if not left:
        start = _last(start, end)
    behind: cython.p_uchar = cython.NULL if start is cython.NULL else _behind(start, end)
    if behind is cython.NULL or (not left and behind is not end):
        return None
    element: bytes = _text(start)
    memmove(start, behind, end - behind)
    _work.size -= behind - start
    _note_count(-1)
    return _changed(packed, element)


def elements(packed: object, start: int, end: int) -> list:
    """The elements of the half-open range [start, end) of any block; bounds may lie beyond its elements."""
    found: list = []
    block: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], packed)
    at: cython.p_uchar = text_of(block) + HEADER
    last: cython.p_uchar = text_of(block) + size_of(block) - 1
    behind: cython.p_uchar
    skip: cython.Py_ssize_t = start
    left: cython.Py_ssize_t = end - start
    while left > 0:
        behind = _behind(at, last)
        if behind is cython.NULL:
            break
        if skip > 0:
            skip -= 1
        else:
            found.append(_text(at))
            left -= 1
        at = behind
    return found


def element_count(packed: object) -> int:
    """How many elements any block has, as its head says; NO if it has no head."""
    block: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], packed)
    return _count(text_of(block)) if size_of(block) >= SMALLEST else NO


# ------------------------------------------------------------------ sorted sets


def packed_zset(cls: type, member: bytes, score: float) -> Any:
    """A new block of class `cls` of one member; None if that would not be small."""
    _begin()
    if _put_score(member, score) < 0:
        return None
    return _made(cython.cast(cython.pointer[Type], cls))


def packed_scores(cls: type, scores: dict) -> Any:
    """A new block of class `cls` of members with their scores; None if it would not be small."""
    if 2 * len(scores) > MOST_PAIRED:
        return None
    _begin()
    for member, score in scores.items():
        if _work.size > LARGEST or _put_score(member, score) < 0:
            return None
    return _made(cython.cast(cython.pointer[Type], cls))


def set_score(packed: object, member: bytes, score: float) -> Any:
    """(a sorted set with the score of a member set, what was done), or None.

    Done: 0 the member has that score already, and the set is the same object; 1 the member is new; 2 it had another
    score. The score is not nan; -0 becomes 0, as in Redis."""
    if not _take(packed):
        return None
    done: cython.int = _put_score(member, score)
    if done == 0:
        return packed, 0
    return _changed(packed, done) if done > 0 else None


def member_score(packed: object, member: bytes) -> Any:
    """The score of a sorted set's member, None without the member."""
    block: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], packed)
    end: cython.p_uchar = text_of(block) + size_of(block) - 1
    at: cython.p_uchar = _find(text_of(block), end, member)
    if at is cython.NULL:
        return None
    at = _behind(at, end)
    return _score(at, end)


# ------------------------------------------------------------------ what is being changed


@cython.cfunc
@cython.exceptval(-1)
def _begin() -> cython.int:
    """An empty block."""
    _work.size = 0
    _work.reserve(HEADER)
    _work.size = HEADER
    put_little_endian(_work.data, 0, HEADER)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _take(packed: object) -> cython.int:
    """A copy of a block; 0 if it is too large to be changed, or says that it has more elements than fit into it."""
    block: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], packed)
    size: cython.Py_ssize_t = size_of(block)
    if size < SMALLEST or size > LARGEST or LEAST_ENTRY * _count(text_of(block)) > size - SMALLEST:
        return 0
    _work.size = 0
    _work.reserve(size)
    _work.size = size - 1
    memcpy(_work.data, text_of(block), size - 1)
    return 1


@cython.cfunc
@cython.exceptval(-1)
def _end() -> cython.int:
    """Complete the block; 0 if it is not small any more."""
    if _work.size >= LARGEST:
        return 0
    _work.reserve(1)
    _work.data[_work.size] = 0xFF
    _work.size += 1
    put_little_endian(_work.data, _work.size, 4)
    return 1


@cython.cfunc
def _made(cls: cython.pointer[Type]) -> object:
    """The block as an object, None if it is not small any more."""
    if not _end():
        return None
    made: cython.pointer[Ref] = _new(cls)
    found: object = cython.cast(object, made)
    release(made)
    return found


@cython.cfunc
def _changed(packed: object, told: object) -> object:
    """(the block, of the class that it was of, and what is told of the change); None if it is not small any more."""
    made: object = _made(type_of(cython.cast(cython.pointer[Ref], packed)))
    return None if made is None else (made, told)


@cython.cfunc
def _new(cls: cython.pointer[Type]) -> cython.pointer[Ref]:
    made: cython.pointer[Ref] = new_instance(cls, _work.size)
    if made is cython.NULL:
        raise MemoryError
    # It refers to nothing but its class, so the collector has no business with it.
    untrack(made)
    cython.cast(cython.pointer[BytesObject], made).ob_shash = -1
    memcpy(text_of(made), _work.data, _work.size)
    return made


@cython.cfunc
@cython.exceptval(-2)
def _put_pairs(pairs: tuple) -> cython.int:
    """Fields and values into the hash; how many fields are new, -1 if one is too long or they are too many."""
    created: cython.int = 0
    index: cython.Py_ssize_t
    field: bytes
    content: bytes
    at: cython.p_uchar
    behind: cython.p_uchar
    for index in range(0, len(pairs), 2):
        field = pairs[index]
        content = pairs[index + 1]
        if len(field) > LONGEST or len(content) > LONGEST or _work.size > LARGEST:
            return -1
        at = _find(_work.data, _work.data + _work.size, field)
        if at is cython.NULL:
            _append(_work, field)
            _append(_work, content)
            _note_count(2)
            created += 1
            continue
        at = _behind(at, _work.data + _work.size)
        behind = _behind(at, _work.data + _work.size)
        _entry.size = 0
        _append(_entry, content)
        _replace(at - _work.data, behind - at)
    return -1 if _count(_work.data) > MOST_PAIRED else created


@cython.cfunc
@cython.exceptval(-1)
def _push(elements: tuple, left: cython.bint) -> cython.int:
    """Elements to an end of the list; 0 if one is too long."""
    element: bytes
    for element in elements:
        if len(element) + _work.size > LARGEST:
            return 0
        if left:
            _entry.size = 0
            _append(_entry, element)
            _replace(HEADER, 0)
        else:
            _append(_work, element)
        _note_count(1)
    return 1


@cython.cfunc
@cython.exceptval(-2)
def _put_score(member: bytes, score: cython.double) -> cython.int:
    """As `set_score`."""
    if len(member) > LONGEST:
        return -1
    if score == 0:
        score = 0
    added: cython.int = 1
    place: cython.Py_ssize_t
    behind: cython.p_uchar
    end: cython.p_uchar = _work.data + _work.size
    at: cython.p_uchar = _find(_work.data, end, member)
    if at is not cython.NULL:
        behind = _behind(at, end)
        if _score(behind, end) == score:
            return 0
        added = 2
        place = at - _work.data
        _entry.size = 0
        _replace(place, _behind(behind, end) - at)
        _note_count(-2)
    _entry.size = 0
    _append(_entry, member)
    place = _place_of(score)
    put_score_entry(_entry, score)
    _replace(place, 0)
    _note_count(2)
    return -1 if _count(_work.data) > MOST_PAIRED else added


@cython.cfunc
@cython.exceptval(check=False)
def _place_of(score: cython.double) -> cython.Py_ssize_t:
    """Before which byte the member that is in `_entry`, with such a score, has its place."""
    at: cython.p_uchar = _work.data + HEADER
    end: cython.p_uchar = _work.data + _work.size
    behind: cython.p_uchar
    following: cython.p_uchar
    other: cython.double
    width: cython.Py_ssize_t = _width(_entry.data, _entry.size)
    while at < end:
        behind = _behind(at, end)
        following = cython.NULL if behind is cython.NULL else _behind(behind, end)
        if following is cython.NULL:
            break
        other = _score(behind, end)
        if score < other or (score == other and is_before(_entry.data, width, at, _width(at, end - at))):
            break
        at = following
    return at - _work.data


@cython.cfunc
@cython.exceptval(-1)
def _replace(place: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.int:
    """`size` bytes from `place` on by what is in `_entry`."""
    _work.reserve(_entry.size)
    start: cython.p_uchar = _work.data + place
    if size != _entry.size:
        memmove(start + _entry.size, start + size, _work.size - place - size)
        _work.size += _entry.size - size
    memcpy(start, _entry.data, _entry.size)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _append(sink: Sink, element: bytes) -> cython.int:
    text: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], element)
    return put_entry(sink, text_of(text), size_of(text))


@cython.cfunc
@cython.exceptval(check=False)
def _note_count(more: cython.int) -> cython.void:
    put_little_endian(_work.data + 4, _count(_work.data) + more, 2)


# ------------------------------------------------------------------ reading


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _count(data: cython.p_uchar) -> cython.int:
    return data[4] | data[5] << 8


@cython.cfunc
def _find(data: cython.p_uchar, end: cython.p_uchar, wanted: bytes) -> cython.p_uchar:
    """The first of a pair that is `wanted`, NULL if none is; both of the pair are whole before `end`.

    Each text has one encoding, so bytes decide.
    """
    _entry.size = 0
    _append(_entry, wanted)
    at: cython.p_uchar = data + HEADER
    behind: cython.p_uchar
    following: cython.p_uchar
    while True:
        behind = _behind(at, end)
        following = cython.NULL if behind is cython.NULL else _behind(behind, end)
        if following is cython.NULL:
            return cython.NULL
        if _entry.size == behind - at and at[0] == _entry.data[0] and not memcmp(at, _entry.data, _entry.size):
            return at
        at = following


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _width(entry: cython.p_uchar, room: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The bytes of an element without its back length, which may be more than `room`; 0 when its head is.

    Of `room` bytes, at least one, no more are read.
    """
    first: cython.int = entry[0]
    if first < 0x80:
        return 1
    if first < 0xC0:
        return 1 + (first & 63)
    if first < 0xE0:
        return 2
    if first < 0xF0:
        return 0 if room < 2 else 2 + ((first & 15) << 8 | entry[1])
    if first == 0xF0:
        if room < 5:
            return 0
        return 5 + (entry[1] | entry[2] << 8 | entry[3] << 16 | cython.cast(cython.Py_ssize_t, entry[4]) << 24)
    if first > 0xF4:
        return 0
    return 9 if first == 0xF4 else first - 0xF1 + 3


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _behind(entry: cython.p_uchar, end: cython.p_uchar) -> cython.p_uchar:
    """Where the next element begins; NULL when there is none at `entry` that is whole before `end`.

    Limits as in `pyrepl.rdb.packed.listpack.encode_back_length`.
    """
    room: cython.Py_ssize_t = end - entry
    if room <= 0:
        return cython.NULL
    width: cython.Py_ssize_t = _width(entry, room)
    groups: cython.int = 1
    if width > 127:
        groups = 2 if width < 16383 else (3 if width < 2097151 else (4 if width < 268435455 else 5))
    return cython.NULL if width == 0 or width + groups > room else entry + width + groups


@cython.cfunc
@cython.exceptval(check=False)
def _last(start: cython.p_uchar, end: cython.p_uchar) -> cython.p_uchar:
    """Where the element before `end` begins, by its back length; NULL when that is not between `start` and `end`."""
    groups: cython.Py_ssize_t = 0
    width: cython.Py_ssize_t = 0
    byte: cython.int = 128
    while byte & 128:
        groups += 1
        if groups > 5 or groups > end - start:
            return cython.NULL
        byte = end[-groups]
        width |= cython.cast(cython.Py_ssize_t, byte & 127) << (7 * (groups - 1))
    return cython.NULL if width + groups > end - start else end - groups - width


@cython.cfunc
@cython.exceptval(check=False)
def _score(entry: cython.p_uchar, end: cython.p_uchar) -> cython.double:
    """The number that a whole element stands for, 0 if it stands for none."""
    score: cython.double = 0
    return score if score_of(entry, _width(entry, end - entry), cython.address(score)) else 0


@cython.cfunc
def _text(entry: cython.p_uchar) -> bytes:
    """An element that is whole; integers as decimal text."""
    head: cython.int = text_head(entry)
    width: cython.Py_ssize_t = _width(entry, LONGEST_HEAD)
    digits: cython.uchar[24]
    if head:
        return entry[head:width]
    size: cython.int = put_decimal(number_of(entry, width), digits)
    return digits[:size]
