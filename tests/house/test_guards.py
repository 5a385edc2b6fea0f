"""What guards commands is summed up where it changes: nobody assigns a fact behind a sum from outside its owner."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pyrepl.node.conditions import Condition
from tests.house.source import python, shown

OWNERS: Final = {
    "pyrepl/node/client.py": frozenset(
        {
            "guarded",
            "authenticated",
            "identity",
            "limited",
            "in_reserve",
            "queue",
            "channels",
            "patterns",
            "shard_channels",
            "tracking",
            "subscribed",
            "proto",
            "closing",
            "reply_mode",
        }
        | {"is_master_link", "is_replica", "skip_next_reply", "follows_redirects"}
    ),
    "pyrepl/node/conditions.py": frozenset(
        {"guarded", "checked", "tracked", "keys_ready", "measured", "notified", "propagates", "keeps_own"}
    ),
    "pyrepl/node/node.py": frozenset(
        {"monitors", "slow_limit_s", "lazy_expire", "tracks_latencies", "hll_sparse_bytes"}
    ),
}
"""File of the owner -> the facts that it sums up, and the sums."""
TELLERS: Final = {
    "pyrepl/daemon/aof/load.py": {"REPLAYING"},
    "pyrepl/node/memory_limit.py": {"TRACKED"},
    "pyrepl/node/node.py": {"REPLICA", "MONITORED", "WANTS_REPLICAS", "IMPORTING", "MEASURED"},
    "pyrepl/node/notifications.py": {"NOTIFIED"},
    "pyrepl/node/pause.py": {"PAUSED"},
    "pyrepl/node/scripts.py": {"BUSY"},
    "pyrepl/node/persistence.py": {"LOADING", "SAVE_FAILED", "AOF_FAILED", "FOLLOWED"},
}
"""Who tells `Conditions` of what; each condition has one owner."""
NAMESAKES: Final = frozenset({"parser"})
"""Whose facts of the same names are others: a parser is told how much a stranger may send."""
CHANGES: Final = frozenset({"add", "discard", "remove", "clear", "update", "pop"})
"""What changes a set; a queue is made and forgotten by its owner, and filled by the dispatcher."""


def test_nobody_reviews() -> None:
    names = ["review" + "_guard", "review" + "_settings"]
    texts = {shown(path): path.read_text() for path in python("pyrepl", "tests", "bench", "cli")}
    assert [path for path, text in texts.items() if any(name in text for name in names)] == []


def test_facts_are_changed_by_their_owner_alone() -> None:
    guilty = [
        f"{shown(path)}:{line} {name}"
        for path in python("pyrepl", "tests")
        for line, name in changes(path.read_text(), facts_of_others(shown(path)))
    ]
    assert guilty == [], "call a verb of the owner, which keeps true what it sums up"


def facts_of_others(file: str) -> frozenset[str]:
    """Those that this file does not own."""
    return frozenset().union(*(facts for owner, facts in OWNERS.items() if owner != file))


def test_each_condition_has_one_owner() -> None:
    told = {
        shown(path): names
        for path in python("pyrepl")
        if shown(path) != "pyrepl/node/conditions.py" and (names := conditions_named(path.read_text()))
    }
    assert told == TELLERS
    assert sorted(name for names in TELLERS.values() for name in names) == sorted(Condition.__members__)


def test_settings_of_a_running_node_are_assigned_where_what_is_derived_from_them_follows() -> None:
    assert [
        shown(path) for path in python("pyrepl") for call in calls(path.read_text()) if call == "settings.assign"
    ] == ["pyrepl/node/node.py"]


def conditions_named(source: str) -> set[str]:
    """Members of `Condition` that stand in the source."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Condition"
    }


def calls(source: str) -> Iterator[str]:
    """`owner.method` of each call of a method, the owner by its last name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            yield f"{name}.{node.func.attr}"


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
