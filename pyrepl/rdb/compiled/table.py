"""A large dictionary that is about to be filled, as C: made in its final size.

There is no plain form, and none is needed: a dictionary holds the same without, and is filled more slowly.

CPython has no call that makes an empty dictionary of a given size, but one that is updated from another makes room for
as many keys as that one says it has. So it is updated from an empty one that says so.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.raw import DictObject, Ref, dict_update

    FEW = cython.declare(cython.Py_ssize_t, 1000)
    """Keys that need no foresight. With one only, the empty dictionary would look as full as it says, and be copied."""


def foresee(table: dict, count: cython.Py_ssize_t) -> cython.int:
    """Make room for `count` more keys, whose number does not come from the data alone. Raises MemoryError."""
    if count < FEW:
        return 0
    hollow: dict = {b"": None}
    del hollow[b""]
    says: cython.pointer[DictObject] = cython.cast(cython.pointer[DictObject], hollow)
    says.ma_used = count
    try:
        dict_update(cython.cast(cython.pointer[Ref], table), cython.cast(cython.pointer[Ref], hollow))
    finally:
        says.ma_used = 0
    return 0
