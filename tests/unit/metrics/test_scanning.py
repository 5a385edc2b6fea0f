"""Blocks that are scanned as one give their owners what each gives by itself, in the order of the lines."""

from __future__ import annotations

from typing import final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyrepl.metrics.blocks import Block
from pyrepl.metrics.jsonlines import Parsed
from pyrepl.metrics.quicklines import QuickLines
from pyrepl.metrics.scanning import MOST_UNUSUAL, Waiting, scan
from tests.unit.metrics.test_jsonlines import SAMPLE, STARTED, line

UNKNOWN = line(event="something_new", seq=3)
UNUSUAL = STARTED.replace(b":9", b": 9")
LINES = (STARTED, SAMPLE, UNKNOWN, UNUSUAL)


@final
class Owner:
    """Notes what it is told: rows by their table, lines of no meaning, and what the scan has left."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.lines = 0

    def keep(self, parsed: Parsed, lines: int) -> None:
        rows = [sorted(row.items(), key=str) for rows in parsed[:2] for row in rows.to_pylist()]
        assert len(rows) + parsed.ignored == lines
        self.told += rows
        self.lines += lines

    def read_any(self, block: Block, at: int, end: int) -> None:
        data = block.data[at:end]
        assert data.endswith(b"\n")
        self.told.append(data)
        self.lines += data.count(b"\n")


def told(blocks: list[bytes], room: int = 100, owners: int = 100) -> list[list[object]]:
    """What the owners hear, of which each has every so manieth block."""
    them = [Owner() for _ in blocks[:owners]]
    scan(QuickLines(room), [Waiting(them[at % owners], Block(0, data)) for at, data in enumerate(blocks)])
    assert [one.lines for one in them] == [
        sum(data.count(b"\n") for data in blocks[at::owners]) for at in range(len(them))
    ]
    return [one.told for one in them]


@given(st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=6).map(b"".join), max_size=6), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_together_as_each_by_itself(blocks: list[bytes], room: int) -> None:
    """Rows of one table come in the lines' order, whatever the room; the two tables apart."""
    once = told(blocks, room)
    alone = [told([block])[0] for block in blocks]
    assert [sorted(map(str, one)) for one in once] == [sorted(map(str, one)) for one in alone]


@pytest.mark.parametrize("room", [2, 100])
def test_what_is_unusual_comes_between_the_lines_around_it(room: int) -> None:
    [first, second] = told([STARTED + UNUSUAL + STARTED, UNUSUAL + STARTED], room)
    assert [isinstance(one, bytes) for one in first] == [False, True, False]
    assert [isinstance(one, bytes) for one in second] == [True, False]


def test_blocks_of_one_owner_come_in_their_order() -> None:
    [[*own], [*other]] = told([STARTED, UNUSUAL, UNUSUAL, STARTED, STARTED], owners=2)
    assert [isinstance(one, bytes) for one in own] == [False, True, False]
    assert [isinstance(one, bytes) for one in other] == [True, False]


def test_of_a_block_with_many_unusual_lines_the_rest_is_left() -> None:
    rest = STARTED * 5
    [first, second] = told([UNUSUAL * (MOST_UNUSUAL + 1) + rest, UNUSUAL + STARTED])
    assert first == [UNUSUAL] * MOST_UNUSUAL + [UNUSUAL + rest]
    assert [isinstance(one, bytes) for one in second] == [True, False]


def test_of_nothing_comes_nothing() -> None:
    assert told([]) == []
