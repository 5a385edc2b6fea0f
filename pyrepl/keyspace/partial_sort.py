"""The first of many entries in order, and the order among equals that Redis gives them.

Redis sorts all of them (`merge_sort`) if all are asked for, and otherwise no more than it answers (Bentley and
McIlroy's quicksort, which leaves out parts that are not asked for).
Among equal entries it takes those that this algorithm brings to the front, and that must be done alike: a command that
stores the first entries is executed by each replica anew.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace import merge_sort
from pyrepl.keyspace.merge_sort import Entry

_IN_ORDER: Final = merge_sort.in_order
"""Looked up once: mypyc would look up a function of a Cython module by its name at each call."""

_FEW: Final = 7
_MANY: Final = 40


def first_in_order(entries: list[Entry], count: int, descending: bool) -> list[Entry]:
    """The first `count` of the entries by their first number; all of them if there are no more.

    Entries keep their order among equals when all are asked for. `entries` may be changed.
    """
    size = len(entries)
    in_order: list[Entry] = _IN_ORDER(entries, descending)
    if count >= size:
        return in_order
    if not any(in_order[at][0] == in_order[at + 1][0] for at in range(count)):
        return in_order[:count]
    _Sorting(entries, count - 1, -1 if descending else 1).sort(0, size)
    return entries[:count]


@final
class _Sorting:
    """Sorts so far that the entries up to the index `last` are right. `sign` -1 sorts the highest to the front."""

    __slots__ = ("_items", "_last", "_sign")

    def __init__(self, items: list[Entry], last: int, sign: int) -> None:
        self._items = items
        self._last = last
        self._sign = sign

    def sort(self, start: int, end: int) -> None:
        """Sort [start, end), which is not beyond `last` as a whole. Parts wait in a list: clients choose the entries,
        and may choose them so that there are more parts than Python calls may be nested."""
        parts = [(start, end)]
        while parts:
            start, end = parts.pop()
            if end - start < _FEW:
                self._insert(start, end)
                continue
            self._swap(start, self._pivot(start, end))
            low_end, high_start = self._parted(start, end)
            if low_end - start > 1:
                parts.append((start, low_end))
            if end - high_start > 1 and high_start <= self._last:
                parts.append((high_start, end))

    def _compare(self, one: int, other: int) -> int:
        """Below 0, 0 or above 0, as the entries at these places are."""
        first, second = self._items[one][0], self._items[other][0]
        if first == second:
            return 0
        return self._sign if first > second else -self._sign

    def _swap(self, one: int, other: int) -> None:
        items = self._items
        items[one], items[other] = items[other], items[one]

    def _swap_runs(self, one: int, other: int, size: int) -> None:
        for step in range(size):
            self._swap(one + step, other + step)

    def _insert(self, start: int, end: int) -> None:
        for at in range(start + 1, end):
            place = at
            while place > start and self._compare(place - 1, place) > 0:
                self._swap(place, place - 1)
                place -= 1

    def _pivot(self, start: int, end: int) -> int:
        """The place of the entry that divides [start, end): the middle one, or a median."""
        size = end - start
        middle = start + size // 2
        if size == _FEW:
            return middle
        left, right = start, end - 1
        if size > _MANY:
            step = size // 8
            left = self._median(left, left + step, left + 2 * step)
            middle = self._median(middle - step, middle, middle + step)
            right = self._median(right - 2 * step, right - step, right)
        return self._median(left, middle, right)

    def _median(self, a: int, b: int, c: int) -> int:
        if self._compare(a, b) < 0:
            if self._compare(b, c) < 0:
                return b
            return c if self._compare(a, c) < 0 else a
        if self._compare(b, c) > 0:
            return b
        return a if self._compare(a, c) < 0 else c

    def _parted(self, start: int, end: int) -> tuple[int, int]:
        """Divide [start, end) by the entry at its start: (end of what is before it, start of what is behind it).

        What equals it is gathered at both ends first, and then brought between.
        """
        left_equal = left = start + 1
        right_equal = right = end - 1
        while True:
            while left <= right and (order := self._compare(left, start)) <= 0:
                if order == 0:
                    self._swap(left_equal, left)
                    left_equal += 1
                left += 1
            while left <= right and (order := self._compare(right, start)) >= 0:
                if order == 0:
                    self._swap(right, right_equal)
                    right_equal -= 1
                right -= 1
            if left > right:
                break
            self._swap(left, right)
            left += 1
            right -= 1
        size = min(left_equal - start, left - left_equal)
        self._swap_runs(start, left - size, size)
        size = min(right_equal - right, end - right_equal - 1)
        self._swap_runs(left, end - size, size)
        return start + left - left_equal, end - (right_equal - right)
