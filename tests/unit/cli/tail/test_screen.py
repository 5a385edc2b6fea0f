"""Rows on the screen: in lines, as JSON, in a table."""

from __future__ import annotations

import json

from cli.tail.screen import SCREENS
from pyrepl.changes.batches import Row
from pyrepl.changes.rows import Json

ROWS: list[tuple[str, Json]] = [
    ("keys", [0, "user:7", "hset"]),
    ("keys", [15, {"base64": "/w0K"}, "del"]),
    ("keys", [0, "tab\there", "set"]),
    ("keys", [0, None, "flushall"]),
]


def shown(form: str, stream: str, *rows: Json) -> list[str]:
    screen = SCREENS[form](stream)
    return [line for part, data in enumerate(rows) for line in screen.lines(Row(stream, "", 54, part, data))]


def test_lines() -> None:
    assert shown("lines", "keys", [0, "é", "set"], None) == ['54 [0,"é","set"]', "54 null"]


def test_json() -> None:
    (line,) = shown("json", "keys", [0, "a", "set"])
    assert json.loads(line) == {"token": 54, "part": 0, "db": 0, "key": "a", "key_base64": None, "command": "set"}


def test_table() -> None:
    lines = shown("table", "keys", *(data for _, data in ROWS))
    assert [line.split() for line in lines] == [
        ["token", "db", "key", "command"],
        ["54", "0", "user:7", "hset"],
        ["54", "15", '"\\xff\\r\\n"', "del"],
        ["54", "0", "tab\\there", "set"],
        ["54", "0", "flushall"],
    ]
    assert len({line.index(word) for line, word in zip(lines, ["command", "hset", "del", "set", "flushall"])}) == 1
    assert shown("table", "commands", [0, ["set", "a", {"base64": "/w=="}]])[1].split() == [
        "54",
        "0",
        "set",
        "a",
        '"\\xff"',
    ]
    assert shown("table", "caches", ["f", ["k"], 5])[1].split() == ["54", "f", '["k"]', "5"]
    assert sum(line.startswith("token") for line in shown("table", "orders", *range(100))) == 3
