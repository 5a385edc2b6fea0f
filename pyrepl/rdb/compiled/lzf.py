"""LZF as C. The format and the plain form stand in `pyrepl.rdb.lzf`."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
    from cython.cimports.libc.string import memcpy, memset

COMPILED = cython.compiled

_seen = cython.declare(cython.uint[16384])
"""Hash of three bytes -> `_base` plus where they were last; what is below `_base` is of an earlier string."""
_base = cython.declare(cython.uint, 1)


def compress(data: bytes) -> bytes | None:
    """`data`, of more than 4 bytes, compressed, or None when that would not save at least 4 bytes."""
    size: cython.Py_ssize_t = len(data)
    packed: bytes = PyBytes_FromStringAndSize(cython.NULL, size - 4)
    used: cython.Py_ssize_t = compress_into(
        cython.cast(cython.p_uchar, PyBytes_AS_STRING(data)),
        size,
        cython.cast(cython.p_uchar, PyBytes_AS_STRING(packed)),
        size - 4,
    )
    return packed[:used] if used else None


def decompress(data: bytes, size: int) -> bytes | None:
    """The `size` bytes that `data` stands for; None if it stands for anything else."""
    plain: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
    if not decompress_into(
        cython.cast(cython.p_uchar, PyBytes_AS_STRING(data)),
        len(data),
        cython.cast(cython.p_uchar, PyBytes_AS_STRING(plain)),
        size,
    ):
        return None
    return plain


def compress_into(
    data: cython.p_uchar, size: cython.Py_ssize_t, out: cython.p_uchar, room: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Compress into at most `room` bytes; how many it took, 0 when they do not suffice."""
    global _base
    if _base > 0x7FFFFFFF - cython.cast(cython.uint, size & 0x3FFFFFFF) or size > 0x3FFFFFFF:
        memset(_seen, 0, cython.sizeof(_seen))
        _base = 1
        if size > 0x3FFFFFFF:
            return 0
    base: cython.uint = _base
    _base += cython.cast(cython.uint, size)
    pos: cython.Py_ssize_t = 0
    literals: cython.Py_ssize_t = 0
    used: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    length: cython.Py_ssize_t
    limit: cython.Py_ssize_t
    back: cython.Py_ssize_t
    slot: cython.uint
    seen: cython.uint
    while pos + 2 < size:
        slot = (
            (cython.cast(cython.uint, data[pos]) << 16 | cython.cast(cython.uint, data[pos + 1]) << 8 | data[pos + 2])
            * cython.cast(cython.uint, 2654435761)
        ) >> 18
        seen = _seen[slot]
        _seen[slot] = base + cython.cast(cython.uint, pos)
        if seen < base:
            pos += 1
            continue
        at = seen - base
        back = pos - at - 1
        if back >= 8192 or data[at] != data[pos] or data[at + 1] != data[pos + 1] or data[at + 2] != data[pos + 2]:
            pos += 1
            continue
        limit = size - pos
        if limit > 264:
            limit = 264
        length = 3
        while length < limit and data[at + length] == data[pos + length]:
            length += 1
        used = _put_literals_into(data, literals, pos, out, used, room)
        if used < 0 or used + 3 > room:
            return 0
        if length < 9:
            out[used] = cython.cast(cython.uchar, (length - 2) << 5 | back >> 8)
            used += 1
        else:
            out[used] = cython.cast(cython.uchar, 7 << 5 | back >> 8)
            out[used + 1] = cython.cast(cython.uchar, length - 9)
            used += 2
        out[used] = cython.cast(cython.uchar, back & 255)
        used += 1
        pos += length
        literals = pos
    used = _put_literals_into(data, literals, size, out, used, room)
    return used if used > 0 else 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _put_literals_into(
    data: cython.p_uchar,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    out: cython.p_uchar,
    used: cython.Py_ssize_t,
    room: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """How many bytes are used now, -1 when the room does not suffice."""
    size: cython.Py_ssize_t
    while start < stop:
        size = stop - start
        if size > 32:
            size = 32
        if used + size + 1 > room:
            return -1
        out[used] = cython.cast(cython.uchar, size - 1)
        memcpy(out + used + 1, data + start, size)
        used += size + 1
        start += size
    return used


def decompress_into(
    data: cython.p_uchar, end: cython.Py_ssize_t, out: cython.p_uchar, size: cython.Py_ssize_t
) -> cython.bint:
    """Whether `data` expands to exactly `size` bytes; these are in `out` then."""
    pos: cython.Py_ssize_t = 0
    used: cython.Py_ssize_t = 0
    control: cython.Py_ssize_t
    length: cython.Py_ssize_t
    distance: cython.Py_ssize_t
    done: cython.Py_ssize_t
    while pos < end:
        control = data[pos]
        pos += 1
        if control < 32:
            length = control + 1
            if pos + length > end or used + length > size:
                return False
            # Copies of a fixed size need no call; they may put more than is wanted where there is room for it.
            if length <= 16 and used + 16 <= size and pos + 16 <= end:
                memcpy(out + used, data + pos, 16)
            else:
                memcpy(out + used, data + pos, length)
            pos += length
            used += length
            continue
        length = control >> 5
        if length == 7:
            if pos >= end:
                return False
            length += data[pos]
            pos += 1
        if pos >= end:
            return False
        distance = ((control & 31) << 8 | data[pos]) + 1
        pos += 1
        length += 2
        if distance > used or used + length > size:
            return False
        if distance >= 8 and used + length + 8 <= size:
            done = 0
            while done < length:
                memcpy(out + used + done, out + used + done - distance, 8)
                done += 8
            used += length
        elif distance >= length:
            memcpy(out + used, out + used - distance, length)
            used += length
        elif distance == 1:
            memset(out + used, out[used - 1], length)
            used += length
        else:
            while length:
                out[used] = out[used - distance]
                used += 1
                length -= 1
    return used == size
