"""Whether packed collections are sound, as C: structure, count, duplicates, order of scores.

What these collections look like, and the words for what is wrong with one, stand in `pyrepl.rdb.packed` and
`pyrepl.rdb.types`; the plain form is `pyrepl.rdb.soundness`. Stricter than they are: an element must be written the one
way that Redis writes it, so that equal bytes mean equal elements.
"""

from __future__ import annotations

from pyrepl.rdb.types import hash as hashes
from pyrepl.rdb.types import list as lists
from pyrepl.rdb.types import set as sets

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.stdlib import strtod
    from cython.cimports.libc.string import memcmp, memcpy, memset
    from cython.cimports.pyrepl.rdb.compiled.sink import parse_integer

    SET_INTSET = cython.declare(cython.int, sets.SET_INTSET)
    HASH_LISTPACK = cython.declare(cython.int, hashes.HASH_LISTPACK)
    LIST_QUICKLIST2 = cython.declare(cython.int, lists.LIST_QUICKLIST2)
    SET_LISTPACK = cython.declare(cython.int, sets.SET_LISTPACK)
    UNKNOWN = cython.declare(cython.int, 0xFFFF)
    """As a listpack's number of elements: it does not say."""
    MOST_CHECKED = cython.declare(cython.int, 1024)
    """Elements of a listpack that is looked through for duplicates here."""


class Checks:
    """Looks at one collection at a time."""

    def is_sound(self, kind: cython.int, data: cython.p_uchar, size: cython.Py_ssize_t) -> cython.bint:
        """Whether a packed value is what the RDB type `kind` may hold, and written as Redis writes it."""
        if kind == SET_INTSET:
            return _is_intset(data, size)
        checked: cython.bint = kind != LIST_QUICKLIST2
        count: cython.int = self._elements(data, size, checked)
        if count <= 0:
            return False
        if kind == LIST_QUICKLIST2:
            return True
        if kind == SET_LISTPACK:
            return self._are_distinct(data, count, 1)
        if count & 1 or not self._are_distinct(data, count, 2):
            return False
        return kind == HASH_LISTPACK or self._is_ascending(data, count)

    def _elements(self, data: cython.p_uchar, size: cython.Py_ssize_t, noted: cython.bint) -> cython.int:
        """How many elements a listpack has, -1 if it is not sound; `noted`: where they are, in `_starts`, `_sizes`."""
        if size < 7 or size > 0x7FFFFFFF or _unsigned(data, 4) != size or data[size - 1] != 0xFF:
            return -1
        end: cython.Py_ssize_t = size - 1
        pos: cython.Py_ssize_t = 6
        count: cython.int = 0
        width: cython.Py_ssize_t
        head: cython.int
        first: cython.int
        while pos < end:
            first = data[pos]
            if first < 0x80:
                width = 1
            elif first < 0xC0:
                width = 1 + (first & 63)
            elif first < 0xE0:
                width = 2
            elif first < 0xF0:
                if pos + 2 > end:
                    return -1
                width = 2 + ((first & 15) << 8 | data[pos + 1])
            elif first == 0xF0:
                if pos + 5 > end:
                    return -1
                width = 5 + _unsigned(data + pos + 1, 4)
            elif first <= 0xF4:
                width = first - 0xF1 + 3 if first < 0xF4 else 9
            else:
                return -1
            if pos + width >= end:
                return -1
            if noted:
                if count >= MOST_CHECKED or not _is_canonical(data + pos, width):
                    return -1
                self._starts[count] = pos
                self._sizes[count] = width
            pos += width
            head = _back_length(data + pos, width, end - pos)
            if head == 0:
                return -1
            pos += head
            count += 1
        # 65535 says that they are to be counted: 65535 of them or more, or any number in the format of whoever wrote
        # it. None that says so is kept, so that the head of what is kept tells the truth, and may be computed with.
        declared: cython.int = data[4] | data[5] << 8
        return count if pos == end and count < UNKNOWN and declared == count else -1

    def _are_distinct(self, data: cython.p_uchar, count: cython.int, step: cython.int) -> cython.bint:
        """Whether no two of every `step`th element are the same; as all are canonical, their bytes decide."""
        room: cython.int = 16
        while room < count // step * 2:
            room *= 2
        memset(self._slots, 0, room * 2)
        index: cython.int
        at: cython.int
        other: cython.int
        hashed: cython.uint
        byte: cython.p_uchar
        end: cython.p_uchar
        index = 0
        while index < count:
            hashed = 2166136261
            byte = data + self._starts[index]
            end = byte + self._sizes[index]
            while byte < end:
                hashed = (hashed ^ byte[0]) * 16777619
                byte += 1
            at = (hashed ^ hashed >> 15) & (room - 1)
            while self._slots[at]:
                other = self._slots[at] - 1
                if self._sizes[other] == self._sizes[index] and not memcmp(
                    data + self._starts[other], data + self._starts[index], self._sizes[index]
                ):
                    return False
                at = (at + 1) & (room - 1)
            self._slots[at] = index + 1
            index += step
        return True

    def _is_ascending(self, data: cython.p_uchar, count: cython.int) -> cython.bint:
        """Whether the members of a sorted set stand by (score, member), and all scores are plain numbers."""
        index: cython.int
        score: cython.double = 0
        before: cython.double = 0
        index = 1
        while index < count:
            if not score_of(data + self._starts[index], self._sizes[index], cython.address(score)):
                return False
            if index > 1 and not before < score:
                if before != score or not is_before(
                    data + self._starts[index - 3],
                    self._sizes[index - 3],
                    data + self._starts[index - 1],
                    self._sizes[index - 1],
                ):
                    return False
            before = score
            index += 2
        return True


