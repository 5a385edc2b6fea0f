"""Intersections, unions and differences against Python's own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.errors import CommandError
from pyrepl.keyspace import set_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.set_algebra import difference, intersection, shared_count, union

INPUTS = st.lists(st.sets(st.sampled_from([b"a", b"b", b"c", b"d"])), min_size=1, max_size=4)


def database(inputs: list[set[bytes]]) -> tuple[Database, list[bytes]]:
    """Sets at keys, no key for an empty one; and the keys."""
    db = Keyspace(1).databases[0]
    keys = [b"%d" % number for number in range(len(inputs))]
    for key, members in zip(keys, inputs):
        set_verbs.store(db, key, set(members))
    return db, keys


@settings(max_examples=100)
@given(INPUTS, st.integers(0, 4))
def test_operations_agree_with_sets_and_leave_the_inputs_alone(inputs: list[set[bytes]], limit: int) -> None:
    db, keys = database(inputs)
    results = [intersection(db, keys), union(db, keys), difference(db, keys)]
    shared = set.intersection(*inputs)
    assert results == [shared, set.union(*inputs), inputs[0].difference(*inputs[1:])]
    assert shared_count(db, keys, limit) == (min(limit, len(shared)) if limit else len(shared))
    for result in results:
        result.add(b"new")
    assert [set_verbs.everything(db, key) for key in keys] == inputs


def test_a_difference_with_a_far_larger_set() -> None:
    large = {b"%d" % i for i in range(1000)}
    db, keys = database([{b"1", b"x"}, large])
    assert difference(db, keys) == {b"x"}
    assert difference(db, keys[::-1]) == large - {b"1"}


def test_every_key_is_checked() -> None:
    db, keys = database([set(), {b"a"}])
    db.put(b"text", b"text")
    for operation in (intersection, union, difference):
        with pytest.raises(CommandError, match="WRONGTYPE"):
            operation(db, [*keys, b"text"])
    with pytest.raises(CommandError, match="WRONGTYPE"):
        shared_count(db, [*keys, b"text"], 1)
