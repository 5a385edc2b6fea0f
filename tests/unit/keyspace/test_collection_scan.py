"""Readers of HSCAN and its like: whole iterations, elements that are gone, and an order made while elements change."""

from __future__ import annotations

import pytest

from pyrepl.keyspace.collection_scan import ContentScan, ElementScan, OrderMaking
from pyrepl.keyspace.database import Keyspace

MANY = 6000


def _names(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def _all_elements(scan: ElementScan, count: int = 100) -> list[bytes]:
    cursor, found = scan.window(0, count)
    while cursor:
        cursor, more = scan.window(cursor, count)
        found = found + more
    return found


@pytest.mark.parametrize("size", [5, 500])
def test_all_elements_come_with_their_contents(size: int) -> None:
    fields = {name: b"v" + name for name in _names(size)}
    scan = ContentScan(Keyspace(1).databases[0], b"key", fields)
    found = _all_elements(scan, 10)
    assert sorted(found) == sorted(fields)
    assert [scan.content(name) for name in found] == [fields[name] for name in found]


def test_elements_that_are_gone_are_not_returned() -> None:
    members = set(_names(500))
    scan = ElementScan(Keyspace(1).databases[0], b"key", members)
    cursor, first = scan.window(0, 10)
    gone = {b"%d" % number for number in range(250)}
    members -= gone
    found: list[bytes] = []
    while cursor:
        cursor, more = scan.window(cursor, 10)
        found += more
    assert gone.isdisjoint(found)
    assert set(first) | set(found) >= members


def test_an_order_is_far_only_for_many_elements_and_until_it_is_kept() -> None:
    db = Keyspace(1).databases[0]
    scan = ElementScan(db, b"key", set(_names(MANY)))
    assert scan.is_far(0, 10)
    assert not scan.is_far(0, MANY)
    assert not ElementScan(db, b"key", set(_names(100))).is_far(0, 10)
    cursor, _ = scan.window(0, 10)
    assert not scan.is_far(cursor, 10)


def _made(making: OrderMaking) -> list[bytes]:
    """The elements of the finished order."""
    steps = 0
    while not making.step():
        steps += 1
        assert steps < 1000
    return making.order.window(0, making.order.size)[1]


@pytest.mark.parametrize("kind", [dict, set])
def test_an_order_of_elements_that_stay_as_they_are(kind: type) -> None:
    names = _names(MANY)
    elements = dict.fromkeys(names, b"") if kind is dict else set(names)
    making = ElementScan(Keyspace(1).databases[0], b"key", elements).order_making()
    assert not making.step()
    assert sorted(_made(making)) == sorted(names)


@pytest.mark.parametrize("kind", [dict, set])
@pytest.mark.parametrize("counted", [True, False])
def test_elements_that_stay_while_others_come_and_go(kind: type, counted: bool) -> None:
    """Whether the changes are counted or, as with a value that is freed, not."""
    keyspace = Keyspace(1)
    names = _names(MANY)
    hashed, grouped = dict.fromkeys(names, b""), set(names)
    elements = hashed if kind is dict else grouped
    scan = ElementScan(keyspace.databases[0], b"key", elements)
    making = scan.order_making()
    making.step()
    for name in names[::2]:
        hashed.pop(name)
        grouped.discard(name)
    for number in range(3 * MANY):
        hashed[b"new%d" % number] = b""
        grouped.add(b"new%d" % number)
    keyspace.dirty += counted
    found = _made(making)
    assert set(names[1::2]) <= set(found)
    assert len(found) == len(set(found))
