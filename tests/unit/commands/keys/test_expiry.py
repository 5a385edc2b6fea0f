"""Times to live: deletion, propagation, what a replica does. Corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.keys.expiry import Condition
from pyrepl.errors import CommandError
from pyrepl.keyspace.database import Expiry
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.say("SET k v")
    rig.stream()
    return rig


@pytest.mark.parametrize(
    ("line", "propagated"),
    [
        ("EXPIRE k 10", f"PEXPIREAT k {START_MS + 10_000}"),
        ("expire k 10 nx", f"PEXPIREAT k {START_MS + 10_000} nx"),
        ("PEXPIRE k 10", f"PEXPIREAT k {START_MS + 10}"),
        ("EXPIREAT k 1900000000", "PEXPIREAT k 1900000000000"),
        ("PEXPIREAT k 1900000000000", "PEXPIREAT k 1900000000000"),
        ("EXPIRE k 0", "DEL k"),
        ("EXPIRE k -1", "DEL k"),
        ("EXPIREAT k 1", "DEL k"),
    ],
)
def test_spans_propagate_as_points(rig: Rig, line: str, propagated: str) -> None:
    assert rig.say(line) == 1
    assert rig.stream() == ["SELECT 0", propagated]


@pytest.mark.parametrize("line", ["EXPIRE nosuch 10", "EXPIRE k 10 XX", "EXPIRE k 10 GT", "PERSIST k", "TTL k"])
def test_what_does_nothing_propagates_nothing(rig: Rig, line: str) -> None:
    rig.say(line)
    assert rig.stream() == []


def test_a_key_that_dies_at_once_goes_as_unlink_when_expiry_is_lazy() -> None:
    rig = Rig(lazyfree_lazy_expire=True)
    rig.say("SET k v")
    rig.stream()
    rig.say("EXPIRE k -1")
    assert rig.stream() == ["SELECT 0", "UNLINK k"]


def test_a_key_is_there_until_its_time_and_not_at_it(rig: Rig) -> None:
    rig.say("PEXPIRE k 1500")
    assert [rig.say(f"{name} k") for name in ("PTTL", "TTL", "PEXPIRETIME")] == [1500, 2, START_MS + 1500]
    rig.pass_s(1.499)
    assert rig.say("PTTL k") == 1
    rig.pass_s(0.001)
    assert rig.say("TTL k") == -2
    assert rig.say("DBSIZE") == 0
    assert rig.stream()[-1] == "DEL k"


def test_a_replica_hides_expired_keys_and_keeps_them_until_told(rig: Rig) -> None:
    rig.say("PEXPIRE k 10")
    rig.node.keyspace.expiry = Expiry.HIDE
    rig.pass_s(1)
    assert rig.say("GET k") is None
    assert rig.say("TTL k") == -2
    assert rig.say("EXISTS k") == 0
    assert rig.say("KEYS *") == []
    assert rig.say("SCAN 0") == [b"0", []]
    assert rig.say("RANDOMKEY") is None
    assert rig.say("DBSIZE") == 1


def test_commands_of_our_master_see_expired_keys_and_do_not_delete(rig: Rig) -> None:
    rig.say("PEXPIRE k 10")
    rig.follow()
    rig.node.keyspace.expiry = Expiry.IGNORE
    rig.pass_s(1)
    master = rig.node.replication.link_client
    assert rig.say("APPEND k w", client=master) == 2
    assert rig.say(f"PEXPIREAT k {START_MS}", client=master) == 1
    assert rig.say("DBSIZE") == 1


def test_conditions() -> None:
    assert Condition(()).allows(5, None)
    assert not Condition((b"xx",)).allows(5, None)
    assert not Condition((b"NX",)).allows(5, 4)
    assert Condition((b"GT",)).allows(5, 4)
    assert not Condition((b"GT",)).allows(5, 5)
    assert not Condition((b"GT",)).allows(5, None)
    assert Condition((b"LT",)).allows(5, None)
    assert not Condition((b"LT",)).allows(5, 5)
    with pytest.raises(CommandError, match="NX and XX, GT or LT options at the same time are not compatible"):
        Condition((b"NX", b"LT"))
    with pytest.raises(CommandError, match="Unsupported option x"):
        Condition((b"x",))
