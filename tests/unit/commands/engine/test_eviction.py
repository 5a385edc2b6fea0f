"""Making room: what is evicted is told to replicas and to the latency monitor; nothing happens below the limit."""

from __future__ import annotations

from tests.unit.commands.rig import Rig


def crowded(**settings: object) -> Rig:
    rig = Rig(maxmemory=1, maxmemory_policy="allkeys-random", latency_monitor_threshold=10, **settings)
    rig.stream()
    rig.node.keyspace.databases[0].put(b"k", b"v")
    return rig


def test_what_is_evicted_is_deleted_in_the_stream() -> None:
    rig = crowded()
    assert not rig.dispatcher.make_room()
    assert rig.stream()[-1] == "DEL k"


def test_a_slow_eviction_is_a_latency_event() -> None:
    rig = crowded()
    rig.step_s = 0.020
    rig.dispatcher.make_room()
    assert list(rig.node.latency_monitor.series) == ["eviction-cycle"]


def test_within_the_limit_nothing_goes() -> None:
    rig = Rig(latency_monitor_threshold=1)
    rig.say("SET k v")
    rig.step_s = 1.0
    assert not rig.dispatcher.make_room()
    assert rig.say("EXISTS k") == 1 and "eviction-cycle" not in rig.node.latency_monitor.series
