"""Blocks as arrays of lines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.lines import joined, line_array, longest


@settings(deadline=None)
@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), min_size=1, max_size=20))
def test_lines_and_back(lines: list[bytes]) -> None:
    block = b"".join(line + b"\n" for line in lines)
    array = line_array(block)
    assert array.to_pylist() == [line + b"\n" for line in lines]
    assert joined(array) == block
    assert longest(array) == max(map(len, lines)) + 1


def test_nothing() -> None:
    assert joined(line_array(b"")) == b""
    assert longest(line_array(b"")) == 0
