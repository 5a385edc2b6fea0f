# cython: language_level=3, boundscheck=False, wraparound=False, annotation_typing=False
"""Entries by their first number; what is equal keeps its order.

Runs of a few entries are sorted by insertion, and runs are merged. Compiled by Cython with the types of merge_sort.pxd;
as it is written it does the same.
"""

from __future__ import annotations

from typing import TypeAlias

try:
    import cython
except ImportError:
    from pyrepl import plain as cython

Entry: TypeAlias = tuple[float, float, bytes]
"""What is compared, and what goes with it."""

RUN = 16
"""So many entries are sorted by insertion."""


def in_order(entries: list[Entry], descending: bool) -> list[Entry]:
    """A new list of the entries, from the lowest number to the highest or the other way."""
    size = len(entries)
    items: list[Entry] = []
    start = 0
    while start < size:
        _add_run(entries, start, min(start + 16, size), descending, items)
        start += 16
    width = 16
    while width < size:
        merged: list[Entry] = []
        start = 0
        while start < size:
            _merge(items, start, min(start + width, size), min(start + 2 * width, size), descending, merged)
            start += 2 * width
        items = merged
        width *= 2
    return items


def _add_run(entries: list[Entry], start: int, end: int, descending: bool, out: list[Entry]) -> None:
    """Add the entries [start, end), of which there are at most RUN, to `out` in order."""
    if not cython.compiled:
        numbers = [0.0] * RUN
        places = [0] * RUN
    at = start
    count = 0
    while at < end:
        number = _number(entries[at])
        place = count
        while place > 0 and _comes_later(numbers[place - 1], number, descending):
            numbers[place] = numbers[place - 1]
            places[place] = places[place - 1]
            place -= 1
        numbers[place] = number
        places[place] = at
        count += 1
        at += 1
    at = 0
    while at < count:
        out.append(entries[places[at]])
        at += 1


def _merge(items: list[Entry], start: int, middle: int, end: int, descending: bool, out: list[Entry]) -> None:
    """Add the entries [start, end), of which both [start, middle) and [middle, end) are in order, to `out` in order."""
    left = start
    right = middle
    while left < middle and right < end:
        if _comes_later(_number(items[left]), _number(items[right]), descending):
            out.append(items[right])
            right += 1
        else:
            out.append(items[left])
            left += 1
    while left < middle:
        out.append(items[left])
        left += 1
    while right < end:
        out.append(items[right])
        right += 1


def _number(entry: Entry) -> float:
    return entry[0]


def _comes_later(number: float, other: float, descending: bool) -> bool:
    """Does an entry with this number come behind the other?"""
    return number < other if descending else number > other
