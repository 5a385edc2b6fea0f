"""The order of a SCAN over keys, on its own; what it does under a database is in tests/unit/keyspace/test_scan.py."""

from __future__ import annotations

from pyrepl.store.key_order import KeyOrder, order_of, with_added, without


def test_an_order_belongs_to_one_table() -> None:
    source: dict[bytes, object] = {b"a": 1, b"b": 2}
    order = order_of(None, source, 0)
    assert order_of(order, source, 5) is order and order.used_at_ms == 5
    assert order_of(order, dict(source), 5) is not order


def test_keys_that_come_are_appended_and_those_that_go_leave_gaps() -> None:
    source: dict[bytes, object] = {b"a": 1, b"b": 2}
    order = order_of(None, source, 0)
    source[b"c"] = 3
    assert with_added(order, b"c", 0) is order
    del source[b"a"]
    assert without(order, b"a", 0) is order
    assert order.window(0, 10) == (0, [b"c", b"b", b"a"])
    order.renew()
    assert order.window(0, 10) == (0, [b"c", b"b"])


def test_an_order_that_is_mostly_gaps_is_made_anew_or_dropped_when_nobody_uses_it() -> None:
    source: dict[bytes, object] = {b"%d" % number: 1 for number in range(5000)}
    used, idle = KeyOrder(source, 0), KeyOrder(source, 0)
    source.clear()
    assert without(used, b"1", 1000) is used and used.keys == []
    assert without(idle, b"1", 10**6) is None


def test_a_cursor_of_before_goes_on_after_the_list_was_made_anew() -> None:
    source: dict[bytes, object] = {b"%d" % number: 1 for number in range(2000)}
    order = order_of(None, source, 0)
    cursor, found = order.window(0, 500)
    for number in range(1000):
        del source[b"%d" % number]
        order.drop(b"%d" % number)
    order.renew()
    while cursor:
        cursor, more = order.window(cursor, 500)
        found += more
    assert set(source) <= set(found)
