"""Collections kept packed: what finds one gets what it stands for; digests, snapshots and sizes need no finding."""

from __future__ import annotations

import pytest

from pyrepl.keyspace.database import Expiry, Keyspace
from pyrepl.keyspace.digest import key_digest, keyspace_digest
from pyrepl.keyspace.packed import CLASSES, Packed, PackedHash, PackedIntset, PackedList, PackedSet, PackedZset
from pyrepl.keyspace.value_size import value_bytes
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue, plain_value
from pyrepl.rdb.packed.intset import encode_intset
from pyrepl.rdb.packed.listpack import encode_listpack

PAIRS = [b"a", b"1", b"b", b"2"]
CASES: list[tuple[Packed, type[Value], object]] = [
    (PackedHash(encode_listpack(PAIRS)), HashValue, {b"a": b"1", b"b": b"2"}),
    (PackedZset(encode_listpack(PAIRS)), ZsetValue, {b"a": 1.0, b"b": 2.0}),
    (PackedList(encode_listpack(PAIRS)), ListValue, PAIRS),
    (PackedSet(encode_listpack(PAIRS)), SetValue, set(PAIRS)),
    (PackedIntset(encode_intset([3, -70000])), SetValue, {b"3", b"-70000"}),
]


@pytest.mark.parametrize(("packed", "kind", "plain"), CASES, ids=lambda case: type(case).__name__)
def test_who_finds_it_gets_what_it_stands_for(packed: Packed, kind: type[Value], plain: object) -> None:
    db = Keyspace(1).databases[0]
    db.store.values[b"k"] = packed
    db.expire_at(b"k", 5)
    value = db.find_as(kind, b"k")
    assert value is not None and db.store.values[b"k"] is value is db.find(b"k")
    found = plain_value(value)
    assert (list(found) if kind is ListValue else found) == plain  # type: ignore[call-overload]
    assert db.store.expires == {b"k": 5}


def test_a_command_of_the_master_finds_one_whose_time_has_passed() -> None:
    keyspace = Keyspace(1)
    db = keyspace.databases[0]
    db.store.values[b"k"] = PackedList(encode_listpack([b"x"]))
    db.expire_at(b"k", 5)
    keyspace.now_ms, keyspace.expiry = 10, Expiry.IGNORE
    assert isinstance(db.find(b"k"), ListValue)


def test_digests_and_sizes_leave_it_packed() -> None:
    one, two = Keyspace(1), Keyspace(1)
    for number, (packed, _, _) in enumerate(CASES):
        one.databases[0].store.values[b"k%d" % number] = packed
        two.databases[0].store.values[b"k%d" % number] = packed.unpack()
        assert key_digest(one.databases[0], b"k%d" % number) == key_digest(two.databases[0], b"k%d" % number)
        assert value_bytes(packed, 5) >= len(packed)
    assert keyspace_digest(one) == keyspace_digest(two)
    assert all(isinstance(value, Packed) for value in one.databases[0].store.values.values())


def test_each_class_has_its_type() -> None:
    assert set(CLASSES.values()) == {type(packed) for packed, _, _ in CASES}
