"""Registers: the hash, both forms, their equivalence, and strings of any bytes. The bytes of Redis: tests/property."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyrepl.keyspace.hll_registers import (
    DENSE_BYTES,
    HEADER_BYTES,
    REGISTERS,
    add,
    histogram,
    merge,
    packed,
    place_of,
    raise_all,
    raise_sparse,
    to_dense,
)

HEADER = b"HYLL\x01" + bytes(11)
EMPTY = HEADER + b"\x7f\xff"
DENSE = b"HYLL" + bytes(DENSE_BYTES - 4)
OUT_OF_DATE = b"HYLL\x01" + bytes(10) + b"\x80"
MOST = 3000
UNRAISED = (b"", 0)
UNSOUND = (b"", -1)

elements = st.lists(st.binary(max_size=20), max_size=60)


def registers(value: bytes) -> bytearray:
    """The registers of a sound string, a byte each."""
    maxima = bytearray(REGISTERS)
    assert merge(maxima, value)
    return maxima


@pytest.mark.parametrize(
    ("element", "index", "count"),
    # What PFDEBUG DECODE of Redis 8.2 shows of a string with this element alone.
    [(b"", 5938, 2), (b"a", 12711, 2), (b"hello", 9216, 1), (b"element:0001", 2196, 1), (b"12345678", 10579, 3)],
)
def test_where_an_element_counts(element: bytes, index: int, count: int) -> None:
    assert place_of(element) == count << 14 | index


def test_runs_are_split_and_joined() -> None:
    def raised(value: bytes, *indexes: int) -> bytes:
        for index in indexes:
            made = raise_sparse(value, index, 3, MOST)
            assert made is not None
            value = made
        return value

    assert raised(EMPTY, 0) == OUT_OF_DATE + b"\x88\x7f\xfe"
    assert raised(EMPTY, 0, 1, 2, 3)[16:] == b"\x8b\x7f\xfb"
    assert raised(EMPTY, 0, 1, 2, 3, 4)[16:] == b"\x8b\x88\x7f\xfa"
    assert raised(EMPTY, 2)[16:] == b"\x01\x88\x7f\xfc"
    assert raise_sparse(raised(EMPTY, 0, 1, 2, 3), 1, 4, MOST) == OUT_OF_DATE + b"\x88\x8c\x89\x7f\xfb"


def test_what_raises_nothing_is_the_same_string() -> None:
    value = raise_sparse(EMPTY, 5, 3, MOST)
    assert value is not None
    assert raise_sparse(value, 5, 3, MOST) is value
    assert add(value, [], 0, MOST) == UNRAISED
    assert add(DENSE, [], 0, MOST) == UNRAISED


def test_a_dense_string_that_is_raised_is_another_one() -> None:
    before = bytes(bytearray(DENSE))
    one, raised = add(DENSE, [b"a", b"hello", b"a"], 0, MOST)
    assert raised == 2 and before == DENSE != one
    assert registers(one)[12711] == 2 and registers(one)[9216] == 1 and one[15] == 0x80
    assert add(one, [b"hello", b"a"], 0, MOST) == UNRAISED


def test_a_string_that_would_be_too_long_becomes_dense() -> None:
    sparse, dense = raise_sparse(EMPTY, 5, 3, 20), raise_sparse(EMPTY, 5, 3, 19)
    assert sparse is not None and len(sparse) == 20
    assert dense is not None and len(dense) == DENSE_BYTES and registers(dense) == registers(sparse)


def test_a_count_beyond_32_needs_the_dense_form() -> None:
    dense = raise_sparse(EMPTY, 16383, 33, MOST)
    assert dense is not None and dense[4] == 0 and dense[15] == 0x80
    assert registers(dense)[16383] == 33


def _added(value: bytes, words: list[bytes], most: int) -> tuple[bytes, int]:
    """As `add`, with the string as it was where no register was raised."""
    made, raised = add(value, words, 0, most)
    assert raised >= 0
    return (made if raised else value), raised


@settings(max_examples=60)
@given(elements, st.sampled_from((0, 40, 100, MOST)))
def test_both_forms_hold_the_same(words: list[bytes], most: int) -> None:
    one, other = _added(EMPTY, words, most), _added(DENSE, words, most)
    wanted = bytearray(REGISTERS)
    for word in words:
        place = place_of(word)
        wanted[place & 16383] = max(wanted[place & 16383], place >> 14)
    assert registers(one[0]) == registers(other[0]) == wanted
    assert one[1] == other[1]
    dense = to_dense(one[0])
    assert dense is not None and dense[16:] == other[0][16:]
    assert len(one[0]) <= max(most, len(EMPTY)) or one[0][4] == 0
    assert raise_all(EMPTY, wanted, MOST) is not None


@settings(max_examples=20)
@given(st.lists(st.integers(0, 63), min_size=8, max_size=8).map(lambda few: bytearray(few * (REGISTERS // 8))))
def test_packed_registers_are_read_as_they_were(maxima: bytearray) -> None:
    value = packed(HEADER, maxima)
    assert value is not None and len(value) == DENSE_BYTES
    assert registers(value) == maxima
    assert histogram(maxima) == [maxima.count(number) for number in range(64)]


def test_sizes_that_are_wrong_are_refused() -> None:
    assert packed(HEADER, bytearray(5)) is None
    assert packed(b"HYLL", bytearray(REGISTERS)) is None
    assert not merge(bytearray(5), EMPTY)
    assert raise_all(EMPTY, bytearray(5), MOST) is None
    assert not merge(bytearray(REGISTERS), DENSE[:-1])
    assert add(DENSE[:-1], [b"a"], 0, MOST) == UNSOUND
    assert histogram(bytearray()) == [0] * 64


@settings(max_examples=300)
@given(st.binary(max_size=80), elements, st.integers(0, 100))
@example(b"\x7f", [b"a"], 100)
@example(b"", [b"a"], 100)
@example(b"\xff" * 4097, [b"a"], MOST)
@example(b"\x7f\xff\x7f", [b"a"], MOST)
@example(b"\x7f\xff\x80", [b"a"], MOST)
def test_any_runs_are_read_or_refused(runs: bytes, words: list[bytes], most: int) -> None:
    """As it is written the module raises IndexError where it would read beyond the string."""
    value = HEADER + runs
    added = add(value, words, 0, most)
    assert added in (UNRAISED, UNSOUND) or (added[1] > 0 and len(added[0]) >= HEADER_BYTES)
    # A string that may grow to MOST bytes would be walked from its begin for each register: minutes on the pure form.
    raise_all(value, bytearray(b"\x01" * REGISTERS), HEADER_BYTES + most)
    sound = merge(bytearray(REGISTERS), value)
    assert (to_dense(value) is not None) == sound
