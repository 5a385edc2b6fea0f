"""BITFIELD: kinds, overflow, reading beyond the end. Corner cases are compared in tests/property."""

from __future__ import annotations

import pytest

from pyrepl.commands.strings.bitfields import Kind
from tests.unit.commands.rig import Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize(
    ("kind", "lowest", "highest"),
    [
        (Kind(True, 1), -1, 0),
        (Kind(False, 1), 0, 1),
        (Kind(True, 64), -(2**63), 2**63 - 1),
        (Kind(False, 63), 0, 2**63 - 1),
    ],
)
def test_what_a_kind_holds(kind: Kind, lowest: int, highest: int) -> None:
    assert (kind.lowest, kind.highest) == (lowest, highest)
    assert kind.wrapped(highest + 1) == lowest
    assert kind.wrapped(lowest - 1) == highest


def test_overflow(rig: Rig) -> None:
    assert rig.say("BITFIELD k SET u8 0 255 INCRBY u8 0 10") == [0, 9]
    assert rig.say("BITFIELD k OVERFLOW SAT INCRBY u8 0 250 INCRBY u8 0 -300") == [255, 0]
    assert rig.say("BITFIELD k OVERFLOW FAIL INCRBY u8 0 256 GET u8 0") == [None, 0]


def test_positions_in_units_of_the_kind(rig: Rig) -> None:
    assert rig.say("BITFIELD k SET i16 #2 -1") == [0]
    assert rig.say("STRLEN k") == 6
    assert rig.say("BITFIELD_RO k GET u4 36 GET i5 #9 GET u8 1000") == [15, -4, 0]


def test_reading_alone_creates_nothing(rig: Rig) -> None:
    rig.stream()
    assert rig.say("BITFIELD k GET u8 0") == [0]
    assert rig.say("EXISTS k") == 0
    assert rig.stream() == []
    assert rig.error("BITFIELD_RO k SET u8 0 1") == "ERR BITFIELD_RO only supports the GET subcommand"
