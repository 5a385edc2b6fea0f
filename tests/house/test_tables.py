"""Tables of keys have one door: who is above the keyspace asks a `Database`, and never touches its dictionaries."""

from __future__ import annotations

import ast

from tests.house.source import ROOT, python, shown

_ROOMS = ("keyspace",)
"""Those that may."""
_OF_A_HASH = "value"
"""`value.expires` are the times to live of a hash's fields."""


def _touches(tree: ast.Module) -> list[int]:
    """The lines where a table of keys is touched: `values` that is no call, `expires` of anything but a hash."""
    allowed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            allowed.add(node.func)
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                # What changes packed collections puts them back itself.
                allowed |= set(node.args) if node.func.value.id == "edits" else set()
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node in allowed:
            continue
        is_hash = isinstance(node.value, ast.Name) and node.value.id == _OF_A_HASH
        if node.attr == "values" or (node.attr == "expires" and not is_hash):
            found.append(node.lineno)
    return found


def test_nobody_above_the_keyspace_touches_a_table_of_keys() -> None:
    guilty = [
        f"{shown(path)}:{line}"
        for path in python("pyrepl")
        if path.relative_to(ROOT).parts[1] not in _ROOMS
        for line in _touches(ast.parse(path.read_text()))
    ]
    assert guilty == []


def test_touching_one_is_seen() -> None:
    def lines(source: str) -> list[int]:
        return _touches(ast.parse(source))

    assert lines("len(db.values)") == lines("call.db.expires.get(key)") == lines("del db.values[key]") == [1]
    assert lines("db.holds(key)\nvalue.expires\nfields.values()\nedits.pop(db.values, key)") == []
