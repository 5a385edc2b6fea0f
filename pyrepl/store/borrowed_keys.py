"""Reads the keys of a dictionary from a place on, compiled by Cython: an iterator would fail after the first change.

For a snapshot it gives all keys with their values by borrowed references, so that a forked child writes to none of the
pages that it shares with its parent. There is no plain form: where this module is not compiled, `key_round` makes a
list of the keys, and `pyrepl.keyspace.walk` goes through the items of a store.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

if cython.compiled:
    from cython.cimports.pyrepl.rdb.compiled.raw import Ref, dict_get, dict_size, next_item

COMPILED = cython.compiled


class Frozen:
    """All keys of a store of two dictionaries, in their order. The store must not change while this is used."""

    def next(self, key: cython.pointer[cython.pointer[Ref]], value: cython.pointer[cython.pointer[Ref]]) -> cython.bint:
        """The next key and its value, False at the end."""
        return next_item(cython.cast(cython.pointer[Ref], self.values), cython.address(self.place), key, value)

    def expiry_of(self, key: cython.pointer[Ref]) -> cython.pointer[Ref]:
        """When the key expires, an integer of Unix ms; NULL when it has no time to live."""
        expires: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], self.expires)
        return dict_get(expires, key) if dict_size(expires) > 0 else cython.NULL


def frozen(values: dict, expires: dict) -> object:
    """A `Frozen` of these two dictionaries, for other compiled modules."""
    made: Frozen = Frozen()
    made.values = values
    made.expires = expires
    made.place = 0
    return made


def some_keys(source: dict, place: int, last: object, count: int) -> tuple[list, int]:
    """(up to `count` keys from `place` on, the place behind them).

    `last`, unless it is None, must be the key before `place`. If another key or none is there, the dictionary may have
    moved its keys: the place returned is -1.
    """
    found: list = []
    pos: cython.Py_ssize_t = place
    left: cython.Py_ssize_t = count
    table: cython.pointer[Ref] = cython.cast(cython.pointer[Ref], source)
    key: cython.pointer[Ref] = cython.NULL
    value: cython.pointer[Ref] = cython.NULL
    if pos and last is not None:
        pos -= 1
        if (
            not next_item(table, cython.address(pos), cython.address(key), cython.address(value))
            or key is not cython.cast(cython.pointer[Ref], last)
            or pos != place
        ):
            return found, -1
    while left > 0 and next_item(table, cython.address(pos), cython.address(key), cython.address(value)):
        found.append(cython.cast(object, key))
        left -= 1
    return found, pos
