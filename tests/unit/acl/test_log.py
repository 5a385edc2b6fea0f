"""The log of what was refused."""

from __future__ import annotations

import pytest

from pyrepl.acl.denial import Refused
from pyrepl.acl.log import AclLog, Context


def note(log: AclLog, object_: bytes = b"get", now_ms: int = 0, context: Context = Context.TOPLEVEL) -> None:
    log.add(Refused.COMMAND, context, object_, b"bob", b"id=%d" % now_ms, now_ms)


def test_the_newest_comes_first() -> None:
    log = AclLog(10)
    note(log, b"get")
    note(log, b"set")
    assert [(entry.number, entry.object) for entry in log.entries] == [(1, b"set"), (0, b"get")]


def test_the_same_again_counts_and_comes_to_the_front() -> None:
    log = AclLog(10)
    note(log, b"get", 0)
    note(log, b"set", 1)
    note(log, b"get", 60_000)
    first = log.entries[0]
    assert (first.object, first.count, first.created_ms, first.updated_ms) == (b"get", 2, 0, 60_000)
    assert first.client_info == b"id=60000" and len(log.entries) == 2
    assert log.refused[Refused.COMMAND] == 3


@pytest.mark.parametrize(("now_ms", "context"), [(60_001, Context.TOPLEVEL), (1, Context.MULTI), (1, Context.LUA)])
def test_another_time_or_way_is_another_entry(now_ms: int, context: Context) -> None:
    log = AclLog(10)
    note(log)
    note(log, now_ms=now_ms, context=context)
    assert len(log.entries) == 2


def test_only_the_ten_newest_are_looked_at() -> None:
    log = AclLog(100)
    for number in range(11):
        note(log, b"c%d" % number)
    note(log, b"c1")
    assert len(log.entries) == 11
    note(log, b"c0")
    assert len(log.entries) == 12


def test_it_does_not_grow_beyond_its_length() -> None:
    log = AclLog(2)
    for number in range(5):
        note(log, b"c%d" % number)
    assert [entry.object for entry in log.entries] == [b"c4", b"c3"]
    log.follow(0)
    note(log, b"c9")
    assert log.entries == [] and log.refused[Refused.COMMAND] == 6
    log.reset_counters()
    assert not any(log.refused.values())


def test_numbers_go_on_when_it_is_cleared() -> None:
    log = AclLog(2)
    note(log)
    log.clear()
    note(log)
    assert [entry.number for entry in log.entries] == [1]
