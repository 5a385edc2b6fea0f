"""Bits of strings: positions, ranges, limits. Corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig(proto_max_bulk_len=1024 * 1024)


def test_bits_count_from_the_highest_of_the_first_byte(rig: Rig) -> None:
    assert rig.say("SETBIT k 0 1") == 0
    assert rig.say("SETBIT k 15 1") == 0
    assert rig.say("GET k") == b"\x80\x01"
    assert rig.say("SETBIT k 15 0") == 1
    assert rig.say("GETBIT k 0") == 1
    assert rig.say("GETBIT k 1000") == 0


def test_setting_a_bit_to_what_it_is_changes_nothing(rig: Rig) -> None:
    rig.say("SETBIT k 7 0")
    before = rig.node.keyspace.dirty
    rig.say("SETBIT k 6 0")
    assert rig.node.keyspace.dirty == before
    rig.say("SETBIT k 8 0")
    assert rig.node.keyspace.dirty == before + 1


def test_positions_are_bounded(rig: Rig) -> None:
    last = 8 * 1024 * 1024 - 1
    assert rig.say(f"SETBIT k {last} 1") == 0
    assert rig.error(f"SETBIT k {last + 1} 1") == "ERR bit offset is not an integer or out of range"
    assert rig.error("GETBIT k -1") == "ERR bit offset is not an integer or out of range"
    assert rig.error("SETBIT k 0 2") == "ERR bit is not an integer or out of range"


def test_bitcount_of_ranges(rig: Rig) -> None:
    rig.say("SET k foobar")
    assert rig.say("BITCOUNT k") == 26
    assert rig.say("BITCOUNT k 1 1") == 6
    assert rig.say("BITCOUNT k 5 30 BIT") == 17
    assert rig.say("BITCOUNT k 7 3") == 0


def test_bitpos(rig: Rig) -> None:
    rig.run("SET", "k", b"\x00\xff\xf0")
    assert rig.say("BITPOS k 1") == 8
    assert rig.say("BITPOS k 0 1") == 20
    assert rig.say("BITPOS k 1 7 15 BIT") == 8
    rig.run("SET", "ones", b"\xff\xff")
    assert rig.say("BITPOS ones 0") == 16
    assert rig.say("BITPOS ones 0 0 -1") == -1


def test_bitop_pads_with_zeros_and_deletes_with_an_empty_result(rig: Rig) -> None:
    rig.run("MSET", "a", b"\x0f\xff", "b", b"\xf0")
    assert rig.say("BITOP OR t a b") == 2
    assert rig.say("GET t") == b"\xff\xff"
    assert rig.say("BITOP AND t a b nosuch") == 2
    assert rig.say("GET t") == b"\x00\x00"
    assert rig.say("BITOP NOT t nosuch") == 0
    assert rig.say("EXISTS t") == 0


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("BITCOUNT missing 0", "ERR syntax error"),
        ("BITCOUNT missing a b", "ERR value is not an integer or out of range"),
        ("BITCOUNT missing 0 1 FOO", "ERR syntax error"),
        ("BITCOUNT k -1 -2 FOO", "ERR syntax error"),
        ("BITPOS missing 1 a", "ERR value is not an integer or out of range"),
        ("BITPOS missing 1 0 a", "ERR value is not an integer or out of range"),
        ("BITPOS missing 1 0 1 FOO", "ERR syntax error"),
        ("BITPOS missing 1 0 1 BIT x", "ERR syntax error"),
    ],
)
def test_arguments_are_looked_at_before_the_key(rig: Rig, line: str, complaint: str) -> None:
    rig.say("SET k abc")
    assert rig.error(line) == complaint
