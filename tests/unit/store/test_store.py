"""The protocol of stores: the plain one fits it, and a database does its work through what the protocol names."""

from __future__ import annotations

import ast
from pathlib import Path

from pyrepl import keyspace
from pyrepl.store.plain import PlainStore
from pyrepl.store.store import Round, Store


def test_the_plain_store_fits() -> None:
    store: Store = PlainStore()
    rounds: list[Round] = [store.key_round(), store.timed_round()]
    assert [keys.take(1) for keys in rounds] == [[], []]


def test_a_database_uses_nothing_else() -> None:
    """Or another store could not be put in place of the plain one."""
    # Of the package, as a compiled module that another one imports first does not know its own file.
    tree = ast.parse(Path(keyspace.__path__[0], "database.py").read_text())
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and (
            (isinstance(node.value, ast.Attribute) and node.value.attr == "store")
            or (isinstance(node.value, ast.Name) and node.value.id == "store")
        )
    }
    named = {name for name in vars(Store) if not name.startswith("_")}
    assert {"get", "put", "live", "pop"} <= used <= named
