"""Ranges of a sorted set, by rank, score or member, turned into positions in its order. Pure.

A range becomes a half-open pair of positions, found by bisection. `commands.zsets.bounds` parses the text of ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Protocol, final

from pyrepl.keyspace.values import ZsetValue


class Span(Protocol):
    """Any of the ranges below."""

    def positions(self, value: ZsetValue, reverse: bool, skipped: int = 0) -> tuple[int, int]:
        """[start, end) in ascending order; start >= end when the range is empty. `value` is not empty.

        `reverse`: the range is read from the highest score down. `skipped`: how many members LIMIT skips at the start;
        the range need not check these.
        """


@final
class Window:
    """The part of a range that is asked for: its direction, and the offset and limit of LIMIT in that direction.

    A negative limit means no limit; a negative offset skips everything, as in Redis."""

    __slots__ = ("limit", "offset", "reverse")

    def __init__(self, reverse: bool = False) -> None:
        self.reverse = reverse
        self.offset: int = 0
        self.limit: int = -1

    def entries(self, value: ZsetValue, span: Span) -> list[tuple[float, bytes]]:
        """The (score, member) in this part of the range, in its direction."""
        start, end = self._limited(*span.positions(value, self.reverse, max(0, self.offset)))
        found = value.slice(start, end) if start < end else []
        if self.reverse:
            found.reverse()
        return found

    def _limited(self, start: int, end: int) -> tuple[int, int]:
        """Cut [start, end) by offset and limit."""
        if self.offset < 0:
            return start, start
        if self.reverse:
            end -= self.offset
            return (start if self.limit < 0 else max(start, end - self.limit)), end
        start += self.offset
        return start, (end if self.limit < 0 else min(end, start + self.limit))


@final
class RankRange:
    """Ranks from `first` to `last`, both inclusive; negative ranks count from the end."""

    __slots__ = ("first", "last")

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last

    def positions(self, value: ZsetValue, reverse: bool, skipped: int = 0) -> tuple[int, int]:
        """[start, end) in ascending order; ranks count from the highest score when `reverse`."""
        size = len(value.scores)
        first = max(self.first + size, 0) if self.first < 0 else self.first
        last = self.last + size if self.last < 0 else min(self.last, size - 1)
        if first > last:
            return 0, 0
        return (size - 1 - last, size - first) if reverse else (first, last + 1)


@final
class ScoreRange:
    """Scores between two bounds; each may be exclusive."""

    __slots__ = ("high", "high_exclusive", "low", "low_exclusive")

    def __init__(self, low: float, low_exclusive: bool, high: float, high_exclusive: bool) -> None:
        self.low = low
        self.low_exclusive = low_exclusive
        self.high = high
        self.high_exclusive = high_exclusive

    def positions(self, value: ZsetValue, reverse: bool, skipped: int = 0) -> tuple[int, int]:
        """[start, end) in ascending order; start >= end when the range is empty."""
        start = _first_above(value, self.low) if self.low_exclusive else _first_from(value, self.low)
        end = _first_from(value, self.high) if self.high_exclusive else _first_above(value, self.high)
        return start, end


def _first_from(value: ZsetValue, score: float) -> int:
    """Position of the first member with a score of at least `score`."""
    # A tuple sorts before every longer one that it begins.
    position: int = value.order.bisect_left((score,))
    return position


def _first_above(value: ZsetValue, score: float) -> int:
    """Position of the first member with a score above `score`."""
    if score == math.inf:
        return len(value.scores)
    return _first_from(value, math.nextafter(score, math.inf))


@final
class LexBound:
    """One end of a range of members. `side` is -1 for `-`, 1 for `+`, 0 for a member."""

    __slots__ = ("exclusive", "member", "side")

    def __init__(self, side: int, member: bytes, exclusive: bool) -> None:
        self.side = side
        self.member = member
        self.exclusive = exclusive

    def position(self, value: ZsetValue, after_equal: bool) -> int:
        """Position of the first member at or after the bound; with `after_equal`, of the first one after it.

        All scores of the sorted set must be equal.
        """
        if self.side:
            return 0 if self.side < 0 else len(value.scores)
        entry = (value.order[0][0], self.member)
        position: int = value.order.bisect_right(entry) if after_equal else value.order.bisect_left(entry)
        return position

    def is_before(self, member: bytes) -> bool:
        """As the low end: may this member be in the range?"""
        if self.side:
            return self.side < 0
        return member > self.member or (member == self.member and not self.exclusive)

    def is_after(self, member: bytes) -> bool:
        """As the high end: may this member be in the range?"""
        if self.side:
            return self.side > 0
        return member < self.member or (member == self.member and not self.exclusive)


@final
class LexRange:
    """Members between two bounds, in the order of their bytes.

    Commands by member are meant for sorted sets whose scores are all equal. For other sorted sets we answer as Redis
    does for a small one (a listpack, 8.2). Redis goes through it by rank: it begins at the first member that is not
    below the range (in reverse: at the last member that is not above it), and ends before the first member on the other
    side of the range. The answer is empty when the last member is below the range or the first one above it. Members
    that LIMIT skips are not checked.
    """

    __slots__ = ("high", "low")

    def __init__(self, low: LexBound, high: LexBound) -> None:
        self.low = low
        self.high = high

    def positions(self, value: ZsetValue, reverse: bool, skipped: int = 0) -> tuple[int, int]:
        """[start, end) in ascending order, with the members that LIMIT skips; start >= end when the range is empty.

        `value` is not empty.
        """
        order = value.order
        if order[0][0] != order[-1][0]:
            return self._found(order, reverse, skipped)
        return self.low.position(value, self.low.exclusive), self.high.position(value, not self.high.exclusive)

    def _found(self, order: Sequence[tuple[float, bytes]], reverse: bool, skipped: int) -> tuple[int, int]:
        low, high = self.low, self.high
        if self._is_empty() or not low.is_before(order[-1][1]) or not high.is_after(order[0][1]):
            return 0, 0
        size = len(order)
        if reverse:
            end = size - next(at for at, (_, member) in enumerate(reversed(order)) if high.is_after(member))
            if not low.is_before(order[end - 1][1]):
                return 0, 0
            rest = range(end - 1 - skipped, -1, -1)
            return end - skipped - _count_while(lambda at: low.is_before(order[at][1]), rest), end
        start = next(at for at, (_, member) in enumerate(order) if low.is_before(member))
        if not high.is_after(order[start][1]):
            return 0, 0
        rest = range(start + skipped, size)
        return start, start + skipped + _count_while(lambda at: high.is_after(order[at][1]), rest)

    def _is_empty(self) -> bool:
        low, high = self.low, self.high
        if low.side or high.side:
            return low.side >= high.side
        return low.member > high.member or (low.member == high.member and (low.exclusive or high.exclusive))


def _count_while(condition: Callable[[int], bool], numbers: range) -> int:
    return sum(1 for _ in takewhile(condition, numbers))
