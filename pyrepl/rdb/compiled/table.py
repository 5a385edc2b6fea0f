"""A large dictionary that is about to be filled, as C: made in its final size, and its places fetched ahead of use.

There is no plain form, and none is needed: a dictionary holds the same without, and is filled more slowly.

CPython has no call that makes an empty dictionary of a given size, but one that is updated from another makes room for
as many keys as that one says it has. So it is updated from an empty one that says so.

Where a key belongs in a table of millions no cache knows, so looking each up waits for memory. `ask_for_place` reckons
the address, as CPython 3.11 to 3.14 lay the table out (`dictobject.c`), and has it fetched; `ask_for_rival`, called
when that has come, has fetched what the lookup goes on to if the place is taken. Whether the layout is that one is
tried out when the first table is foreseen; with another nothing is fetched ahead.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.raw import BytesObject, DictObject, Ref, dict_update, fetch

    # Of a table of keys: what stands before its indices, where the binary logarithm of their number is, in the byte
    # behind it that of their bytes, and how many bytes a hash, a key and a value take that an index leads to.
    HEAD_BYTES = cython.declare(cython.int, 32)
    SIZE_AT = cython.declare(cython.int, 8)
    ENTRY_BYTES = cython.declare(cython.int, 24)
    # A table whose indices have four bytes has at least 2**16 of them.
    TRIED = cython.declare(cython.int, 50_000)
    TRIED_SIZE = cython.declare(cython.int, 17)
    _is_known = cython.declare(cython.bint, False)
    _is_tried = cython.declare(cython.bint, False)
    FEW = cython.declare(cython.Py_ssize_t, 1000)
    """Keys that need no foresight. With one only, the empty dictionary would look as full as it says, and be copied."""
    MOST_FORESEEN = cython.declare(cython.Py_ssize_t, 1 << 23)
    """Keys that somebody's word is taken for; a table for so many has a third of a gigabyte."""


def foresee(table: dict, count: cython.Py_ssize_t) -> cython.int:
    """Make room for `count` more keys, or for as many as may be promised without proof. Raises MemoryError."""
    if count < FEW:
        return 0
    if not _is_tried:
        _look_at_layout()
    hollow: dict = {b"": None}
    del hollow[b""]
    says: cython.pointer[DictObject] = cython.cast(cython.pointer[DictObject], hollow)
    says.ma_used = count if count < MOST_FORESEEN else MOST_FORESEEN
    try:
        dict_update(cython.cast(cython.pointer[Ref], table), cython.cast(cython.pointer[Ref], hollow))
    finally:
        says.ma_used = 0
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _keys_of(table: cython.pointer[Ref]) -> cython.p_uchar:
    return cython.cast(cython.p_uchar, cython.cast(cython.pointer[DictObject], table).ma_keys)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _hash_of(key: cython.pointer[Ref]) -> cython.size_t:
    return cython.cast(cython.size_t, cython.cast(cython.pointer[BytesObject], key).ob_shash)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _place(keys: cython.p_uchar, slot: cython.size_t) -> cython.p_uchar:
    """Where the index of a slot is; any number will do, its lowest bits count."""
    size: cython.int = keys[SIZE_AT]
    slot &= (cython.cast(cython.size_t, 1) << size) - 1
    return keys + HEAD_BYTES + (slot << (keys[SIZE_AT + 1] - size))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _entry(keys: cython.p_uchar, place: cython.p_uchar) -> cython.p_uchar:
    """The entry that the index at `place` leads to, NULL for none. For tables whose indices have four bytes."""
    index: cython.int = cython.cast(cython.pointer[cython.int], place)[0]
    if index < 0:
        return cython.NULL
    first: cython.p_uchar = keys + HEAD_BYTES + (cython.cast(cython.size_t, 1) << keys[SIZE_AT + 1])
    return first + cython.cast(cython.size_t, index) * ENTRY_BYTES


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _is_large(keys: cython.p_uchar) -> cython.bint:
    """Whether it is worth the trouble, and its indices have four bytes."""
    return _is_known and keys[SIZE_AT] > 16 and keys[SIZE_AT + 1] - keys[SIZE_AT] == 2


def ask_for_place(table: cython.pointer[Ref], key: cython.pointer[Ref]) -> cython.void:
    """Have the memory fetched where `key`, a bytes object whose hash is known, is looked up first."""
    keys: cython.p_uchar = _keys_of(table)
    if _is_large(keys):
        fetch(_place(keys, _hash_of(key)))


def ask_for_rival(table: cython.pointer[Ref], key: cython.pointer[Ref]) -> cython.void:
    """If the place that was asked for is taken: have the key there fetched, and the place that is next."""
    keys: cython.p_uchar = _keys_of(table)
    hashed: cython.size_t
    rival: cython.p_uchar
    if _is_large(keys):
        hashed = _hash_of(key)
        rival = _entry(keys, _place(keys, hashed))
        if rival is not cython.NULL:
            fetch(rival)
            fetch(_place(keys, hashed * 5 + (hashed >> 5) + 1))


def fetches_ahead() -> bool:
    """Is the layout known? Not before the first table was foreseen."""
    if cython.compiled:
        return _is_known
    return False


def _look_at_layout() -> None:
    """Is a large table laid out as is said above?"""
    global _is_known, _is_tried
    _is_tried = True
    found: cython.int = 0
    wrong: cython.int = 0
    tried: dict = {b"%d" % number: None for number in range(TRIED)}
    keys: cython.p_uchar = _keys_of(cython.cast(cython.pointer[Ref], tried))
    if keys[SIZE_AT] != TRIED_SIZE or keys[SIZE_AT + 1] != TRIED_SIZE + 2:
        return
    for key in tried:
        rival: cython.p_uchar = _entry(keys, _place(keys, _hash_of(cython.cast(cython.pointer[Ref], key))))
        if rival is cython.NULL or rival > keys + HEAD_BYTES + (4 << TRIED_SIZE) + TRIED * ENTRY_BYTES:
            wrong += 1
        elif cython.cast(cython.pointer[cython.pointer[Ref]], rival)[1] is cython.cast(cython.pointer[Ref], key):
            found += 1
    _is_known = wrong == 0 and found > TRIED // 2
