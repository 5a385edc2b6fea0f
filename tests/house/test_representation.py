"""Commands know no representation: whether a collection is packed, plain or absent is known in `keyspace` alone.

A command calls a verb of `keyspace` (`list_verbs` and its like), which takes a database and a key.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from tests.house.source import ROOT, python, shown

VALUES: Final = frozenset({"bytes", "ListValue", "SetValue", "HashValue", "ZsetValue"})
FORBIDDEN: Final = (
    "pyrepl.keyspace.packed.Packed",
    "pyrepl.keyspace.packed.unpacked",
    "pyrepl.rdb.compiled",
    "pyrepl.rdb.edits",
    "pyrepl.rdb.plain_edits",
    *(f"pyrepl.keyspace.values.{name}" for name in sorted(VALUES)),
)
"""A plain collection is a representation too."""
PARTS: Final = frozenset({"fields", "members", "scores", "items"})
"""What plain collections are made of."""
VERBS: Final = frozenset({"find", "read"})
"""What hands a collection on, for verbs to open."""


def test_commands_know_no_representation() -> None:
    guilty = [
        f"{shown(path)}:{line}"
        for path in python("pyrepl")
        if path.is_relative_to(ROOT / "pyrepl" / "commands")
        for line in leaks(path.read_text())
    ]
    assert guilty == []


def leaks(source: str) -> Iterator[int]:
    """Lines that import what packs collections, ask for a collection's very class, or open what a verb handed on."""
    tree = ast.parse(source)
    found = {target for node in ast.walk(tree) for target in _handed_on(node)}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        if any(name.startswith(FORBIDDEN) for name in names) or _asks_class(node) or _opens(node, found):
            yield getattr(node, "lineno", 0)


def _handed_on(node: ast.AST) -> Iterator[str]:
    """The names that get what `find` or `read` of a module of verbs gives."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        verb = node.value.func
        if verb.attr in VERBS and isinstance(verb.value, ast.Name) and verb.value.id.endswith("_verbs"):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _opens(node: ast.AST, found: set[str]) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in PARTS
        and isinstance(node.value, ast.Name)
        and node.value.id in found
    )


def _asks_class(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Call):
        return False
    words = {
        name.id for part in (node.left.func, *node.comparators) for name in ast.walk(part) if isinstance(name, ast.Name)
    }
    return "type" in words and not words.isdisjoint(VALUES)


def test_the_test_sees_a_leak() -> None:
    assert list(leaks("from pyrepl.rdb.compiled import edits")) == [1]
    assert list(leaks("from pyrepl.rdb import edits")) == [1]
    assert list(leaks("from pyrepl.keyspace.packed import PackedList")) == [1]
    assert list(leaks("\nif type(value) is not ListValue: pass")) == [2]
    assert list(leaks("x = value if type(value) is bytes else None")) == [1]
    assert list(leaks("if type(reply) is CommandError: pass")) == []
    assert list(leaks("from pyrepl.keyspace.values import ZsetValue")) == [1]
    assert list(leaks("value = hash_verbs.find(db, key)\nlen(value.fields)\nother.fields")) == [2]
