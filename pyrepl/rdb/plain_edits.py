"""Small collections changed while they stay packed, in plain Python: what stands in for `compiled.edits`.

The same functions with the same results, byte for byte, blocks that lie included. What each of them promises is
written there in full; which of the two is called is decided in `edits`. What a listpack is stands in `packed.listpack`.

Nothing here believes a field of a block: a walk goes from element to element by `_behind`, which is given the end of
the block and leads nowhere but to it, and `_taken` lets in no block with more elements than it has room for. A walk is
slow in Python: so the loops step over short elements, which most are, without a call, and a field or member is first
searched for as bytes; only what is found that way is walked to, to see that an element begins there.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from pyrepl.rdb.packed.listpack import COUNT_UNKNOWN, HEADER_BYTES, encode_entry
from pyrepl.rdb.soundness import score_of
from pyrepl.rdb.types.zset import format_score

NO: Final = -1

_SMALLEST: Final = 7
"""Bytes of a block without elements."""
_LEAST_ENTRY: Final = 2
"""Bytes of the smallest element with its back length."""
_LONGEST: Final = 64
"""Bytes of a field, its value, or a member: Redis's default for what a listpack may hold."""
_MOST_PAIRED: Final = 256
"""Elements of a hash or sorted set: two for each of Redis's 128 pairs."""
_LARGEST: Final = 1024
"""Bytes of a block that is changed: it is copied each time."""
_EMPTY: Final = bytes(HEADER_BYTES)
_SIZE: Final = Struct("<I")
_COUNT: Final = Struct("<H")
_COUNT_AT: Final = 4
"""Where in its head a block says how many elements it has."""


# ------------------------------------------------------------------ hashes


def packed_hash(cls: type[Any], pairs: tuple[bytes, ...]) -> Any:
    """A new block of class `cls` of field, value, ...; None if it would not be small."""
    work = bytearray(_EMPTY)
    return None if _put_pairs(work, pairs) < 0 else _made(cls, work)


def set_fields(packed: Any, pairs: tuple[bytes, ...]) -> Any:
    """(a hash with fields and values put into it, how many fields are new), or None."""
    work = _taken(packed)
    if work is None:
        return None
    created = _put_pairs(work, pairs)
    return None if created < 0 else _changed(packed, work, created)


def field_value(packed: Any, field: bytes) -> Any:
    """The value of a hash's field, None without the field."""
    end = len(packed) - 1
    at = _find(packed, end, encode_entry(field))
    return None if at < 0 else _text(packed, _behind(packed, at, end))


# ------------------------------------------------------------------ lists


def packed_list(cls: type[Any], elements: tuple[bytes, ...], left: bool) -> Any:
    """A new block of class `cls` of elements pushed one by one from an end; None if it would not be small."""
    work = bytearray(_EMPTY)
    return _made(cls, work) if _push(work, elements, left) else None


def push(packed: Any, elements: tuple[bytes, ...], left: bool) -> Any:
    """(a list with elements pushed to it, its length), or None."""
    work = _taken(packed)
    if work is None or not _push(work, elements, left):
        return None
    return _changed(packed, work, _count(work))


def pop(packed: Any, left: bool) -> Any:
    """(a list of at least two elements without the one at an end, that element), or None."""
    work = _taken(packed)
    if work is None or _count(work) < 2:
        return None
    end = len(work)
    start = HEADER_BYTES if left else _last(work, HEADER_BYTES, end)
    behind = NO if start < 0 else _behind(work, start, end)
    if behind < 0 or (not left and behind != end):
        return None
    element = _text(work, start)
    del work[start:behind]
    _note_count(work, -1)
    return _changed(packed, work, element)


def elements(packed: Any, start: int, end: int) -> list[bytes]:
    """The elements of the half-open range [start, end) of any block; bounds may lie beyond its elements."""
    found: list[bytes] = []
    at = HEADER_BYTES
    last = len(packed) - 1
    left = end - start
    while left > 0 and at < last:
        first = packed[at]
        if first < 0xC0:
            behind = at + 2 if first < 0x80 else at + 2 + (first & 63)
            if behind > last:
                break
        else:
            behind = _behind(packed, at, last)
            if behind < 0:
                break
        if start > 0:
            start -= 1
        else:
            if 0x80 <= first < 0xC0:
                found.append(packed[at + 1 : behind - 1])
            else:
                found.append(_text(packed, at))
            left -= 1
        at = behind
    return found


