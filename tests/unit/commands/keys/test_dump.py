"""DUMP and RESTORE: propagation, versions, refusals. That real servers understand is shown in tests/property."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.resp.reply import OK
from tests.unit.commands.rig import START_MS, Rig, commands_in


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.say("SET k hello")
    rig.stream()
    return rig


def payload_of(rig: Rig, key: str) -> bytes:
    payload: Any = rig.say(f"DUMP {key}")
    assert isinstance(payload, bytes)
    return payload


def version_of(payload: bytes) -> int:
    return int.from_bytes(payload[-10:-8], "little")


def test_the_payload_is_that_of_redis_7(rig: Rig) -> None:
    rig.say("SET captured 12345")
    assert payload_of(rig, "captured") == b"\x00\xc190\n\x00\x9d\x94\xea'\x93\xfc\x08\xb9"


def test_restore_propagates_a_point_in_time(rig: Rig) -> None:
    payload = payload_of(rig, "k")
    assert rig.run("RESTORE", "new", 1000, payload) == OK
    assert rig.say("PTTL new") == 1000
    raw = rig.node.replication.backlog.read(0, 1 << 20)
    assert b"RESTORE\r\n$3\r\nnew\r\n$13\r\n%d\r\n" % (START_MS + 1000) in b"".join(bytes(part) for part in raw)
    assert b"".join(bytes(part) for part in raw).endswith(b"ABSTTL\r\n")


def test_restore_asking_propagates_itself(rig: Rig) -> None:
    payload = payload_of(rig, "k")
    backlog = rig.node.replication.backlog
    start = backlog.end
    assert rig.run("RESTORE-ASKING", "one", 0, payload) == OK
    assert rig.run("RESTORE-ASKING", "two", 1000, payload) == OK
    first, second = commands_in(b"".join(backlog.read(start, 1 << 20)))[-2:]
    assert first == [b"RESTORE-ASKING", b"one", b"0", payload]
    assert second == [b"RESTORE-ASKING", b"two", b"%d" % (START_MS + 1000), payload, b"ABSTTL"]


def test_a_key_in_the_way_stays_unless_replace_is_given(rig: Rig) -> None:
    payload = payload_of(rig, "k")
    rig.say("SET other x")
    reply = rig.run("RESTORE", "other", 0, payload)
    assert str(reply) == "BUSYKEY Target key name already exists."
    assert rig.run("RESTORE", "other", 0, payload, "REPLACE") == OK
    assert rig.say("GET other") == b"hello"


def test_a_value_that_has_expired_is_not_stored_and_the_old_one_goes(rig: Rig) -> None:
    payload = payload_of(rig, "k")
    rig.say("SET other x")
    rig.stream()
    assert rig.run("RESTORE", "other", START_MS, payload, "ABSTTL", "REPLACE") == OK
    assert rig.run("RESTORE", "new", START_MS, payload, "ABSTTL") == OK
    assert rig.say("EXISTS other new") == 0
    assert rig.stream() == ["DEL other"]


def test_damaged_payloads_are_refused(rig: Rig) -> None:
    payload = payload_of(rig, "k")
    for i in range(len(payload)):
        damaged = payload[:i] + bytes([payload[i] ^ 1]) + payload[i + 1 :]
        assert str(rig.run("RESTORE", "new", 0, damaged)).startswith("ERR")
    assert rig.say("EXISTS new") == 0


def test_the_lowest_version_that_holds_the_value(rig: Rig) -> None:
    rig.say("HSET h f v")
    assert version_of(payload_of(rig, "h")) == 10
    rig.say("HEXPIRE h 100 FIELDS 1 f")
    payload = payload_of(rig, "h")
    assert version_of(payload) == 12
    assert rig.run("RESTORE", "again", 0, payload) == OK
    assert rig.say("HTTL again FIELDS 1 f") == [100]
    rig.node.settings.rdb_version = 10
    assert rig.error("DUMP h").startswith("ERR ")
    assert rig.error("DUMP h") != "ERR "


@pytest.mark.parametrize(
    ("policy", "option", "question", "answers"),
    [
        ("allkeys-lru", "IDLETIME 1000", "OBJECT IDLETIME k", (1000, 1007)),
        ("allkeys-lru", "FREQ 200", "OBJECT IDLETIME k", (0, 7)),
        ("allkeys-lfu", "FREQ 200", "OBJECT FREQ k", (200, 200)),
        ("allkeys-lfu", "IDLETIME 1000", "OBJECT FREQ k", (5, 5)),
    ],
)
def test_access_is_restored_where_the_policy_goes_by_it(
    policy: str, option: str, question: str, answers: tuple[int, int]
) -> None:
    rig = Rig(maxmemory_policy=policy, maxmemory=1 << 40)
    rig.say("SET source v")
    payload = rig.say("DUMP source")
    assert isinstance(payload, bytes)
    rig.run("RESTORE", "k", "0", payload, *option.split())
    now = rig.say(question)
    rig.pass_s(7)
    assert (now, rig.say(question)) == answers
