"""Lines that say how a command is called, as trees. tests/house compares those of all commands with real servers."""

from __future__ import annotations

import pytest

from pyrepl.commands.describe.syntax_tree import Argument, parse_syntax

KEY = Argument("key", "key")
COUNT = Argument("count", "integer")
BOTH = Argument("key-count", "block", children=(KEY, COUNT))
EQUAL, ABOUT = Argument("=", "pure-token", "="), Argument("~", "pure-token", "~")
LEFT, RIGHT = Argument("left", "pure-token", "LEFT"), Argument("right", "pure-token", "RIGHT")


@pytest.mark.parametrize(
    ("line", "tree"),
    [
        ("", ()),
        ("key count", (KEY, COUNT)),
        ("count/string ip:port", (Argument("count", "string"), Argument("ip:port", "string"))),
        ("key...", (Argument("key", "key", multiple=True),)),
        ("[count]", (Argument("count", "integer", optional=True),)),
        ("LEFT", (LEFT,)),
        ("COUNT count", (Argument("count", "integer", "COUNT"),)),
        ("[COUNT count]", (Argument("count", "integer", "COUNT", optional=True),)),
        ("GET key+...", (Argument("key", "key", "GET", multiple=True, repeats_token=True),)),
        ("(LEFT | RIGHT)", (Argument("left-right", "oneof", children=(LEFT, RIGHT)),)),
        ("[LEFT | RIGHT]...", (Argument("left-right", "oneof", "", (LEFT, RIGHT), True, True),)),
        ("LEFT | key count", (Argument("left-key-count", "oneof", children=(LEFT, BOTH)),)),
        ("(LEFT) key", (LEFT, KEY)),
        ("LEFT RIGHT", (LEFT, RIGHT)),
        ("LEFT [key]", (LEFT, Argument("key", "key", optional=True))),
        ("LIMIT (key count)", (Argument("limit", "block", "LIMIT", (KEY, COUNT)),)),
        ("[TO (key [FORCE])]", (
            Argument("to", "block", "TO", (KEY, Argument("force", "pure-token", "FORCE", optional=True)), True),
        )),
        ("[= | ~]", (Argument("=-~", "oneof", "", (EQUAL, ABOUT), True),)),
    ],
)  # fmt: skip
def test_trees(line: str, tree: tuple[Argument, ...]) -> None:
    assert parse_syntax(line) == tree


@pytest.mark.parametrize("line", ["(key", "[key", "key)", "key]", "()", "[]", "key |", "(key]"])
def test_what_is_no_line(line: str) -> None:
    with pytest.raises(ValueError):
        parse_syntax(line)