def element_count(packed: Any) -> int:
    """How many elements any block has, as its head says; NO if it has no head."""
    return _count(packed) if len(packed) >= _SMALLEST else NO


# ------------------------------------------------------------------ sorted sets


def packed_zset(cls: type[Any], member: bytes, score: float) -> Any:
    """A new block of class `cls` of one member; None if that would not be small."""
    return packed_scores(cls, {member: score})


def packed_scores(cls: type[Any], scores: dict[bytes, float]) -> Any:
    """A new block of class `cls` of members with their scores; None if it would not be small."""
    if 2 * len(scores) > _MOST_PAIRED or max(map(len, scores), default=0) > _LONGEST:
        return None
    work = bytearray(_EMPTY)
    # Put in their order at once, each goes to the end.
    for score, member in sorted([(score or 0.0, member) for member, score in scores.items()]):
        work += encode_entry(member)
        work += encode_entry(format_score(score))
    _note_count(work, 2 * len(scores))
    return _made(cls, work)


def set_score(packed: Any, member: bytes, score: float) -> Any:
    """(a sorted set with the score of a member set, what was done), or None; done: see `compiled.edits.set_score`."""
    work = _taken(packed)
    if work is None or len(member) > _LONGEST:
        return None
    score = score or 0.0
    done = 1
    entry = encode_entry(member)
    at = _find(work, len(work), entry)
    if at >= 0:
        behind = _behind(work, at, len(work))
        if _score(work, behind) == score:
            return packed, 0
        done = 2
        del work[at : _behind(work, behind, len(work))]
        _note_count(work, -2)
    place = _place_of(work, member, score)
    work[place:place] = entry + encode_entry(format_score(score))
    _note_count(work, 2)
    return None if _count(work) > _MOST_PAIRED else _changed(packed, work, done)


def member_score(packed: Any, member: bytes) -> Any:
    """The score of a sorted set's member, None without the member."""
    end = len(packed) - 1
    at = _find(packed, end, encode_entry(member))
    return None if at < 0 else _score(packed, _behind(packed, at, end))


# ------------------------------------------------------------------ what is being changed


def _taken(packed: bytes) -> bytearray | None:
    """A copy of a block without its last byte; None if it is too large to be changed, or says that it has more
    elements than fit into it."""
    size = len(packed)
    if size < _SMALLEST or size > _LARGEST or _LEAST_ENTRY * _count(packed) > size - _SMALLEST:
        return None
    work = bytearray(packed)
    del work[-1]
    return work


def _made(cls: type[Any], work: bytearray) -> Any:
    """The block as an object, None if it is not small any more."""
    if len(work) >= _LARGEST:
        return None
    work.append(0xFF)
    _SIZE.pack_into(work, 0, len(work))
    return cls(work)


def _changed(packed: Any, work: bytearray, told: object) -> Any:
    """(the block, of the class that it was of, and what is told of the change); None if it is not small any more."""
    made = _made(type(packed), work)
    return None if made is None else (made, told)


def _put_pairs(work: bytearray, pairs: tuple[bytes, ...]) -> int:
    """Fields and values into the hash; how many fields are new, NO if one is too long or they are too many."""
    created = 0
    for index in range(0, len(pairs), 2):
        field, content = pairs[index], pairs[index + 1]
        if len(field) > _LONGEST or len(content) > _LONGEST or len(work) > _LARGEST:
            return NO
        entry = encode_entry(field)
        at = _find(work, len(work), entry)
        if at < 0:
            work += entry
            work += encode_entry(content)
            _note_count(work, 2)
            created += 1
            continue
        at = _behind(work, at, len(work))
        work[at : _behind(work, at, len(work))] = encode_entry(content)
    return NO if _count(work) > _MOST_PAIRED else created


def _push(work: bytearray, elements: tuple[bytes, ...], left: bool) -> bool:
    """Elements to an end of the list; False if one is too long."""
    for element in elements:
        if len(element) + len(work) > _LARGEST:
            return False
        at = HEADER_BYTES if left else len(work)
        work[at:at] = encode_entry(element)
        _note_count(work, 1)
    return True


