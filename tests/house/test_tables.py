"""Tables of keys have one door: who is above the keyspace asks a `Database`, and never touches its store.

The keyspace calls the methods of a store, and nobody but the plain store knows that it is made of dictionaries.
"""

from __future__ import annotations

import ast

from tests.house.source import ROOT, python, shown

_ROOMS = ("keyspace", "store")
"""Those that may."""
_OFFERED = frozenset({"pyrepl.store.key_round", "pyrepl.store.store"})
"""Modules of the store that others may import: a round through any dictionary, and what a store offers."""
_DICTIONARIES = frozenset({"values", "expires", "order"})
"""What a plain store is made of."""
_MADE_FOR_THEM = frozenset({"pyrepl.rdb.compiled.room"})
"""What changes dictionaries of keys behind the interpreter's back: the store's alone."""

_DATABASES = frozenset(
    {"db", "database", "databases", "source", "target", "old", "new", "one", "two", "first", "second"}
)
"""What a database is called."""


def _is_database(node: ast.expr) -> bool:
    """As far as its name tells: `options.store` is SORT's, for one."""
    if isinstance(node, ast.Subscript):
        return _is_database(node.value)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.strip("_") in _DATABASES


def _touches(tree: ast.Module) -> list[int]:
    """The lines where a store is touched, by its attribute of a database or by an import."""
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        is_store = isinstance(node, ast.Attribute) and node.attr == "store" and _is_database(node.value)
        if is_store or (
            any((name + ".").startswith("pyrepl.store.") for name in names) and not _OFFERED.intersection(names)
        ):
            assert isinstance(node, ast.Attribute | ast.Import | ast.ImportFrom)
            found.append(node.lineno)
    return found


def _knows(tree: ast.Module) -> list[int]:
    """The lines where a store's dictionary is named, or what is made for such dictionaries."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in _MADE_FOR_THEM:
            found.append(node.lineno)
        elif isinstance(node, ast.Attribute) and node.attr in _DICTIONARIES:
            holder = node.value
            name = (
                holder.attr if isinstance(holder, ast.Attribute) else holder.id if isinstance(holder, ast.Name) else ""
            )
            if name.strip("_") == "store":
                found.append(node.lineno)
    return found


def test_nobody_but_the_store_names_a_dictionary_of_keys() -> None:
    guilty = [
        f"{shown(path)}:{line}"
        for path in python("pyrepl")
        if path.relative_to(ROOT).parts[1] != "store"
        for line in _knows(ast.parse(path.read_text()))
    ]
    assert guilty == []


def test_naming_one_is_seen() -> None:
    def lines(source: str) -> list[int]:
        return _knows(ast.parse(source))

    assert (
        lines("edit(db.store.values, key)") == lines("len(self._store.expires)") == lines("store.order = None") == [1]
    )
    assert lines("from pyrepl.rdb.compiled.room import Room") == [1]
    assert lines("db.store.items()\nvalue.expires\nvalue.order") == []


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

    assert lines("len(db.store.values)") == lines("call.db.store.get(key)") == lines("del db.store.values[key]") == [1]
    assert lines("from pyrepl.store.plain import PlainStore") == lines("from pyrepl import store") == [1]
    assert lines("import pyrepl.store.plain") == [1]
    assert lines("db.holds(key)\nfrom pyrepl.store.key_round import KeyRound") == []
