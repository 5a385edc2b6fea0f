"""Puts strings, lengths and elements of listpacks into one growing buffer, as C, for the writers of snapshots.

`pyrepl.rdb.writer`, `pyrepl.rdb.strings` and `pyrepl.rdb.packed.listpack` do the same in plain Python, and say what the
bytes mean. Each `put_` function makes the room that it needs, unless it says otherwise, and raises MemoryError.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.math import copysign
    from cython.cimports.libc.stdlib import free, realloc
    from cython.cimports.libc.string import memcpy, memmove, strlen
    from cython.cimports.pyrepl.rdb.compiled.lzf import compress_into
    from cython.cimports.pyrepl.rdb.compiled.raw import Py_DTSF_ADD_DOT_0, PyMem_Free, PyOS_double_to_string


class Sink:
    """A buffer that grows: the first `size` of its `room` bytes at `data` are in use."""

    def __dealloc__(self) -> None:
        free(self.data)

    def reserve(self, more: cython.Py_ssize_t) -> cython.int:
        """Make room for `more` bytes behind those in use. Raises MemoryError."""
        if self.size + more > self.room:
            return self._grow(more)
        return 0

    def _grow(self, more: cython.Py_ssize_t) -> cython.int:
        room: cython.Py_ssize_t = self.room * 2
        if room < self.size + more + 4096:
            room = self.size + more + 4096
        data: cython.p_uchar = cython.cast(cython.p_uchar, realloc(self.data, room))
        if data is cython.NULL:
            raise MemoryError
        self.data = data
        self.room = room
        return 0


def parse_integer(
    text: cython.p_uchar, size: cython.Py_ssize_t, number: cython.pointer[cython.longlong]
) -> cython.bint:
    """Whether `text` is the shortest decimal text of a signed 64-bit integer; if so, `number` is set to it."""
    if size == 0 or size > 20 or text[0] > 0x39:
        return False
    at: cython.Py_ssize_t = 0
    negative: cython.bint = text[0] == 0x2D
    if negative:
        at = 1
        if size == 1:
            return False
    if text[at] < 0x31 or text[at] > 0x39:
        if text[at] == 0x30 and size == 1:
            number[0] = 0
            return True
        return False
    value: cython.ulonglong = 0
    digit: cython.ulonglong
    while at < size:
        if text[at] < 0x30 or text[at] > 0x39:
            return False
        digit = text[at] - 0x30
        if value > (cython.cast(cython.ulonglong, 0xFFFFFFFFFFFFFFFF) - digit) // 10:
            return False
        value = value * 10 + digit
        at += 1
    if negative:
        if value > cython.cast(cython.ulonglong, 0x8000000000000000):
            return False
        number[0] = cython.cast(cython.longlong, 0 - value)
        return True
    if value > cython.cast(cython.ulonglong, 0x7FFFFFFFFFFFFFFF):
        return False
    number[0] = cython.cast(cython.longlong, value)
    return True


def put_length(sink: Sink, length: cython.Py_ssize_t) -> cython.int:
    sink.reserve(9)
    out: cython.p_uchar = sink.data + sink.size
    if length < 64:
        out[0] = length
        sink.size += 1
    elif length < 16384:
        out[0] = 0x40 | length >> 8
        out[1] = length & 255
        sink.size += 2
    elif length <= 0xFFFFFFFF:
        out[0] = 0x80
        put_big_endian(out + 1, length, 4)
        sink.size += 5
    else:
        out[0] = 0x81
        put_big_endian(out + 1, length, 8)
        sink.size += 9
    return 0


def put_big_endian(out: cython.p_uchar, number: cython.ulonglong, width: cython.int) -> cython.void:
    while width:
        width -= 1
        out[width] = number & 255
        number >>= 8


def put_little_endian(out: cython.p_uchar, number: cython.longlong, width: cython.int) -> cython.void:
    at: cython.int
    for at in range(width):
        out[at] = number & 255
        number >>= 8


def put_text(sink: Sink, text: cython.p_uchar, size: cython.Py_ssize_t, compress: cython.bint) -> cython.int:
    """A string as the format has it: as an integer if it is one of 32 bits, else compressed if `compress` and if that
    makes it shorter, else as it is."""
    number: cython.longlong = 0
    width: cython.int
    used: cython.Py_ssize_t
    start: cython.Py_ssize_t
    if size <= 11 and size and text[0] <= 0x39 and parse_integer(text, size, cython.address(number)):
        if -0x80000000 <= number <= 0x7FFFFFFF:
            width = 1 if -0x80 <= number <= 0x7F else (2 if -0x8000 <= number <= 0x7FFF else 4)
            sink.reserve(5)
            sink.data[sink.size] = 0xC0 | (width >> 1)
            put_little_endian(sink.data + sink.size + 1, number, width)
            sink.size += 1 + width
            return 0
    sink.reserve(size + 32)
    if compress and size > 20:
        start = sink.size
        used = compress_into(text, size, sink.data + start + 16, size - 4)
        if used:
            sink.data[start] = 0xC3
            sink.size += 1
            put_length(sink, used)
            put_length(sink, size)
            memmove(sink.data + sink.size, sink.data + start + 16, used)
            sink.size += used
            return 0
    put_length(sink, size)
    memcpy(sink.data + sink.size, text, size)
    sink.size += size
    return 0


def put_integer_entry(sink: Sink, number: cython.longlong) -> cython.int:
    """An integer of a listpack with its back length."""
    sink.reserve(16)
    out: cython.p_uchar = sink.data + sink.size
    width: cython.int
    if 0 <= number <= 127:
        out[0] = number
        out[1] = 1
        sink.size += 2
        return 0
    if -0x1000 <= number < 0x1000:
        out[0] = 0xC0 | (number & 0x1FFF) >> 8
        out[1] = number & 255
        out[2] = 2
        sink.size += 3
        return 0
    if -0x8000 <= number < 0x8000:
        out[0] = 0xF1
        width = 2
    elif -0x800000 <= number < 0x800000:
        out[0] = 0xF2
        width = 3
    elif -0x80000000 <= number < 0x80000000:
        out[0] = 0xF3
        width = 4
    else:
        out[0] = 0xF4
        width = 8
    put_little_endian(out + 1, number, width)
    out[width + 1] = width + 1
    sink.size += width + 2
    return 0


def put_entry(sink: Sink, text: cython.p_uchar, size: cython.Py_ssize_t) -> cython.int:
    """A string of a listpack with its back length."""
    number: cython.longlong = 0
    if parse_integer(text, size, cython.address(number)):
        return put_integer_entry(sink, number)
    sink.reserve(size + 16)
    out: cython.p_uchar = sink.data + sink.size
    head: cython.Py_ssize_t
    if size < 64:
        out[0] = 0x80 | size
        head = 1
    elif size < 4096:
        out[0] = 0xE0 | size >> 8
        out[1] = size & 255
        head = 2
    else:
        out[0] = 0xF0
        put_little_endian(out + 1, size, 4)
        head = 5
    memcpy(out + head, text, size)
    sink.size += head + size
    return put_back_length(sink, head + size)


def put_score_entry(sink: Sink, score: cython.double) -> cython.int:
    """A score of a sorted set's listpack with its back length: an integer where it is one, else its shortest text."""
    if -4503599627370496.0 < score < 4503599627370496.0 and score != 0:
        number: cython.longlong = cython.cast(cython.longlong, score)
        if cython.cast(cython.double, number) == score:
            return put_integer_entry(sink, number)
    if score == 0 and copysign(1.0, score) > 0:
        return put_integer_entry(sink, 0)
    if score == 0:
        return put_entry(sink, cython.cast(cython.p_uchar, b"-0"), 2)
    text: cython.p_char = PyOS_double_to_string(score, b"r", 0, Py_DTSF_ADD_DOT_0, cython.NULL)
    if text is cython.NULL:
        raise MemoryError
    put_entry(sink, cython.cast(cython.p_uchar, text), strlen(text))
    PyMem_Free(text)
    return 0


def put_back_length(sink: Sink, size: cython.Py_ssize_t) -> cython.int:
    """The back length of an element of `size` bytes; the caller has made room for 5 bytes.

    Limits as in `pyrepl.rdb.packed.listpack.encode_back_length`.
    """
    out: cython.p_uchar = sink.data + sink.size
    groups: cython.int
    if size <= 127:
        groups = 1
    elif size < 16383:
        groups = 2
    elif size < 2097151:
        groups = 3
    elif size < 268435455:
        groups = 4
    else:
        groups = 5
    at: cython.int = groups
    while at:
        at -= 1
        out[at] = (size & 127) | (128 if at else 0)
        size >>= 7
    sink.size += groups
    return 0