def _place_of(work: bytearray, member: bytes, score: float) -> int:
    """Before which byte a member with such a score has its place."""
    at = HEADER_BYTES
    end = len(work)
    while at < end:
        first = work[at]
        behind = at + 2 + (first & 63) if 0x80 <= first < 0xC0 else _behind(work, at, end)
        if not 0 <= behind < end:
            break
        first = work[behind]
        following = behind + 2 if first < 0x80 else _behind(work, behind, end)
        if not 0 <= following <= end:
            break
        other = first if first < 0x80 else _score(work, behind)
        if score <= other and (score < other or member < _text(work, at)):
            break
        at = following
    return at


def _note_count(work: bytearray, more: int) -> None:
    _COUNT.pack_into(work, _COUNT_AT, _count(work) + more & COUNT_UNKNOWN)


# ------------------------------------------------------------------ reading


def _count(data: bytes | bytearray) -> int:
    return data[4] | data[5] << 8


def _find(data: bytes | bytearray, end: int, wanted: bytes) -> int:
    """Where the first of a pair is that is the entry `wanted`, NO if none is; both of the pair are whole before `end`.

    Each text has one encoding, so bytes decide.
    """
    seen = data.find(wanted, HEADER_BYTES, max(end, 0))
    at = HEADER_BYTES
    while seen >= 0:
        first = data[at]
        behind = at + 2 + (first & 63) if 0x80 <= first < 0xC0 else _behind(data, at, end)
        if not 0 <= behind < end:
            return NO
        first = data[behind]
        following = behind + 2 + (first & 63) if 0x80 <= first < 0xC0 else _behind(data, behind, end)
        if not 0 <= following <= end:
            return NO
        if at == seen:
            return at
        at = following
        if at > seen:
            seen = data.find(wanted, at, end)
    return NO


def _width(data: bytes | bytearray, at: int, room: int) -> int:
    """The bytes of the element at `at` without its back length, which may be more than `room`; 0 when its head is.

    Of `room` bytes, at least one, no more are read.
    """
    first = data[at]
    if first < 0x80:
        return 1
    if first < 0xC0:
        return 1 + (first & 63)
    if first < 0xE0:
        return 2
    if first < 0xF0:
        return 0 if room < 2 else 2 + ((first & 15) << 8 | data[at + 1])
    if first == 0xF0:
        return 0 if room < 5 else 5 + int.from_bytes(data[at + 1 : at + 5], "little")
    if first > 0xF4:
        return 0
    return 9 if first == 0xF4 else first - 0xF1 + 3


def _behind(data: bytes | bytearray, at: int, end: int) -> int:
    """Where the next element begins; NO when there is none at `at` that is whole before `end`.

    Limits as in `packed.listpack.encode_back_length`.
    """
    room = end - at
    if room <= 0:
        return NO
    first = data[at]
    if first < 0xC0:
        behind = at + 2 if first < 0x80 else at + 2 + (first & 63)
        return behind if behind <= end else NO
    width = _width(data, at, room)
    groups = 1
    if width > 127:
        groups = 2 if width < 16383 else (3 if width < 2097151 else (4 if width < 268435455 else 5))
    return NO if width == 0 or width + groups > room else at + width + groups


def _last(data: bytearray, start: int, end: int) -> int:
    """Where the element before `end` begins, by its back length; NO when that is not between `start` and `end`."""
    groups = width = 0
    byte = 128
    while byte & 128:
        groups += 1
        if groups > 5 or groups > end - start:
            return NO
        byte = data[end - groups]
        width |= (byte & 127) << (7 * (groups - 1))
    return NO if width + groups > end - start else end - groups - width


def _score(data: bytes | bytearray, at: int) -> float:
    """The number that the whole element at `at` stands for, 0 if it stands for none."""
    score = score_of(_text(data, at))
    return 0.0 if score is None else score


def _text(data: bytes | bytearray, at: int) -> bytes:
    """The element at `at`, which is whole; integers as decimal text."""
    first = data[at]
    if first < 0x80:
        return b"%d" % first
    if first < 0xC0:
        return bytes(data[at + 1 : at + 1 + (first & 63)])
    stop = at + _width(data, at, len(data) - at)
    if first < 0xE0:
        number = (first & 31) << 8 | data[at + 1]
        return b"%d" % (number - 0x2000 if number >= 0x1000 else number)
    if first <= 0xF0:
        return bytes(data[at + (2 if first < 0xF0 else 5) : stop])
    return b"%d" % int.from_bytes(data[at + 1 : stop], "little", signed=True)
