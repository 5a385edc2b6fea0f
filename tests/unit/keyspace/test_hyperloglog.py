"""What the registers mean: headers, the cardinality that is kept, estimates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyrepl.keyspace import hyperloglog
from pyrepl.keyspace.hyperloglog import EMPTY

MOST = 3000


def added(*elements: bytes, sparse_bytes: int = MOST) -> bytes:
    made, raised = hyperloglog.add(EMPTY, list(elements), 0, sparse_bytes)
    assert raised >= 0
    return made if raised else EMPTY


@pytest.mark.parametrize(
    ("value", "sound"),
    [
        (EMPTY, True),
        (EMPTY[:16], True),
        (EMPTY[:15], False),
        (b"", False),
        (b"HYLM" + EMPTY[4:], False),
        (b"HYLL\x02" + EMPTY[5:], False),
        (b"HYLL\x00" + EMPTY[5:], False),
        (b"HYLL" + bytes(12300), True),
        (b"HYLL" + bytes(12301), False),
    ],
)
def test_headers(value: bytes, sound: bool) -> None:
    assert hyperloglog.is_sound_header(value) is sound


def test_a_cardinality_is_kept_until_a_register_is_raised() -> None:
    assert hyperloglog.is_counted(EMPTY) and hyperloglog.cardinality(EMPTY) == 0
    value = added(b"a")
    assert not hyperloglog.is_counted(value)
    value = hyperloglog.with_cardinality(value, 1000)
    assert hyperloglog.is_counted(value) and hyperloglog.cardinality(value) == 1000
    assert not hyperloglog.is_counted(hyperloglog.outdated(value))
    assert not hyperloglog.is_counted(hyperloglog.with_cardinality(value, -(2**63)))


@given(st.integers(0, 2**63 - 1))
def test_cardinalities_of_any_size_are_kept(count: int) -> None:
    value = hyperloglog.with_cardinality(EMPTY, count)
    assert hyperloglog.cardinality(value) == count and value[16:] == EMPTY[16:] and len(value) == len(EMPTY)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 10, 100, 1000])
def test_estimates_are_near(size: int) -> None:
    registers = hyperloglog.no_registers()
    assert hyperloglog.merge(registers, added(*[b"%d" % number for number in range(size)]))
    assert abs(hyperloglog.count(registers) - size) <= size * 0.03


def test_registers_that_no_element_sets() -> None:
    """What C makes of numbers beyond 64 bits, as Redis 8.2 answers it."""
    assert hyperloglog.estimate([0] * 63 + [16384]) == -(2**63)
    assert hyperloglog.estimate([0] * 51 + [16384] + [0] * 12) == -(2**63)


def test_other_registers() -> None:
    registers = hyperloglog.no_registers()
    assert hyperloglog.merge(registers, added(b"a", b"b"))
    for dense in (False, True):
        made = hyperloglog.with_registers(EMPTY, registers, MOST, dense=dense)
        assert made is not None and (made[4] == hyperloglog.DENSE) is dense
        assert not hyperloglog.is_counted(made)
        read = hyperloglog.no_registers()
        assert hyperloglog.merge(read, made) and read == registers
    assert hyperloglog.with_registers(EMPTY, bytearray(3), MOST, dense=False) is None


def test_runs_in_words() -> None:
    assert hyperloglog.runs_in_words(EMPTY) == b"Z:16384"
    assert hyperloglog.runs_in_words(EMPTY[:16] + b"\x04\x89\x40") == b"z:5 v:3,2 Z:1"
    dense = hyperloglog.to_dense(added(b"a"))
    assert dense is not None and dense[4] == hyperloglog.DENSE
