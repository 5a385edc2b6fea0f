"""Unions, intersections and differences of sorted sets and plain ones, against a plain model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.errors import CommandError
from pyrepl.keyspace import zset_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.values import SetValue, ZsetValue
from pyrepl.keyspace.zset_algebra import AGGREGATES, ScoredSets, UnitScores

MAPS = st.dictionaries(st.sampled_from([b"a", b"b", b"c"]), st.integers(-3, 3).map(float))


def database(maps: list[dict[bytes, float]]) -> tuple[Database, list[bytes]]:
    """Sorted sets at keys, and the keys."""
    db = Keyspace(1).databases[0]
    keys = [b"%d" % number for number in range(len(maps))]
    for key, scores in zip(keys, maps):
        zset_verbs.store(db, key, dict(scores))
    return db, keys


@settings(max_examples=120)
@given(
    st.lists(st.tuples(MAPS, st.sampled_from([1.0, 2.0, -0.5])), min_size=1, max_size=3),
    st.sampled_from(sorted(AGGREGATES)),
    st.integers(0, 3),
)
def test_operations_agree_with_a_plain_model(
    sources: list[tuple[dict[bytes, float], float]], aggregate: bytes, limit: int
) -> None:
    maps = [scores for scores, _ in sources]
    db, keys = database(maps)
    inputs = ScoredSets(db, keys)
    inputs.weigh([weight for _, weight in sources])
    inputs.aggregate = AGGREGATES[aggregate]
    folds: dict[bytes, Callable[[list[float]], float]] = {b"SUM": sum, b"MIN": min, b"MAX": max}
    fold = folds[aggregate]
    members = {member for scores in maps for member in scores}
    weighed = {
        member: [scores[member] * weight for scores, weight in sources if member in scores] for member in members
    }
    union, intersection, difference = inputs.union(), inputs.intersection(), inputs.difference()
    assert union == {member: fold(scores) for member, scores in weighed.items()}
    assert intersection == {member: fold(scores) for member, scores in weighed.items() if len(scores) == len(sources)}
    assert difference == {
        member: score for member, score in maps[0].items() if not any(member in scores for scores in maps[1:])
    }
    assert inputs.shared_count(limit) == (min(limit, len(intersection)) if limit else len(intersection))
    for result in (union, intersection, difference):
        result[b"new"] = 1.0
    assert inputs.union().keys() == members, "results belong to the caller"


def test_without_weights_scores_stay_and_are_added() -> None:
    db, keys = database([{b"a": 1.0, b"b": 2.0}, {b"b": 3.0}])
    assert ScoredSets(db, keys).union() == {b"a": 1.0, b"b": 5.0}
    with pytest.raises(ValueError, match="zip"):
        ScoredSets(db, keys).weigh([1.0])


def test_what_is_not_a_number_counts_as_zero() -> None:
    db, keys = database([{b"m": float("inf")}, {b"m": float("-inf")}])
    assert ScoredSets(db, keys).union() == {b"m": 0.0}
    inputs = ScoredSets(db, keys[:1])
    inputs.weigh([0.0])
    assert inputs.union() == {b"m": 0.0}


def test_a_plain_set_counts_as_scores_of_one() -> None:
    scores = UnitScores({b"a", b"b"})
    assert dict(scores) == {b"a": 1.0, b"b": 1.0}
    assert scores.get(b"a") == 1.0
    assert scores.get(b"c") is None
    assert b"a" in scores
    assert b"c" not in scores
    assert len(scores) == 2


def test_whatever_is_stored() -> None:
    db = Keyspace(1).databases[0]
    db.put(b"zset", ZsetValue({b"a": 2.0}))
    db.put(b"set", SetValue({b"a"}))
    db.put(b"string", b"a")
    assert ScoredSets(db, [b"zset", b"set", b"nosuch"]).union() == {b"a": 3.0}
    assert (db.keyspace.hits, db.keyspace.misses) == (2, 1)
    with pytest.raises(CommandError, match="WRONGTYPE"):
        ScoredSets(db, [b"nosuch", b"string"])
