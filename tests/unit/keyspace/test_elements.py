"""Elements of whatever is stored, as SORT takes them."""

from __future__ import annotations

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace import hash_verbs, list_verbs, set_verbs, zset_verbs
from pyrepl.keyspace.database import Database, Expiry, Keyspace
from pyrepl.keyspace.elements import read_elements, read_field, read_string
from pyrepl.keyspace.values import HashValue


@pytest.fixture
def db() -> Database:
    db = Keyspace(1).databases[0]
    db.keyspace.now_ms = 100
    list_verbs.extend(db, b"list", [b"b", b"a"], False)
    set_verbs.add(db, b"set", b"a")
    zset_verbs.store(db, b"zset", {b"a": 2.0, b"b": 1.0})
    hash_verbs.put_pairs(db, b"hash", (b"f", b"1", b"g", b"2"))
    db.put(b"string", b"text")
    return db


def test_elements(db: Database) -> None:
    assert read_elements(db, b"list") == ([b"b", b"a"], True)
    assert read_elements(db, b"set") == ([b"a"], False)
    assert read_elements(db, b"zset") == ([b"b", b"a"], True)
    assert read_elements(db, b"nosuch") == ([], True)
    for key in (b"string", b"hash"):
        with pytest.raises(CommandError, match="WRONGTYPE"):
            read_elements(db, key)


def test_strings(db: Database) -> None:
    assert read_string(db, b"string") == b"text"
    assert read_string(db, b"list") is None
    assert read_string(db, b"nosuch") is None


def test_fields(db: Database) -> None:
    db.put(b"hash", HashValue({b"f": b"1", b"g": b"2"}, {b"g": 100}))
    assert read_field(db, b"hash", b"f") == b"1"
    assert read_field(db, b"hash", b"g") is None
    db.keyspace.expiry = Expiry.IGNORE
    assert read_field(db, b"hash", b"g") == b"2"
    assert read_field(db, b"hash", b"z") is None
    assert read_field(db, b"string", b"f") is None
    assert read_field(db, b"nosuch", b"f") is None
