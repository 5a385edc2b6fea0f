"""Patterns that are enough to allow a command."""

from __future__ import annotations

import pytest

from pyrepl.acl.quick import Quick, all_match
from pyrepl.acl.selector import ALL, READ, WRITE, Selector
from pyrepl.glob import Glob
from tests.unit.acl.names import Names

WORDS = [b"MSET", b"a:1", b"", b"b:1", b"x"]


@pytest.mark.parametrize(
    ("patterns", "positions", "expected"),
    [
        ((b"a:*",), [1], True),
        ((b"a:*",), [1, 3], False),
        ((b"b:*", b"a:*"), [1, 3], True),
        ((b"a:*",), [], True),
        ((b"*",), [2], False),
        ((b"*",), [5], False),
        ((), [1], False),
    ],
)
def test_each_word_matches_one_of_them(patterns: tuple[bytes, ...], positions: list[int], expected: bool) -> None:
    assert all_match(tuple(map(Glob, patterns)), WORDS, positions) is expected


def selector(*rules: bytes) -> Selector:
    made = Selector()
    for rule in rules:
        made.apply(rule, Names())
    return made


def shown(way: Quick | None) -> tuple[list[bytes] | None, list[bytes] | None]:
    assert way is not None
    return tuple(None if globs is None else [glob.pattern for glob in globs] for globs in (way.keys, way.channels))  # type: ignore[return-value]


def test_what_a_selector_needs() -> None:
    assert shown(selector(b"+@all", b"~*", b"&*").quick("get", READ)) == (None, None)
    some = selector(b"+get", b"+set", b"~a", b"%R~b", b"%W~c", b"&d")
    assert shown(some.quick("get", READ)) == ([b"a", b"b"], [b"d"])
    assert shown(some.quick("set", WRITE)) == ([b"a", b"c"], [b"d"])
    assert shown(some.quick("set", ALL)) == ([b"a"], [b"d"])
    assert some.quick("select", 0) is None
    assert selector(b"+@all", b"-get").quick("get", READ) is None
    assert selector(b"+select|0").quick("select", 0) is None, "its first argument has to be looked at"
