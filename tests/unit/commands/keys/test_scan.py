"""SCAN and the scans of collections through their commands. The promise itself is shown in tests/unit/keyspace."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def everything(rig: Rig, head: str, options: str = "") -> list[bytes]:
    """All elements that one full iteration returns."""
    found: list[bytes] = []
    cursor = b"0"
    while True:
        reply: Any = rig.say(f"{head} {cursor.decode()} {options}")
        cursor = reply[0]
        found.extend(reply[1])
        if cursor == b"0":
            return found


def test_a_full_iteration_with_filters(rig: Rig) -> None:
    for i in range(50):
        rig.say(f"SET s{i} v")
        rig.say(f"RPUSH l{i} v")
    assert len(everything(rig, "SCAN")) == 100
    assert sorted(everything(rig, "SCAN", "MATCH s1? COUNT 7")) == [b"s1%d" % i for i in range(10)]
    assert len(everything(rig, "SCAN", "TYPE LIST COUNT 3")) == 50
    assert everything(rig, "SCAN", "TYPE nosuch") == []


def test_expired_keys_are_deleted_on_the_way(rig: Rig) -> None:
    for i in range(20):
        rig.say(f"SET k{i} v PX {1 + i % 2 * 5000}")
    rig.pass_s(1)
    assert len(everything(rig, "SCAN")) == 10
    assert rig.say("DBSIZE") == 10


@pytest.mark.parametrize(
    ("add", "scan", "parts"),
    [("SADD k m{0}", "SSCAN k", 1), ("HSET k m{0} v", "HSCAN k", 2), ("ZADD k {0} m{0}", "ZSCAN k", 2)],
)
def test_big_collections_come_in_pieces(rig: Rig, add: str, scan: str, parts: int) -> None:
    for i in range(500):
        rig.say(add.format(i))
    first: Any = rig.say(f"{scan} 0 COUNT 20")
    assert len(first[1]) == 20 * parts
    assert sorted(everything(rig, scan)[::parts]) == sorted(b"m%d" % i for i in range(500))
    assert sorted(everything(rig, scan, "MATCH m4??")[::parts]) == [b"m%d" % i for i in range(400, 500)]


def test_elements_removed_since_the_start_are_not_returned(rig: Rig) -> None:
    for i in range(300):
        rig.say(f"SADD k m{i}")
    first: Any = rig.say("SSCAN k 0 COUNT 10")
    for i in range(300):
        if i % 2:
            rig.say(f"SREM k m{i}")
    rest: Any = rig.say(f"SSCAN k {first[0].decode()} COUNT 290")
    assert all(int(member[1:]) % 2 == 0 for member in rest[1])
