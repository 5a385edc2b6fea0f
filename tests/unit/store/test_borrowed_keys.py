"""Keys from a place on, as C: some at a time, until the dictionary has moved."""

from __future__ import annotations

import sys

from pyrepl.store.borrowed_keys import COMPILED, frozen, some_keys
from pyrepl.store.key_round import KeyRound


def test_where_it_is_not_compiled_the_keys_are_listed() -> None:
    assert KeyRound({b"a": None}).is_listed != COMPILED


def test_keys_come_in_their_order() -> None:
    if not COMPILED:
        return
    source = {b"%d" % number: None for number in range(10)}
    first, place = some_keys(source, 0, None, 4)
    rest, end = some_keys(source, place, first[-1], 100)
    assert first + rest == list(source)
    assert some_keys(source, end, rest[-1], 100) == ([], end)
    assert some_keys({}, 0, None, 5) == ([], 0)


def test_a_place_behind_a_key_that_is_gone_may_be_another() -> None:
    if not COMPILED:
        return
    source = {b"%d" % number: None for number in range(10)}
    found, place = some_keys(source, 0, None, 4)
    del source[found[-1]]
    assert some_keys(source, place, found[-1], 4) == ([], -1)
    assert some_keys(source, place, None, 2)[0] == [b"4", b"5"]


def test_what_is_frozen_is_for_c_alone() -> None:
    """What it holds, a walk tells (`tests/unit/keyspace/test_borrowed_walk.py`)."""
    values: dict[bytes, object] = {b"a": b"1"}
    before = sys.getrefcount(values)
    held = frozen(values, {})
    assert sys.getrefcount(values) == before + 1
    assert not COMPILED or not hasattr(held, "values")
    del held
    assert sys.getrefcount(values) == before
