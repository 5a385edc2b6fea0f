"""A stream as blocks of whole lines, however it is cut and whatever it holds."""

from __future__ import annotations

import io

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyrepl.metrics import blocks as module
from pyrepl.metrics.blocks import MAX_LINE_BYTES, Block, TooLong, blocks


def lines_of(data: bytes, block_bytes: int, start: int = 0, end: int | None = None) -> list[tuple[int, bytes]]:
    """(where it begins, the line) of each line; of a line too long its head."""
    found = []
    for part in blocks(io.BytesIO(data[start:]), start, end, block_bytes):
        if isinstance(part, TooLong):
            found.append((part.start, part.head))
            continue
        at = part.start
        for line in part.data[:-1].split(b"\n"):
            found.append((at, line))
            at += len(line) + 1
    return found


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=30), st.integers(1, 50))
def test_any_size_of_blocks_gives_the_same_lines(lines: list[bytes], size: int) -> None:
    data = b"\n".join(lines)
    expected = data.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert [line for _, line in lines_of(data, size)] == expected
    assert all(data[at:].startswith(line) for at, line in lines_of(data, size))


def test_a_range_ends_where_it_should() -> None:
    data = b"one\ntwo\nthree\n"
    assert lines_of(data, 100, 4, 8) == [(4, b"two")]
    assert lines_of(data, 2, 4, 14) == [(4, b"two"), (8, b"three")]


@given(st.lists(st.sampled_from([0, 5, 99, 100, 101, 350]), max_size=8), st.integers(1, 400))
@example([350, 0, 100], 2)
@settings(max_examples=60, deadline=None)
def test_giants_are_told_and_not_kept(sizes: list[int], block_bytes: int) -> None:
    before = module.MAX_LINE_BYTES
    try:
        module.MAX_LINE_BYTES = 100  # type: ignore[misc]
        data = b"".join(b"x" * size + b"\n" for size in sizes)
        parts = list(blocks(io.BytesIO(data), 0, None, block_bytes))
    finally:
        module.MAX_LINE_BYTES = before  # type: ignore[misc]
    assert [part.size for part in parts if isinstance(part, TooLong)] == [size for size in sizes if size > 100]
    kept = [len(line) for part in parts if isinstance(part, Block) for line in part.data[:-1].split(b"\n")]
    assert kept == [size for size in sizes if size <= 100]


def test_the_bound_is_inclusive() -> None:
    fits, too_long = b"a" * MAX_LINE_BYTES, b"b" * (MAX_LINE_BYTES + 1)
    first, second = blocks(io.BytesIO(fits + b"\n" + too_long + b"\n"), 0, None)
    assert isinstance(first, Block)
    assert second == TooLong(MAX_LINE_BYTES + 1, MAX_LINE_BYTES + 1, b"b" * module.SHOWN_BYTES)
