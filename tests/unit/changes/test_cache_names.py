"""A row of the `caches` stream becomes the caches that it means."""

from __future__ import annotations

import pytest

from pyrepl.changes.cache_names import CacheNames, Invalidation
from pyrepl.errors import PeerError

GROUPS = {"cs_cache_fake": ["get_current_state_ids", "rooms"], "rooms": ["get_room", "get_rooms_of"]}


def test_a_plain_cache_by_key_and_as_a_whole() -> None:
    names = CacheNames()
    assert names.invalidations(["get_user_by_id", ["@bob:example.com"], 1550574873251]) == [
        Invalidation("get_user_by_id", ("@bob:example.com",), 1550574873251)
    ]
    assert names.invalidations(["get_user_by_id", None, 1]) == [Invalidation("get_user_by_id", None, 1)]
    assert names.invalidations(["f", [], 1]) == [Invalidation("f", (), 1)], "a function without arguments has a key"


def test_a_name_that_stands_for_several() -> None:
    names = CacheNames(GROUPS)
    found = names.invalidations(["cs_cache_fake", ["!room:a"], 5])
    assert [one.cache for one in found] == ["get_current_state_ids", "get_room", "get_rooms_of"]
    assert {one.keys for one in found} == {("!room:a",)}
    assert {one.at_ms for one in found} == {5}


def test_each_cache_once() -> None:
    assert CacheNames({"a": ["x", "b"], "b": ["x", "y"]}).caches("a") == ("x", "y")


def test_a_name_that_stands_for_itself() -> None:
    with pytest.raises(ValueError, match="'a' stands for itself: a -> b -> a"):
        CacheNames({"a": ["b"], "b": ["a"]})


@pytest.mark.parametrize(
    "row", [None, {}, [], ["f", []], [1, [], 1], ["f", "key", 1], ["f", [], "1"], ["f", {"a": 1}, 1], "f"]
)
def test_what_is_no_such_row(row: object) -> None:
    with pytest.raises(PeerError, match="expected a row \\[cache, keys, ms\\] in stream caches"):
        CacheNames().invalidations(row)


def test_a_row_may_say_more() -> None:
    assert CacheNames().invalidations(["f", None, 1, "later"]) == [Invalidation("f", None, 1)]
