"""Whole databases: exchange and emptying, and what their watchers hear."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import NULL_ARRAY, OK
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig(databases=4)
    rig.stream()
    return rig


def test_swapdb_exchanges_values_and_times_to_live(rig: Rig) -> None:
    rig.say("SET a 1 EX 10")
    rig.stream()
    assert rig.say("SWAPDB 0 1") == OK
    assert rig.say("DBSIZE") == 0
    assert rig.stream() == ["SWAPDB 0 1"]
    rig.say("SELECT 1")
    assert rig.say("PTTL a") == 10_000
    assert rig.error("SWAPDB 0 4") == "ERR DB index is out of range"
    assert rig.error("SWAPDB x 4") == "ERR invalid first DB index"
    assert rig.error("SWAPDB 0 x") == "ERR invalid second DB index"


@pytest.mark.parametrize("line", ["SWAPDB 0 1", "FLUSHDB", "FLUSHALL ASYNC"])
def test_watchers_hear_of_it(rig: Rig, line: str) -> None:
    rig.say("SET a 1")
    rig.say("WATCH a")
    rig.say(line, client=rig.connect())
    rig.say("MULTI")
    assert rig.say("EXEC") == NULL_ARRAY


def test_flushes_go_to_the_replicas_even_when_there_was_nothing(rig: Rig) -> None:
    assert rig.say("FLUSHDB") == OK
    assert rig.say("flushall async") == OK
    assert rig.stream() == ["SELECT 0", "FLUSHDB", "flushall async"]


def test_flushdb_empties_one_database_and_flushall_all(rig: Rig) -> None:
    for index in range(3):
        rig.say(f"SELECT {index}")
        rig.say("MSET a 1 b 2")
    before = rig.node.keyspace.dirty
    rig.say("FLUSHDB")
    assert rig.node.keyspace.dirty == before + 2
    assert [len(db.store.values) for db in rig.node.keyspace.databases] == [2, 2, 0, 0]
    rig.say("FLUSHALL")
    assert [len(db.store.values) for db in rig.node.keyspace.databases] == [0, 0, 0, 0]
