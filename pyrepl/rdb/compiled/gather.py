"""Gathers borrowed references to the elements of a collection and sorts them, as C.

The walk over a database (`pyrepl.keyspace.borrowed_walk`) needs it for lists, sets and sorted sets. References are
borrowed, as counting them would write to every page that the parent shares with a snapshot's child.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.libc.stdlib import free, realloc
    from cython.cimports.libc.string import memcmp
    from cython.cimports.pyrepl.rdb.compiled.raw import BYTES, Item, Ref, size_of, text_of, type_of


class References:
    """A growing array of borrowed references; `failed` once memory was out."""

    def __dealloc__(self) -> None:
        free(self.items)


def collect(item: cython.pointer[Ref], into: cython.p_void) -> cython.int:
    """Add `item` to the References `into`; `tp_traverse` calls it for each element of a container.

    From Python 3.12 on `tp_traverse` passes the container's type as well, so anything that is no bytes object is left
    out.
    """
    found: References = cython.cast(References, into)
    if type_of(item) is not cython.address(BYTES):
        return 0
    if found.count == found.room:
        room: cython.Py_ssize_t = found.room * 2 + 64
        items: cython.p_void = realloc(found.items, room * cython.sizeof(cython.p_void))
        if items is cython.NULL:
            found.failed = True
            return 0
        found.items = cython.cast(cython.pointer[cython.pointer[Ref]], items)
        found.room = room
    found.items[found.count] = item
    found.count += 1
    return 0


def by_score(left: Item, right: Item) -> cython.int:
    one: cython.pointer[Scored] = cython.cast(cython.pointer[Scored], left)
    two: cython.pointer[Scored] = cython.cast(cython.pointer[Scored], right)
    if one.score != two.score:
        return -1 if one.score < two.score else 1
    size: cython.Py_ssize_t = size_of(one.member)
    other: cython.Py_ssize_t = size_of(two.member)
    order: cython.int = memcmp(text_of(one.member), text_of(two.member), size if size < other else other)
    if order:
        return order
    return -1 if size < other else (1 if size > other else 0)


def by_number(left: Item, right: Item) -> cython.int:
    one: cython.longlong = cython.cast(cython.pointer[cython.longlong], left)[0]
    two: cython.longlong = cython.cast(cython.pointer[cython.longlong], right)[0]
    return -1 if one < two else (1 if one > two else 0)
