"""The verbs of hashes: the same answers whether a hash is packed or plain, and what they say when there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyrepl.errors import CommandError
from pyrepl.keyspace import hash_verbs
from pyrepl.keyspace.database import Database, Expiry, Keyspace
from pyrepl.keyspace.hash_verbs import DELETED, DONE, NO_FIELD, NO_TTL, NOT_MET
from pyrepl.keyspace.packed import PackedHash
from pyrepl.keyspace.values import HashValue

LONG = b"x" * 100
"""No packed hash holds it."""
NOW_MS = 1000


@pytest.fixture
def db() -> Database:
    keyspace = Keyspace(1)
    keyspace.now_ms = NOW_MS
    return keyspace.databases[0]


def first(size: int) -> int:
    """Below `size`, without chance."""
    return 0


def make(db: Database, packed: bool) -> None:
    """A hash of a: 1 and b: 2."""
    hash_verbs.put_pairs(db, b"k", (b"a", b"1", b"b", b"2"))
    if not packed:
        assert type(db.find(b"k")) is HashValue
    assert type(db.store.values[b"k"]) is (PackedHash if packed else HashValue)
    db.keyspace.dirty = 0


@pytest.mark.parametrize("packed", [True, False])
def test_putting_and_getting(db: Database, packed: bool) -> None:
    make(db, packed)
    assert hash_verbs.put(db, b"k", b"a", b"3") == 0
    assert hash_verbs.put(db, b"k", b"c", b"4") == 1
    assert hash_verbs.put_pairs(db, b"k", (b"d", b"5", b"d", b"6", b"a", b"7")) == 1
    assert hash_verbs.size(db, b"k") == 4
    assert hash_verbs.get(db, b"k", b"a") == b"7"
    assert hash_verbs.get_several(db, b"k", (b"b", b"z", b"d")) == [b"2", None, b"6"]
    assert hash_verbs.flat(db, b"k") == [b"a", b"7", b"b", b"2", b"c", b"4", b"d", b"6"]
    assert hash_verbs.everything(db, b"k") == {b"a": b"7", b"b": b"2", b"c": b"4", b"d": b"6"}
    assert db.keyspace.dirty == 5
    assert type(db.store.values[b"k"]) is (PackedHash if packed else HashValue)


@pytest.mark.parametrize("packed", [True, False])
def test_what_changes_single_fields(db: Database, packed: bool) -> None:
    make(db, packed)
    assert not hash_verbs.put_new(db, b"k", b"a", b"9")
    assert hash_verbs.put_new(db, b"k", b"c", b"9")
    assert hash_verbs.put_keeping(db, b"k", b"a", b"8") is None
    assert hash_verbs.everything(db, b"k") == {b"a": b"8", b"b": b"2", b"c": b"9"}
    assert hash_verbs.discard(db, b"k", (b"a", b"z", b"a")) == 1
    assert hash_verbs.take(db, b"k", (b"b", b"z", b"c")) == [b"2", None, b"9"]
    assert db.store.values == {}
    assert db.keyspace.dirty == 5


def test_a_hash_that_grows_is_packed_no_more(db: Database) -> None:
    make(db, True)
    assert hash_verbs.put(db, b"k", b"c", LONG) == 1
    assert type(db.store.values[b"k"]) is HashValue
    assert hash_verbs.put(db, b"other", LONG, LONG) == 1
    assert hash_verbs.everything(db, b"other") == {LONG: LONG}


def test_nothing_is_there(db: Database) -> None:
    hash_verbs.check(db, b"k")
    assert db.keyspace.misses == 0
    hash_verbs.check_to_read(db, b"k")
    assert db.keyspace.misses == 1
    assert hash_verbs.scan(db, b"k") is None
    assert hash_verbs.names(db, b"k") == hash_verbs.contents(db, b"k") == []
    assert hash_verbs.pick(db, b"k", first) is None
    assert hash_verbs.sample(db, b"k", -2, first) == []
    assert hash_verbs.sample_pairs(db, b"k", 2, first) == []
    assert hash_verbs.written(db, b"k", b"a") is None
    assert hash_verbs.written_several(db, b"k", (b"a", b"b")) == [None, None]
    assert hash_verbs.take(db, b"k", (b"a", b"b")) == [None, None]
    assert hash_verbs.expire(db, b"k", (b"a",), 1, b"") == hash_verbs.persist(db, b"k", (b"a",)) == [NO_FIELD]
    assert hash_verbs.expiries(db, b"k", (b"a",)) == [NO_FIELD]
    assert hash_verbs.get_expiring(db, b"k", (b"a",), 1) == hash_verbs.get_persisting(db, b"k", (b"a",))
    assert hash_verbs.get_persisting(db, b"k", (b"a",)) == ([None], [NO_FIELD])
    assert hash_verbs.get(db, b"k", b"a") is None
    assert hash_verbs.get_several(db, b"k", (b"a", b"b")) == [None, None]
    assert hash_verbs.flat(db, b"k") == []
    assert hash_verbs.everything(db, b"k") == {}
    assert hash_verbs.size(db, b"k") == hash_verbs.discard(db, b"k", (b"a",)) == 0
    assert hash_verbs.put_timed(db, b"k", (b"a", b"1"), True, None, False) is None
    assert db.store.values == {}
    assert (db.keyspace.dirty, db.keyspace.misses) == (0, 12)


@pytest.mark.parametrize("packed", [True, False])
def test_what_is_there_for_who_writes_or_goes_through_all(db: Database, packed: bool) -> None:
    make(db, packed)
    fields = hash_verbs.everything(db, b"k")
    hits = db.keyspace.hits
    assert [hash_verbs.written(db, b"k", name) for name in (*fields, b"not there")] == [*fields.values(), None]
    assert type(db.store.values[b"k"]) is HashValue, "who writes unpacks"
    assert hash_verbs.written_several(db, b"k", (*fields, b"not there")) == [*fields.values(), None]
    assert db.keyspace.hits == hits
    scan = hash_verbs.scan(db, b"k")
    assert scan is not None
    next_cursor, names = scan.window(0, 10)
    assert next_cursor == 0 and {name: scan.content(name) for name in names} == fields
    assert db.keyspace.hits == hits + 1


@pytest.mark.parametrize("packed", [True, False])
def test_fields_and_contents_by_themselves(db: Database, packed: bool) -> None:
    make(db, packed)
    assert hash_verbs.names(db, b"k") == [b"a", b"b"]
    assert hash_verbs.contents(db, b"k") == [b"1", b"2"]
    hash_verbs.check(db, b"k")
    assert type(db.store.values[b"k"]) is (PackedHash if packed else HashValue)
    assert db.keyspace.hits == 2


def test_random_fields(db: Database) -> None:
    pairs = {b"%d" % number: b"v%d" % number for number in range(50)}
    hash_verbs.put_pairs(db, b"k", tuple(part for pair in pairs.items() for part in pair))
    assert hash_verbs.pick(db, b"k", lambda n: n - 1) == b"49"
    names = hash_verbs.sample(db, b"k", 20, lambda n: n - 1)
    assert len(names) == len(set(names)) == 20
    assert hash_verbs.sample(db, b"k", -3, first) == [b"0"] * 3
    assert hash_verbs.sample(db, b"k", 50, first) == hash_verbs.sample(db, b"k", 99, first) == list(pairs)
    assert hash_verbs.sample(db, b"k", 0, first) == []
    assert hash_verbs.sample_pairs(db, b"k", -2, first) == [(b"0", b"v0")] * 2
    assert dict(hash_verbs.sample_pairs(db, b"k", 50, first)) == pairs


VERBS: list[Callable[[Database], object]] = [
    lambda db: hash_verbs.put(db, b"k", b"a", b"1"),
    lambda db: hash_verbs.put_pairs(db, b"k", (b"a", b"1")),
    lambda db: hash_verbs.put_new(db, b"k", b"a", b"1"),
    lambda db: hash_verbs.put_keeping(db, b"k", b"a", b"1"),
    lambda db: hash_verbs.put_timed(db, b"k", (b"a", b"1"), None, None, False),
    lambda db: hash_verbs.check(db, b"k"),
    lambda db: hash_verbs.scan(db, b"k"),
    lambda db: hash_verbs.names(db, b"k"),
    lambda db: hash_verbs.contents(db, b"k"),
    lambda db: hash_verbs.pick(db, b"k", first),
    lambda db: hash_verbs.sample(db, b"k", 1, first),
    lambda db: hash_verbs.sample_pairs(db, b"k", 1, first),
    lambda db: hash_verbs.written(db, b"k", b"a"),
    lambda db: hash_verbs.written_several(db, b"k", (b"a",)),
    lambda db: hash_verbs.take(db, b"k", (b"a",)),
    lambda db: hash_verbs.expire(db, b"k", (b"a",), 1, b""),
    lambda db: hash_verbs.persist(db, b"k", (b"a",)),
    lambda db: hash_verbs.expiries(db, b"k", (b"a",)),
    lambda db: hash_verbs.get_expiring(db, b"k", (b"a",), 1),
    lambda db: hash_verbs.get_persisting(db, b"k", (b"a",)),
    lambda db: hash_verbs.get(db, b"k", b"a"),
    lambda db: hash_verbs.get_several(db, b"k", (b"a",)),
    lambda db: hash_verbs.flat(db, b"k"),
    lambda db: hash_verbs.everything(db, b"k"),
    lambda db: hash_verbs.size(db, b"k"),
    lambda db: hash_verbs.discard(db, b"k", (b"a",)),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("expiry", list(Expiry))
def test_another_type_is_refused(db: Database, verb: Callable[[Database], object], expiry: Expiry) -> None:
    db.keyspace.expiry = expiry
    db.put(b"k", b"text")
    with pytest.raises(CommandError, match="WRONGTYPE"):
        verb(db)
    assert db.store.values == {b"k": b"text"}
    assert db.keyspace.dirty == 0


def test_times_to_live(db: Database) -> None:
    make(db, True)
    assert hash_verbs.expire(db, b"k", (b"a", b"z"), NOW_MS + 50, b"NX") == [DONE, NO_FIELD]
    assert db.volatile_hashes == {b"k"}
    assert hash_verbs.expire(db, b"k", (b"a", b"b"), NOW_MS + 40, b"GT") == [NOT_MET, NOT_MET]
    assert hash_verbs.expiries(db, b"k", (b"a", b"b", b"z")) == [NOW_MS + 50, NO_TTL, NO_FIELD]
    assert hash_verbs.put_keeping(db, b"k", b"a", b"2") == NOW_MS + 50
    assert hash_verbs.put(db, b"k", b"a", b"3") == 0
    assert hash_verbs.expiries(db, b"k", (b"a",)) == [NO_TTL]
    assert hash_verbs.expire(db, b"k", (b"a",), NOW_MS + 50, b"LT") == [DONE]
    assert hash_verbs.persist(db, b"k", (b"a", b"b", b"z")) == [DONE, NO_TTL, NO_FIELD]
    assert hash_verbs.expire(db, b"k", (b"a", b"a", b"b"), NOW_MS, b"") == [DELETED, NO_FIELD, DELETED]
    assert db.store.values == {}
    assert db.keyspace.dirty == 1 + 1 + 1 + 1 + 1 + 2


def test_reading_fields_together_with_their_times(db: Database) -> None:
    make(db, True)
    names = (b"a", b"z")
    assert hash_verbs.get_expiring(db, b"k", names, NOW_MS + 50) == ([b"1", None], [DONE, NO_FIELD])
    assert hash_verbs.expiries(db, b"k", names) == [NOW_MS + 50, NO_FIELD]
    assert hash_verbs.get_persisting(db, b"k", (b"a", b"b")) == ([b"1", b"2"], [DONE, NO_TTL])
    assert hash_verbs.get_expiring(db, b"k", (b"a", b"a"), NOW_MS) == ([b"1", b"1"], [DELETED, NO_FIELD])
    assert hash_verbs.names(db, b"k") == [b"b"]
    assert db.keyspace.dirty == 3


def test_a_replica_leaves_deletions_to_its_master(db: Database) -> None:
    make(db, True)
    db.keyspace.expiry = Expiry.IGNORE
    assert hash_verbs.expire(db, b"k", (b"a",), NOW_MS, b"") == [DONE]
    assert hash_verbs.size(db, b"k") == 2


def test_putting_with_times(db: Database) -> None:
    later = NOW_MS + 50
    assert hash_verbs.put_timed(db, b"k", (b"a", b"1"), False, later, False) == [DONE]
    assert hash_verbs.put_timed(db, b"k", (b"a", b"2", b"b", b"2"), False, None, False) is None
    assert hash_verbs.put_timed(db, b"k", (b"a", b"2", b"b", b"2"), True, None, False) is None
    assert hash_verbs.put_timed(db, b"k", (b"a", b"2"), True, None, True) == []
    assert hash_verbs.expiries(db, b"k", (b"a",)) == [later]
    assert hash_verbs.put_timed(db, b"k", (b"a", b"3"), None, None, False) == []
    assert hash_verbs.expiries(db, b"k", (b"a",)) == [NO_TTL]
    assert hash_verbs.put_timed(db, b"k", (b"a", b"4"), None, NOW_MS, False) == [DELETED]
    assert db.store.values == {}
    assert db.keyspace.dirty == 4


@pytest.mark.parametrize(("expiry", "due"), [(Expiry.DELETE, None), (Expiry.HIDE, None), (Expiry.IGNORE, b"v")])
def test_one_field_is_read_by_the_same_rule(db: Database, expiry: Expiry, due: bytes | None) -> None:
    keyspace = db.keyspace
    keyspace.expiry = expiry
    times = {b"early": NOW_MS - 50, b"now": NOW_MS, b"late": NOW_MS + 1}
    db.put(b"h", HashValue(dict.fromkeys([*times, b"never"], b"v"), times))
    assert hash_verbs.get(db, b"h", b"early") == hash_verbs.get(db, b"h", b"now") == due
    assert hash_verbs.get(db, b"h", b"late") == hash_verbs.get(db, b"h", b"never") == b"v"
    assert hash_verbs.get(db, b"h", b"nosuch") is None
    assert hash_verbs.get(db, b"nosuch", b"f") is None
    assert (keyspace.hits, keyspace.misses) == (5, 1)
    assert len(keyspace.expired_fields) == (2 if expiry is Expiry.DELETE else 0)
