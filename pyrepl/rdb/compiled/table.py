"""A large dictionary that is about to be filled, as C: made in its final size, and its places fetched ahead of use.

There is no plain form, and none is needed: a dictionary holds the same without, and is filled more slowly.

CPython has no call that makes an empty dictionary of a given size, but one that is updated from another makes room for
as many keys as that one says it has. So it is updated from an empty one that says so.

Where a key belongs in a table of millions no cache knows, so looking each up waits for memory. `ask_for_place` reckons
the address, as `dictobject.c` of CPython 3.11 to 3.14 lays the table out, and has it fetched meanwhile. With another
layout some other address is fetched, which does no harm: nothing is read or written there.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.raw import BytesObject, DictObject, Ref, dict_update, fetch

    HEAD_BYTES = cython.declare(cython.int, 32)
    """Of a table of keys, before its indices."""
    SIZE_AT = cython.declare(cython.int, 8)
    """The binary logarithm of the number of indices; in the next byte that of their bytes."""
    FEW = cython.declare(cython.Py_ssize_t, 1000)
    """Keys that need no foresight. With one only, the empty dictionary would look as full as it says, and be copied."""
    MOST_FORESEEN = cython.declare(cython.Py_ssize_t, 1 << 23)
    """Keys that somebody's word is taken for; a table for so many has a third of a gigabyte."""


def foresee(table: dict, count: cython.Py_ssize_t) -> cython.int:
    """Make room for `count` more keys, or for as many as may be promised without proof. Raises MemoryError."""
    if count < FEW:
        return 0
    hollow: dict = {b"": None}
    del hollow[b""]
    says: cython.pointer[DictObject] = cython.cast(cython.pointer[DictObject], hollow)
    says.ma_used = count if count < MOST_FORESEEN else MOST_FORESEEN
    try:
        dict_update(cython.cast(cython.pointer[Ref], table), cython.cast(cython.pointer[Ref], hollow))
    finally:
        says.ma_used = 0
    return 0


def ask_for_place(table: cython.pointer[Ref], key: cython.pointer[Ref]) -> cython.void:
    """Have the memory fetched where `key`, a bytes object whose hash is known, would be looked up."""
    keys: cython.p_uchar = cython.cast(cython.p_uchar, cython.cast(cython.pointer[DictObject], table).ma_keys)
    size: cython.int = keys[SIZE_AT]
    width: cython.int = keys[SIZE_AT + 1] - size
    mask: cython.size_t = (cython.cast(cython.size_t, 1) << size) - 1
    place: cython.size_t = cython.cast(cython.size_t, cython.cast(cython.pointer[BytesObject], key).ob_shash) & mask
    fetch(keys + HEAD_BYTES + (place << width))
