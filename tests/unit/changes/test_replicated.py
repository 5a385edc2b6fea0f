"""Rows of keys, commands and caches."""

from __future__ import annotations

import json

import pytest

from pyrepl.changes.changed_keys import ChangedKeys
from pyrepl.changes.replicated import CacheRows, CommandRows, KeyRows, parse_invalidation
from pyrepl.changes.units import Unit

CHANGED = ChangedKeys(lambda argv: (argv[0].decode(), list(range(1, len(argv)))))

UNITS: list[Unit] = [
    (50, [(0, [b"SET", b"user:7", b"x"])]),
    (90, [(0, [b"DEL", b"a", b"user:\xff"]), (3, [b"FLUSHDB"])]),
    (120, [(0, [b"PUBLISH", b"news", b"hello"])]),
    (150, [(0, [b"SWAPDB", b"1", b"2"])]),
]


def test_keys() -> None:
    assert KeyRows(CHANGED).facts(UNITS) == [
        (50, ['[0,"user:7","set"]']),
        (90, ['[0,"a","del"]', '[0,{"base64":"dXNlcjr/"},"del"]', '[3,null,"flushdb"]']),
        (150, ['[1,null,"swapdb"]', '[2,null,"swapdb"]']),
    ]


def test_commands() -> None:
    facts = CommandRows().facts(UNITS)
    assert [token for token, _ in facts] == [50, 90, 120, 150]
    assert json.loads(facts[0][1][0]) == [0, ["SET", "user:7", "x"]]
    assert json.loads(facts[1][1][0]) == [0, ["DEL", "a", {"base64": "dXNlcjr/"}]]


def test_text_of_all_kinds_is_one_line_of_json() -> None:
    words = [b"SET", b'"quoted"\\', "zeile\n\r\t\u2028 größe".encode()]
    [(_, [row])] = CommandRows().facts([(1, [(0, words)])])
    assert "\n" not in row
    assert json.loads(row) == [0, [word.decode() for word in words]]


def test_caches_by_rule_and_by_message() -> None:
    rows = CacheRows(CHANGED, [(b"user:*", "get_user"), (b"*", "all")], lambda: 77)
    message: Unit = (200, [(0, [b"PUBLISH", b"pyrepl:caches", b'["foo", ["k"]]'])])
    facts = {token: list(map(json.loads, rows)) for token, rows in rows.facts([*UNITS[:2], message])}
    assert facts[50] == [["get_user", ["user:7"], 77], ["all", ["user:7"], 77]]
    assert facts[90] == [
        ["all", ["a"], 77],
        ["get_user", [{"base64": "dXNlcjr/"}], 77],
        ["all", [{"base64": "dXNlcjr/"}], 77],
        ["get_user", None, 77],
        ["all", None, 77],
    ]
    assert facts[200] == [["foo", ["k"], 77]]


def test_when_it_was_invalidated_if_the_message_says_so() -> None:
    message: Unit = (200, [(0, [b"PUBLISH", b"pyrepl:caches", b'["foo", ["k"], 1550574873252]'])])
    [(_, [row])] = CacheRows(CHANGED, [], lambda: 77).facts([message])
    assert json.loads(row) == ["foo", ["k"], 1550574873252]


def test_without_rules_only_messages_count() -> None:
    assert CacheRows(CHANGED, [], lambda: 0).facts(UNITS) == []


@pytest.mark.parametrize(
    "message, expected",
    [
        (b'["c",null]', ("c", None, None)),
        (b'["c",["a",1]]', ("c", ["a", 1], None)),
        (b'["c",[],1550574873252]', ("c", [], 1550574873252)),
        (b'["c",[],"now"]', ("c", [], None)),
        (b'["c",[],true]', ("c", [], None)),
        (b'["c",[],-1]', ("c", [], None)),
        (b'["c"]', None),
        (b'["c","k"]', None),
        (b'["",null]', None),
        (b'{"c":1}', None),
        (b"[", None),
        (b"\xff", None),
        (b"[" * 50_000, None),
        (b'["c",null,1,2]', None),
    ],
)
def test_messages(message: bytes, expected: tuple[str, object, int | None] | None) -> None:
    assert parse_invalidation(message) == expected
