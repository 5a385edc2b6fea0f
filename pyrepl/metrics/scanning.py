"""Blocks of event logs, several at once: usual lines are read by the compiled scan, unusual ones as they come.

To make columns of what the scan has found takes some hundred calls, however few the lines are: so blocks of a few lines
each are joined, scanned as one, and the rows dealt out again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

from pyrepl.metrics.blocks import Block
from pyrepl.metrics.jsonlines import Parsed
from pyrepl.metrics.quicklines import QuickLines

MOST_UNUSUAL: Final = 16
"""Lines of a block that are read one by one where the scan has stopped; with more, it is not worth while."""


class Lines(Protocol):
    """Whose lines a block has."""

    def keep(self, parsed: Parsed, lines: int) -> None:
        """What so many lines gave, which the scan has read."""
        ...

    def read_any(self, block: Block, at: int, end: int) -> None:
        """Read the bytes [at, end) of a block without the scan: whole lines."""
        ...


class Waiting(NamedTuple):
    """A block, and whose it is."""

    whose: Lines
    block: Block


def scan(quick: QuickLines, blocks: Sequence[Waiting]) -> None:
    """Read them all. Of each owner the lines come in their order."""
    data = b"".join([one.block.data for one in blocks])
    ends = list(accumulate(len(one.block.data) for one in blocks))
    at = number = unusual = 0
    while at < len(data):
        found = quick.parse(data, at, ends[number:])
        for one, (parsed, lines) in zip(blocks[number:], found.parts):
            if lines:
                one.whose.keep(parsed, lines)
        at = found.end
        behind = bisect_right(ends, at)
        if behind > number:
            number, unusual = behind, 0
        if at < len(data) and not found.is_full:
            unusual += 1
            whose, block = blocks[number]
            begin = ends[number] - len(block.data)
            end = block.data.index(b"\n", at - begin) + 1 if unusual <= MOST_UNUSUAL else len(block.data)
            whose.read_any(block, at - begin, end)
            at = begin + end
            if at == ends[number]:
                number, unusual = number + 1, 0
