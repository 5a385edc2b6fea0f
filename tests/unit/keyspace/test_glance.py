"""Looking at a key without a trace."""

from __future__ import annotations

import pytest

from pyrepl.keyspace import list_verbs
from pyrepl.keyspace.database import Database, Keyspace
from pyrepl.keyspace.glance import stream_glance, type_at
from pyrepl.rdb.values import StreamValue


@pytest.fixture
def db() -> Database:
    return Keyspace(1).databases[0]


def test_the_type(db: Database) -> None:
    assert type_at(db, b"k") is None
    list_verbs.push(db, b"k", b"x", True)
    assert type_at(db, b"k") == "list"
    db.write(b"k", b"x")
    assert type_at(db, b"k") == "string"
    db.expire_at(b"k", 5)
    db.keyspace.now_ms = 5
    assert type_at(db, b"k") is None
    assert db.holds(b"k") and (db.keyspace.hits, db.keyspace.misses) == (0, 0)


def test_what_is_news_of_a_stream(db: Database) -> None:
    assert stream_glance(db, b"k") is None
    stream = StreamValue()
    db.put(b"k", stream)
    before = stream_glance(db, b"k")
    assert before is not None and not before.is_news_after(before)
    stream.entries_added += 1
    after = stream_glance(db, b"k")
    assert after is not None and after.is_news_after(before) and not before.is_news_after(after)
    db.put(b"k", StreamValue())
    other = stream_glance(db, b"k")
    assert other is not None and other.is_news_after(before)
    db.write(b"k", b"x")
    assert stream_glance(db, b"k") is None
