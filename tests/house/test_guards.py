"""What guards commands is summed up where it changes: nobody assigns a fact behind a sum from outside its owner."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source import ROOT, python, shown

OWNERS: Final = {
    "pyrepl/node/client.py": frozenset(
        {"guarded", "authenticated", "identity", "queue", "channels", "patterns", "proto", "closing", "reply_mode"}
        | {"is_master_link", "is_replica", "skip_next_reply"}
    ),
}
"""File of the owner -> the facts that it sums up, and the sums."""
NAMESAKES: Final = frozenset({"parser"})
"""Whose facts of the same names are others: a parser is told how much a stranger may send."""
CHANGES: Final = frozenset({"add", "discard", "remove", "clear", "update", "pop"})
"""What changes a set; a queue is made and forgotten by its owner, and filled by the dispatcher."""


def test_facts_are_changed_by_their_owner_alone() -> None:
    guilty = [
        f"{shown(path)}:{line} {name}"
        for owner, facts in OWNERS.items()
        for path in python("pyrepl", "tests")
        if path != ROOT / owner
        for line, name in changes(path.read_text(), facts)
    ]
    assert guilty == [], "call a verb of the owner, which keeps true what it sums up"


def changes(source: str, facts: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, fact) where an attribute of such a name is assigned or changed, on anything but `self`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            changed: ast.expr = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            changed = node.func.value
        else:
            continue
        if isinstance(changed, ast.Attribute) and changed.attr in facts and _is_anothers(changed.value):
            yield changed.lineno, changed.attr


def _is_anothers(owner: ast.expr) -> bool:
    if isinstance(owner, ast.Name):
        return owner.id != "self" and owner.id not in NAMESAKES
    return not (isinstance(owner, ast.Attribute) and owner.attr in NAMESAKES)


def test_the_test_sees_a_change() -> None:
    facts = frozenset({"closing", "channels"})
    assert list(changes("client.closing = True", facts)) == [(1, "closing")]
    assert list(changes("a, self.client.closing = 1, 2", facts)) == [(1, "closing")]
    assert list(changes("\nconn.client.channels.add(b'a')", facts)) == [(2, "channels")]
    assert list(changes("closing = client.closing", facts)) == []
    assert list(changes("self.closing = True", facts)) == []
    assert list(changes("self.parser.closing = True", facts)) == []
