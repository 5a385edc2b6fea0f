"""The arguments of VADD, VSIM and VRANGE. Which error Redis gives is compared in tests/property."""

from __future__ import annotations

import struct

import pytest

from pyrepl.commands.vectors.arguments import Addition, Bound, Search, vector_argument
from pyrepl.errors import CommandError
from pyrepl.keyspace.vector_verbs import Shape
from pyrepl.rdb.vectors import BIN, Q8


def error_of(line: str) -> str:
    with pytest.raises(CommandError) as raised:
        Addition(tuple(line.encode().split()))
    return str(raised.value)


def test_vectors() -> None:
    floats, taken = vector_argument((b"fp32", struct.pack("<2f", 1.5, -2), b"name"))
    assert (floats.tolist(), taken) == ([1.5, -2], 2)
    floats, taken = vector_argument((b"VALUES", b"2", b"1e50", b"0x10", b"name"))
    assert (floats.tolist(), taken) == ([float("inf"), 16], 4)


@pytest.mark.parametrize(
    "line", ["VALUES 2 1", "VALUES 0", "VALUES 65537 1", "VALUES x 1", "VALUES 1 nan", "FP32 abc", "XX 1", "FP32"]
)
def test_what_is_no_vector(line: str) -> None:
    with pytest.raises(CommandError, match="ERR invalid vector specification"):
        vector_argument(tuple(line.encode().split()))


def test_additions() -> None:
    added = Addition(tuple(b"REDUCE 1 VALUES 2 3 4 name CAS bin M 7 EF 9 SETATTR {}".split()))
    assert added.shape == Shape(BIN, 7, 1)
    assert (added.name, added.ef, added.attributes, len(added.floats)) == (b"name", 9, b"{}", 2)
    assert Addition((b"VALUES", b"1", b"3", b"n")).shape == Shape(Q8, 16, 0)


def test_errors_of_additions() -> None:
    assert error_of("VALUES 1 1 e M 3") == error_of("VALUES 1 1 e M 4097") == "ERR invalid M"
    assert error_of("VALUES 1 1 e EF 0") == "ERR invalid EF"
    assert error_of("VALUES 1 1 e EF") == error_of("VALUES 1 1 e x") == "ERR invalid option after element"
    assert error_of("VALUES 1 1") == "ERR wrong number of arguments for 'VADD' command"
    assert error_of("REDUCE 2 VALUES 1 1 e") == error_of("REDUCE 0 VALUES 1 1 e") == "ERR invalid vector specification"


def test_searches() -> None:
    search = Search(tuple(b"COUNT 3 withscores EPSILON 0.5 FILTER .a FILTER-EF 7".split()))
    assert (search.count, search.epsilon, search.effort, search.with_scores) == (3, 0.5, 7, True)
    assert Search((b"COUNT", b"3")).effort == 300
    assert Search((b"TRUTH", b"FILTER-EF", b"5")).effort is None
    for line in (b"COUNT 0", b"EPSILON 0", b"EPSILON x", b"EF 0", b"FILTER-EF 0"):
        with pytest.raises(CommandError, match=f"^ERR invalid {line.split()[0].decode()}$"):
            Search(tuple(line.split()))
    for line in (b"x", b"COUNT", b"TRUTH x"):
        with pytest.raises(CommandError, match="ERR syntax error in VSIM command"):
            Search(tuple(line.split()))


def test_bounds() -> None:
    assert Bound(b"[b", "start").is_below(b"b") and not Bound(b"(b", "start").is_below(b"b")
    assert Bound(b"[b", "end").is_above(b"b") and not Bound(b"(b", "end").is_above(b"b")
    assert Bound(b"-", "start").is_below(b"") and Bound(b"+", "end").is_above(b"z")
    for text in (b"", b"[", b"(", b"a"):
        with pytest.raises(CommandError, match="ERR invalid end range format"):
            Bound(text, "end")