@cython.cfunc
@cython.exceptval(check=False)
def _unsigned(data: cython.p_uchar, width: cython.int) -> cython.Py_ssize_t:
    """Up to 4 bytes, least significant first."""
    number: cython.Py_ssize_t = 0
    while width:
        width -= 1
        number = number << 8 | data[width]
    return number


def signed_of(data: cython.p_uchar, width: cython.Py_ssize_t) -> cython.longlong:
    """Up to 8 bytes, least significant first."""
    number: cython.ulonglong = 0
    at: cython.Py_ssize_t = width
    while at:
        at -= 1
        number = number << 8 | data[at]
    if width < 8 and data[width - 1] & 0x80:
        number |= cython.cast(cython.ulonglong, 0xFFFFFFFFFFFFFFFF) << (8 * width)
    return cython.cast(cython.longlong, number)


def put_decimal(number: cython.longlong, out: cython.p_uchar) -> cython.int:
    """The decimal text into 20 bytes at most; how many it has."""
    digits: cython.uchar[20]
    count: cython.int = 0
    size: cython.int = 0
    left: cython.ulonglong = cython.cast(cython.ulonglong, number)
    if number < 0:
        out[0] = 0x2D
        size = 1
        left = 0 - left
    while True:
        digits[count] = 0x30 + left % 10
        left //= 10
        count += 1
        if left == 0:
            break
    while count:
        count -= 1
        out[size] = digits[count]
        size += 1
    return size


@cython.cfunc
@cython.exceptval(check=False)
def _is_intset(data: cython.p_uchar, size: cython.Py_ssize_t) -> cython.bint:
    if size < 10:
        return False
    width: cython.Py_ssize_t = _unsigned(data, 4)
    count: cython.Py_ssize_t = _unsigned(data + 4, 4)
    if (width != 2 and width != 4 and width != 8) or 8 + count * width != size:
        return False
    index: cython.Py_ssize_t
    for index in range(1, count):
        if signed_of(data + 8 + (index - 1) * width, width) >= signed_of(data + 8 + index * width, width):
            return False
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _back_length(data: cython.p_uchar, size: cython.Py_ssize_t, room: cython.Py_ssize_t) -> cython.int:
    """How many bytes say backwards that the element before them has `size` bytes; 0 if they say something else."""
    groups: cython.int = 5
    if size <= 127:
        groups = 1
    elif size < 16383:
        groups = 2
    elif size < 2097151:
        groups = 3
    elif size < 268435455:
        groups = 4
    if groups > room:
        return 0
    at: cython.int = groups
    while at:
        at -= 1
        if data[at] != ((size & 127) | (128 if at else 0)):
            return 0
        size >>= 7
    return groups


