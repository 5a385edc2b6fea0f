"""Where a dictionary keeps what belongs to a hash, as C: asks for the memory of keys before they are looked up. Hot.

Theory: in a table of a million keys each step of a lookup (slot, entry, key, value) waits for memory, about as long as
all the rest of a GET takes, and no step can begin before the one before it. The processor fetches a dozen lines at the
same time if it is told which. So many keys go through each step together (`look_ahead`), and what one step needs is
asked for while the others' is; or whoever has something else to do between the steps asks for one key at a time
(`ask_for_place`, `ask_for_rival`).

The layout is that of the CPythons that `pyrepl.layout` knows (Objects/dictobject.c); for another this is not compiled.
Nothing is compared for a result or written. As it is written it does nothing.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.places import Place, Search
    from cython.cimports.pyrepl.rdb.compiled.raw import BytesObject, DictObject, Ref, fetch

    # A table of keys: the binary logarithm of how many slots it has, behind it that of their bytes, and its kind; then
    # the slots, an index each; then the entries: hash, key, value.
    _SIZE_AT = cython.declare(cython.int, 8)
    _BYTES_AT = cython.declare(cython.int, 9)
    _KIND_AT = cython.declare(cython.int, 10)
    _SLOTS_AT = cython.declare(cython.int, 32)
    _ENTRY_BYTES = cython.declare(cython.Py_ssize_t, 24)
    _MOST_PROBES = cython.declare(cython.int, 4)
    """Slots looked at for one hash; nearly all keys are found in fewer."""
    _LINE = cython.declare(cython.Py_ssize_t, 64)
    _asked = cython.declare(cython.Py_ssize_t, 0)
    """Read by `asked_for`: what nobody could read the compiler would leave out, and the asking with it."""


def asked_for() -> int:
    """Keys that `look_ahead` asked for and found so far; 0 in the plain form."""
    if cython.compiled:
        return _asked
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
    """Of a bytes object that has been hashed."""
    return cython.cast(cython.size_t, cython.cast(cython.pointer[BytesObject], key).ob_shash)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _index_bytes(keys: cython.p_uchar) -> cython.int:
    """How many bytes an index has: 0 for one, 1 for two, 2 for four; -1 for a table that we cannot read."""
    if keys[_KIND_AT] != 0:
        return -1
    return keys[_BYTES_AT] - keys[_SIZE_AT]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _mask(keys: cython.p_uchar) -> cython.size_t:
    return (cython.cast(cython.size_t, 1) << keys[_SIZE_AT]) - 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _slot(keys: cython.p_uchar, slot: cython.size_t) -> cython.p_uchar:
    return keys + _SLOTS_AT + (slot << (keys[_BYTES_AT] - keys[_SIZE_AT]))


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _index(keys: cython.p_uchar, slot: cython.size_t) -> cython.Py_ssize_t:
    """Which entry a slot leads to; -1: it is empty, -2: somebody has left it. Indices have 2 or 4 bytes."""
    at: cython.p_uchar = _slot(keys, slot)
    if keys[_BYTES_AT] - keys[_SIZE_AT] == 1:
        return cython.cast(cython.pointer[cython.short], at)[0]
    return cython.cast(cython.pointer[cython.int], at)[0]


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _entry(keys: cython.p_uchar, index: cython.Py_ssize_t) -> cython.p_uchar:
    return keys + _SLOTS_AT + (cython.cast(cython.size_t, 1) << keys[_BYTES_AT]) + index * _ENTRY_BYTES


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _following(slot: cython.size_t, perturb: cython.size_t) -> cython.size_t:
    """CPython's probing sequence, to be masked; `perturb` is the hash, 5 bits shorter at each step."""
    return slot * 5 + perturb + 1


def ask_for_place(table: cython.pointer[Ref], key: cython.pointer[Ref]) -> cython.void:
    """Have the memory fetched where `key`, a bytes object whose hash is known, is looked up first in a large table."""
    keys: cython.p_uchar = _keys_of(table)
    if _index_bytes(keys) == 2:
        fetch(_slot(keys, _hash_of(key) & _mask(keys)))


def ask_for_rival(table: cython.pointer[Ref], key: cython.pointer[Ref]) -> cython.void:
    """If the place that was asked for is taken: have the entry there fetched, and the place that is next."""
    keys: cython.p_uchar = _keys_of(table)
    hashed: cython.size_t
    mask: cython.size_t
    rival: cython.Py_ssize_t
    if _index_bytes(keys) == 2:
        hashed = _hash_of(key)
        mask = _mask(keys)
        rival = _index(keys, hashed & mask)
        if rival >= 0:
            fetch(_entry(keys, rival))
            fetch(_slot(keys, _following(hashed, hashed >> 5) & mask))


def look_ahead(search: cython.pointer[Search], table: cython.pointer[Ref]) -> cython.void:
    """Let the hashes of a search go their way through the table side by side; it has what is left of them then."""
    global _asked
    keys: cython.p_uchar = _keys_of(table)
    if not 1 <= _index_bytes(keys) <= 2:
        return
    mask: cython.size_t = _mask(keys)
    index: cython.Py_ssize_t
    place: cython.pointer[Place]
    _asked += search.count
    for index in range(search.count):
        place = cython.address(search.places[index])
        place.perturb = cython.cast(cython.size_t, place.hash)
        place.slot = place.perturb & mask
        fetch(_slot(keys, place.slot))
    probes: cython.int = 0
    while search.count and probes < _MOST_PROBES:
        _ask_entries(search, keys)
        _ask_objects(search, keys, mask)
        probes += 1
    # What is left counts, so that nothing above is without effect.
    _asked -= search.count


if cython.compiled:

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _ask_entries(search: cython.pointer[Search], keys: cython.p_uchar) -> cython.void:
        """From slots to entries; who meets an empty slot is not there and leaves."""
        index: cython.Py_ssize_t
        left: cython.Py_ssize_t = 0
        for index in range(search.count):
            found: cython.Py_ssize_t = _index(keys, search.places[index].slot)
            if found == -1:
                continue
            search.places[left] = search.places[index]
            search.places[left].index = found
            left += 1
            if found >= 0:
                entry: cython.p_uchar = _entry(keys, found)
                fetch(entry)
                fetch(entry + (_ENTRY_BYTES - 1))
        search.count = left

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _ask_objects(search: cython.pointer[Search], keys: cython.p_uchar, mask: cython.size_t) -> cython.void:
        """From entries to keys and values, their heads and what follows as a rule; another's entry leads to a slot."""
        index: cython.Py_ssize_t
        left: cython.Py_ssize_t = 0
        for index in range(search.count):
            place: cython.pointer[Place] = cython.address(search.places[index])
            words: cython.pointer[cython.Py_ssize_t] = cython.cast(
                cython.pointer[cython.Py_ssize_t], _entry(keys, place.index if place.index > 0 else 0)
            )
            if place.index >= 0 and words[0] == place.hash:
                fetch(cython.cast(cython.p_void, words[1]))
                fetch(cython.cast(cython.p_void, words[2]))
                fetch(cython.cast(cython.p_void, words[2] + _LINE))
                continue
            place.perturb >>= 5
            place.slot = _following(place.slot, place.perturb) & mask
            fetch(_slot(keys, place.slot))
            search.places[left] = place[0]
            left += 1
        search.count = left
