# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A list of byte strings as the array of bulk strings that a reply carries, in one piece. Hot: LRANGE and its like.

Compiled by Cython into one allocation and one pass of copies; as it is written it joins pieces. What a reply may hold
besides is encoder.py's.
"""

from __future__ import annotations

from typing import Any, Final

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
    from cython.cimports.libc.string import memcpy
    from cython.cimports.pyrepl.rdb.compiled.raw import BYTES, Ref, item_of, size_of, text_of, type_of


LARGE_BYTES: Final = 8192
"""Items of so many bytes on average, or more, are not worth a copy: the encoder hands them on as they are."""


def encode_bulks(items: list[Any]) -> bytes | None:
    """`*<count>` and each item as `$<size>` and its bytes; None when one is no `bytes` object, or they are large."""
    if cython.compiled:
        return _encode(items)
    pieces = [b"*%d\r\n" % len(items)]
    size = 0
    for item in items:
        if type(item) is not bytes:
            return None
        size += len(item)
        if size >= LARGE_BYTES * len(items):
            return None
        pieces.append(b"$%d\r\n%b\r\n" % (len(item), item))
    return b"".join(pieces)


if cython.compiled:

    @cython.cfunc
    def _encode(items: list) -> bytes:
        count: cython.Py_ssize_t = len(items)
        room: cython.Py_ssize_t = 3 + _digits(count)
        index: cython.Py_ssize_t
        item: cython.pointer[Ref]
        for index in range(count):
            item = item_of(items, index)
            if type_of(item) is not cython.address(BYTES):
                return None
            room += 5 + _digits(size_of(item)) + size_of(item)
        # LARGE_BYTES, as a number of C.
        if room >= 8192 * (count + 1):
            return None
        encoded: bytes = PyBytes_FromStringAndSize(cython.NULL, room)
        at: cython.p_char = _put_line(PyBytes_AS_STRING(encoded), 42, count)
        for index in range(count):
            item = item_of(items, index)
            at = _put_line(at, 36, size_of(item))
            memcpy(at, text_of(item), size_of(item))
            at += size_of(item)
            at[0] = 13
            at[1] = 10
            at += 2
        return encoded

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _digits(number: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """How many decimal digits a number from 0 on has."""
        digits: cython.Py_ssize_t = 1
        while number > 9:
            number = number // 10
            digits += 1
        return digits

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _put_line(at: cython.p_char, mark: cython.char, number: cython.Py_ssize_t) -> cython.p_char:
        """The mark, the digits and a line end; where it ends."""
        digits: cython.Py_ssize_t = _digits(number)
        place: cython.p_char = at + digits
        at[0] = mark
        while place > at:
            place[0] = cython.cast(cython.char, 48 + number % 10)
            number = number // 10
            place -= 1
        at += 1 + digits
        at[0] = 13
        at[1] = 10
        return at + 2
