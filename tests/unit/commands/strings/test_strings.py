"""String commands: times to live, propagation, limits. Texts and corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.resp.reply import OK
from tests.unit.commands.rig import START_MS, Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig(proto_max_bulk_len=1024 * 1024)
    rig.stream()
    return rig


def test_set_and_get_with_a_time_to_live(rig: Rig) -> None:
    assert rig.say("SET k v EX 10") == OK
    assert rig.say("GET k") == b"v"
    rig.pass_s(9.999)
    assert rig.say("GET k") == b"v"
    rig.pass_s(0.001)
    assert rig.say("GET k") is None
    assert rig.stream() == ["SELECT 0", f"SET k v PXAT {START_MS + 10_000}", "DEL k"]


def test_set_takes_a_time_to_live_away_and_keepttl_does_not(rig: Rig) -> None:
    rig.say("SET k v EX 10")
    rig.say("SET k w KEEPTTL")
    assert rig.say("PTTL k") == 10_000
    rig.say("SET k x")
    assert rig.say("PTTL k") == -1


def test_keepttl_keeps_no_time_that_has_passed(rig: Rig) -> None:
    rig.say("SET k v PX 1000")
    rig.pass_s(2)
    rig.stream()
    assert rig.say("SET k w KEEPTTL") == OK
    assert rig.say("GET k") == b"w"
    assert rig.say("PTTL k") == -1
    assert rig.stream() == ["MULTI", "DEL k", "SET k w KEEPTTL", "EXEC"]


@pytest.mark.parametrize(
    ("line", "propagated"),
    [
        ("SET k v", ["SET k v"]),
        ("set k v XX get", ["SET k v XX"]),
        ("SET k v GET EX 5", [f"SET k v PXAT {START_MS + 5000}"]),
        ("SET k v NX", []),
        ("SETEX k 5 v", [f"SET k v PXAT {START_MS + 5000}"]),
        ("PSETEX k 5 v", [f"SET k v PXAT {START_MS + 5}"]),
        ("GETSET k v", ["SET k v"]),
        ("GETDEL k", ["DEL k"]),
        ("GETDEL nosuch", []),
        ("GETEX k", []),
        ("GETEX k PX 5", [f"PEXPIREAT k {START_MS + 5}"]),
        ("GETEX k PXAT 5", ["DEL k"]),
        ("GETEX k PERSIST", []),
        ("GETEX volatile PERSIST", ["PERSIST volatile"]),
        ("INCRBYFLOAT k 0.5", ["SET k 10.5 KEEPTTL"]),
        ("INCR k", ["INCR k"]),
        ("SETRANGE k 0 ", []),
        ("MSETNX new 1 k 2", []),
        ("APPEND k v", ["APPEND k v"]),
    ],
)
def test_what_goes_to_the_replicas(rig: Rig, line: str, propagated: list[str]) -> None:
    rig.say("SET k 10")
    rig.say("SET volatile v PXAT 9999999999999")
    rig.stream()
    rig.run(*line.split(" "))
    assert rig.stream() == propagated


def test_which_deletions_are_lazy() -> None:
    rig = Rig(lazyfree_lazy_user_del=True, lazyfree_lazy_expire=True, lazyfree_lazy_server_del=True)
    rig.say("MSET k v l v")
    rig.stream()
    rig.say("GETDEL k")
    rig.say("GETEX l PXAT 1")
    assert rig.stream() == ["SELECT 0", "DEL k", "UNLINK l"]


def test_an_expired_key_that_is_overwritten_goes_first(rig: Rig) -> None:
    rig.say("SET a v PX 1")
    rig.say("SET b v PX 1")
    rig.pass_s(1)
    rig.stream()
    rig.say("MSET a 1 b 2")
    assert rig.stream() == ["MULTI", "DEL a", "DEL b", "MSET a 1 b 2", "EXEC"]
    assert rig.node.keyspace.expired_keys_count == 2


def test_hits_and_misses_are_counted(rig: Rig) -> None:
    rig.say("SET k v")
    rig.say("MGET k nosuch k")
    rig.say("GET nosuch")
    assert (rig.node.keyspace.hits, rig.node.keyspace.misses) == (2, 2)


def test_strings_are_bounded_but_for_our_master(rig: Rig) -> None:
    too_long = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
    rig.run("SET", "k", b"x" * 1024 * 1024)
    assert rig.error("APPEND k y") == too_long
    assert rig.error("SETRANGE k 1048576 y") == too_long
    assert rig.error("SETRANGE new 9223372036854775807 y") == too_long
    assert rig.say("STRLEN k") == 1024 * 1024
    rig.client.become_master_link()
    assert rig.say("APPEND k y") == 1024 * 1024 + 1


def test_a_failed_command_changes_nothing(rig: Rig) -> None:
    rig.say("SET k 9223372036854775807")
    before = rig.node.keyspace.dirty
    for line in ("INCR k", "INCRBYFLOAT k inf", "SETRANGE k -1 x", "SET k v EX 0", "MSET a 1 b"):
        assert rig.error(line)
    assert rig.node.keyspace.dirty == before
    assert rig.say("GET k") == b"9223372036854775807"


class TestMsetex:
    def test_a_span_propagates_as_a_point_in_its_place(self) -> None:
        rig = Rig()
        rig.stream()
        assert rig.say("MSETEX 2 a 1 b 2 EX 10 NX") == 1
        assert rig.say("MSETEX 1 a 3 NX PX 10") == 0
        assert rig.say("MSETEX 1 a 3 xx EX 5 EX 20") == 1
        assert rig.say("MSETEX 1 c 3 EXAT 4000000000") == 1
        assert rig.say("MSETEX 1 a 4 KEEPTTL") == 1
        assert rig.stream() == [
            "SELECT 0",
            f"MSETEX 2 a 1 b 2 PXAT {START_MS + 10_000} NX",
            f"MSETEX 1 a 3 xx PXAT {START_MS + 20_000}",
            "MSETEX 1 c 3 EXAT 4000000000",
            "MSETEX 1 a 4 KEEPTTL",
        ]
        assert rig.say("PTTL a") == 20_000

    def test_without_a_time_to_live_an_old_one_goes(self) -> None:
        rig = Rig()
        rig.say("SET a 1 EX 10")
        rig.say("MSETEX 2 a 2 a 3")
        assert rig.say("GET a") == b"3" and rig.say("TTL a") == -1