def number_of(entry: cython.p_uchar, width: cython.Py_ssize_t) -> cython.longlong:
    """The integer of an element that is one."""
    number: cython.longlong
    if entry[0] < 0x80:
        return entry[0]
    if entry[0] < 0xE0:
        number = (entry[0] & 31) << 8 | entry[1]
        return number - 0x2000 if number >= 0x1000 else number
    return signed_of(entry + 1, width - 1)


def text_head(entry: cython.p_uchar) -> cython.int:
    """Bytes before the text of an element that is a string; 0 for an integer."""
    if 0x80 <= entry[0] < 0xC0:
        return 1
    if 0xE0 <= entry[0] < 0xF0:
        return 2
    return 5 if entry[0] == 0xF0 else 0


@cython.cfunc
@cython.exceptval(check=False)
def _is_canonical(entry: cython.p_uchar, width: cython.Py_ssize_t) -> cython.bint:
    """Whether an element is written the one way that Redis writes it."""
    number: cython.longlong = 0
    head: cython.int = text_head(entry)
    size: cython.Py_ssize_t = width - head
    if head:
        if size >= (64 if head == 2 else (4096 if head == 5 else 0)):
            return not parse_integer(entry + head, size, cython.address(number))
        return False
    number = number_of(entry, width)
    if entry[0] < 0x80:
        return True
    if entry[0] < 0xE0:
        return number < 0 or number > 127
    if width == 3:
        return number < -0x1000 or number > 0xFFF
    if width == 4:
        return number < -0x8000 or number > 0x7FFF
    if width == 5:
        return number < -0x800000 or number > 0x7FFFFF
    return number < -0x80000000 or number > 0x7FFFFFFF


def score_of(entry: cython.p_uchar, width: cython.Py_ssize_t, score: cython.pointer[cython.double]) -> cython.bint:
    """Whether an element is an integer, or text of digits, sign, point, exponent, or infinity; `score` is it then."""
    head: cython.int = text_head(entry)
    size: cython.Py_ssize_t = width - head
    text: cython.char[64]
    end: cython.p_char = cython.NULL
    at: cython.Py_ssize_t
    byte: cython.uchar
    if not head:
        score[0] = cython.cast(cython.double, number_of(entry, width))
        return True
    if size == 0 or size >= 64:
        return False
    memcpy(text, entry + head, size)
    text[size] = 0
    at = 1 if text[0] == 0x2D else 0
    if size - at != 3 or memcmp(entry + head + at, cython.cast(cython.p_char, b"inf"), 3):
        for at in range(size):
            byte = text[at]
            if not (0x30 <= byte <= 0x39 or byte == 0x2D or byte == 0x2B or byte == 0x2E or byte == 0x65):
                return False
    score[0] = strtod(text, cython.address(end))
    return end == cython.cast(cython.p_char, text) + size


def is_before(
    one: cython.p_uchar, width: cython.Py_ssize_t, two: cython.p_uchar, other: cython.Py_ssize_t
) -> cython.bint:
    """Whether the text of one element sorts before that of another."""
    first: cython.uchar[24]
    second: cython.uchar[24]
    if text_head(one):
        width -= text_head(one)
        one += text_head(one)
    else:
        width = put_decimal(number_of(one, width), first)
        one = first
    if text_head(two):
        other -= text_head(two)
        two += text_head(two)
    else:
        other = put_decimal(number_of(two, other), second)
        two = second
    order: cython.int = memcmp(one, two, width if width < other else other)
    return order < 0 or (order == 0 and width < other)
