"""What goes to the replicas besides the commands: in one unit, or each by itself, and only from a master."""

from __future__ import annotations

import pytest

from pyrepl.commands.engine.propagation import collect_expired, send, send_each, send_evicted
from pyrepl.resp.encoder import encode_command
from tests.unit.commands.rig import Rig

SET = encode_command([b"SET", b"a", b"1"])


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.stream()
    return rig


def test_what_has_expired_is_collected_once(rig: Rig) -> None:
    keyspace = rig.node.keyspace
    keyspace.expired += [(1, b"k")]
    keyspace.expired_fields += [(2, b"h", b"f")]
    unit = [(0, SET)]
    collect_expired(rig.node, unit)
    deletions = [(1, encode_command([b"DEL", b"k"])), (2, encode_command([b"HDEL", b"h", b"f"]))]
    assert unit == [(0, SET), *deletions]
    collect_expired(rig.node, unit)
    assert unit == [(0, SET), *deletions]


def test_a_unit_and_single_commands(rig: Rig) -> None:
    send(rig.node, [(0, SET), (0, SET)])
    send_each(rig.node, [(0, SET), (0, SET)])
    send(rig.node, [])
    assert rig.stream() == ["MULTI", "SELECT 0", "SET a 1", "SET a 1", "EXEC", "SET a 1", "SET a 1"]


def test_a_replica_sends_nothing_of_its_own(rig: Rig) -> None:
    rig.follow()
    end = rig.node.stream_end
    send(rig.node, [(0, SET), (0, SET)])
    send_each(rig.node, [(0, SET)])
    assert rig.node.stream_end == end


def test_evicted_keys_go_one_by_one(rig: Rig) -> None:
    rig.node.memory.evicted += [(0, b"a"), (1, b"b")]
    send_evicted(rig.node)
    assert rig.stream() == ["SELECT 0", "DEL a", "SELECT 1", "DEL b"]
    assert rig.node.stats.evicted_keys == 2
    assert not rig.node.memory.evicted
