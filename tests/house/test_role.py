"""What follows from the role is asked of `replication.role.Role`, one question for each rule; and our stream's backlog
has one owner.

Who reads `role.is_replica` and concludes something from it writes the rule a second time. Only those may read it who
show the role, or whose commands are about it. (`is_replica` of a client or a session is another fact: the other end of
that connection is a replica of ours.)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source import ROOT, python, shown

OWNERS: Final = frozenset({"role", "_role", "replication", "_replication"})
ALLOWED: Final = {
    "pyrepl/commands/node/replication.py": "REPLICAOF and FAILOVER are about the role itself",
    "pyrepl/daemon/app.py": "each line of the log shows the role",
    "pyrepl/daemon/supervision.py": "systemctl status shows the role",
    "pyrepl/node/node.py": "what commands are checked for begins with the role",
    "pyrepl/observability/info/replication.py": "INFO shows the role",
}


def test_rules_of_the_role_stand_in_role() -> None:
    readers = {shown(path) for path in python("pyrepl") for _ in reads(path.read_text())}
    assert {reader for reader in readers if not reader.startswith("pyrepl/replication/")} == set(ALLOWED)


def test_every_owner_of_an_exception_is_there() -> None:
    assert [path for path in ALLOWED if not (ROOT / path).exists()] == []


def test_who_deletes_what_has_expired_is_set_by_the_node_alone() -> None:
    setters = {shown(path) for path in python("pyrepl") for _ in sets_rule(path.read_text())}
    assert setters == {"pyrepl/node/node.py"}


def test_the_backlog_is_created_and_freed_in_one_place() -> None:
    makers = {shown(path) for path in python("pyrepl") for _ in makes_backlog(path.read_text())}
    assert makers == {"pyrepl/replication/keeping.py"}


def makes_backlog(source: str) -> Iterator[int]:
    """Lines that create or free a backlog."""
    for node in ast.walk(ast.parse(source)):
        called = node.func if isinstance(node, ast.Call) else None
        if not isinstance(called, ast.Attribute) or called.attr not in ("create", "free"):
            continue
        if _last_name(called.value) in ("backlog", "_backlog"):
            yield called.lineno


def reads(source: str) -> Iterator[int]:
    """Lines that read `is_replica` of the node's role."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == "is_replica" and _last_name(node.value) in OWNERS:
            yield node.lineno


def sets_rule(source: str) -> Iterator[int]:
    """Lines that set a keyspace's `expiry` to what is neither a mode for a moment nor what it was before."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Assign):
            continue
        pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
        if any(_last_name(target) == "expiry" and _is_rule(value) for target, value in pairs):
            yield node.lineno


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _is_rule(value: ast.expr) -> bool:
    return _last_name(value) in ("DELETE", "HIDE", "expiry")


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_the_test_sees_a_rule_that_stands_elsewhere() -> None:
    assert list(reads("if node.replication.role.is_replica: pass")) == [1]
    assert list(reads("\nx = self._role.is_replica")) == [2]
    assert list(reads("x = client.is_replica or session.is_replica")) == []
    assert list(sets_rule("keyspace.expiry = Expiry.HIDE")) == [1]
    assert list(sets_rule("before, keyspace.expiry = keyspace.expiry, Expiry.DELETE")) == [1]
    assert list(sets_rule("keyspace.expiry = Expiry.IGNORE")) == []
    assert list(sets_rule("keyspace.expiry = before")) == []
    assert list(makes_backlog("self._backlog.create()")) == [1]
    assert list(makes_backlog("replication.backlog.free()")) == [1]
    assert list(makes_backlog("arena.free()")) == []
