"""Lists and sets of any size and history come out whole and in their order."""

from __future__ import annotations

from collections import deque

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.values import ListValue, SetValue, Value, ZsetValue
from pyrepl.keyspace.walk import PlainWalk, walk
from pyrepl.rdb.versions import numbered
from pyrepl.rdb.writer import RdbWriter


def _same_in_both(value: Value) -> bool:
    db = Keyspace(1).databases[0]
    db.store.values[b"k"] = value
    return (
        walk(db, RdbWriter(numbered(11)), 1, 1).block() == PlainWalk(db, RdbWriter(numbered(11)), 1, 1).block() != b""
    )


@pytest.mark.parametrize("count", [1, 62, 63, 64, 65, 128, 1000])
def test_deques(count: int) -> None:
    items = deque(b"item:%d" % number for number in range(count))
    assert _same_in_both(ListValue(items))
    items.rotate(count // 3)
    items.appendleft(b"first")
    items.pop()
    assert _same_in_both(ListValue(items))


@pytest.mark.parametrize("count", [1, 100, 128, 129, 600])
def test_sets(count: int) -> None:
    assert _same_in_both(SetValue({b"member:%d" % number for number in range(count)}))
    assert _same_in_both(SetValue({b"%d" % number for number in range(-count, count)}))


def test_sorted_sets_are_written_by_score_then_member() -> None:
    members = [b"b", b"a", b"ab", b"", b"\xff", b"a\x00", b"10", b"9"]
    assert _same_in_both(ZsetValue(dict.fromkeys(members, 1.0)))
    assert _same_in_both(ZsetValue({member: float(-at) for at, member in enumerate(members)}))
    assert _same_in_both(ZsetValue({member: 0.0 if at % 2 else -0.0 for at, member in enumerate(members)}))
