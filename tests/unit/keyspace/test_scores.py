"""Members with scores, of sorted sets and of plain ones."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.scores import UnitScores, read_scores
from pyrepl.keyspace.values import SetValue, ZsetValue


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
    assert dict(read_scores(db, b"zset")) == {b"a": 2.0}
    assert dict(read_scores(db, b"set")) == {b"a": 1.0}
    assert dict(read_scores(db, b"nosuch")) == {}
    with pytest.raises(CommandError, match="WRONGTYPE"):
        read_scores(db, b"string")
    assert (db.keyspace.hits, db.keyspace.misses) == (3, 1)
