"""HyperLogLog commands: replies, what is kept, what is propagated. All else is compared in tests/property."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig

NO_HLL = "WRONGTYPE Key is not a valid HyperLogLog string value."
UNSOUND = "INVALIDOBJ Corrupted HLL object detected"


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_adding_and_counting(rig: Rig) -> None:
    assert rig.say("PFADD k a b c") == 1
    assert rig.say("PFADD k a b") == 0
    assert rig.say("PFCOUNT k") == 3
    assert rig.say("PFCOUNT k nosuch") == 3
    assert rig.say("PFCOUNT nosuch") == 0
    assert rig.say("PFADD empty") == 1
    assert rig.say("PFADD empty") == 0


def test_only_a_new_estimate_is_a_change(rig: Rig) -> None:
    rig.say("PFADD k a b c")
    before = rig.node.keyspace.dirty
    rig.say("PFCOUNT k")
    rig.say("PFCOUNT k")
    rig.say("PFCOUNT k other")
    assert rig.node.keyspace.dirty == before + 1


def test_merging(rig: Rig) -> None:
    rig.say("PFADD a 1 2 3")
    rig.say("PFADD b 3 4 5")
    rig.say("PFMERGE both a b nosuch")
    assert rig.say("PFCOUNT both") == rig.say("PFCOUNT a b") == 5
    assert rig.wire("PFDEBUG ENCODING both") == b"+sparse\r\n"
    assert rig.say("PFDEBUG TODENSE a") == 1
    assert rig.say("PFDEBUG TODENSE a") == 0
    rig.say("PFMERGE both a")
    assert rig.wire("PFDEBUG ENCODING both") == b"+dense\r\n"
    assert rig.say("PFCOUNT both") == 5


def test_a_string_grows_dense_at_the_limit() -> None:
    rig = Rig(hll_sparse_max_bytes=60)
    for number in range(60):
        rig.say(f"PFADD k {number}")
    assert rig.say("STRLEN k") == 12304
    assert rig.error("PFDEBUG DECODE k") == "ERR HLL encoding is not sparse"


def test_debug(rig: Rig) -> None:
    rig.say("PFADD k a")
    assert rig.say("PFDEBUG DECODE k") == b"Z:12711 v:2,1 Z:3672"
    registers = rig.say("PFDEBUG GETREG k")
    assert isinstance(registers, list) and len(registers) == 16384 and sum(registers) == 2
    assert rig.error("PFDEBUG GETREG nosuch") == "ERR The specified key does not exist"
    assert rig.error("PFDEBUG x k") == "ERR Unknown PFDEBUG subcommand 'x'"


@pytest.mark.parametrize("line", ["PFADD k a", "PFCOUNT k", "PFCOUNT k k", "PFMERGE k", "PFDEBUG GETREG k"])
def test_strings_that_are_none(rig: Rig, line: str) -> None:
    rig.say("SET k x")
    assert rig.error(line) == NO_HLL
    rig.run("SET", "k", b"HYLL\x01" + bytes(10) + b"\x80\x80")
    if line != "PFADD k a":
        assert rig.error(line) == UNSOUND
    rig.say("DEL k")
    rig.say("RPUSH k a")
    assert rig.error(line).startswith("WRONGTYPE Operation")


def test_what_is_unsound_stays_as_it_is(rig: Rig) -> None:
    value = b"HYLL\x01" + bytes(11) + b"\x80" * 4
    rig.run("SET", "k", value)
    before = rig.node.keyspace.dirty
    assert rig.error("PFADD k a b c d e f") == UNSOUND
    assert rig.say("GET k") == value and rig.node.keyspace.dirty == before


def test_selftest(rig: Rig) -> None:
    assert rig.wire("PFSELFTEST") == b"+OK\r\n"
