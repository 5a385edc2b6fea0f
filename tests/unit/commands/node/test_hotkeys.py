"""HOTKEYS from START to RESET. Errors are compared with Redis 8.6 in tests/interop/test_hotkeys.py."""

from __future__ import annotations

from typing import Any

from pyrepl.resp.reply import OK
from tests.unit.commands.rig import START_MS, Rig


def shown(rig: Rig) -> dict[bytes, Any]:
    (found,) = rig.say("HOTKEYS GET")  # type: ignore[misc]
    assert isinstance(found, dict)
    return found


def test_times_are_noted_from_start_to_stop() -> None:
    rig = Rig()
    assert rig.say("HOTKEYS GET") is None and rig.say("HOTKEYS STOP") is None
    assert rig.say("HOTKEYS START METRICS 1 CPU COUNT 2") == OK
    rig.step_s = 0.001
    for line in ("SET a 1", "SET a 2", "MSET b 1 c 1", "PING"):
        rig.say(line)
    rig.step_s = 0.0
    found = shown(rig)
    assert found[b"tracking-active"] == 1 and found[b"by-cpu-time-us"][:2] == [b"a", 2000]
    assert len(found[b"by-cpu-time-us"]) == 4 and b"by-net-bytes" not in found
    assert rig.say("HOTKEYS STOP") == OK
    rig.say("SET d 1")
    assert shown(rig)[b"tracking-active"] == 0
    assert rig.say("HOTKEYS RESET") == OK and rig.say("HOTKEYS GET") is None


def test_nothing_is_measured_without_it() -> None:
    rig = Rig()
    rig.say("HOTKEYS START METRICS 2 CPU NET DURATION 1")
    assert rig.node.conditions.measured and rig.node.slow_limit_s == 0.0
    rig.node.keyspace.now_ms = START_MS + 2000
    assert shown(rig)[b"tracking-active"] == 0
    rig.say("SET a 1")
    assert not rig.node.conditions.measured and rig.node.slow_limit_s > 0.0
    assert shown(rig)[b"collection-duration-ms"] == 1000


def test_bytes_belong_to_keys() -> None:
    rig = Rig()
    rig.say("HOTKEYS START METRICS 1 NET SAMPLE 1")
    rig.node.note_bytes([b"a"], START_MS, 50)
    rig.node.note_bytes([], START_MS, 9)
    found = shown(rig)
    assert (found[b"net-bytes-all-commands-all-slots"], found[b"total-net-bytes"]) == (59, 50)
    assert found[b"by-net-bytes"] == [b"a", 50]
