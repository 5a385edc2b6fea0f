"""The daemon is put together in one place: App makes parts, and no part is handed the whole, or half of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.source import ROOT, python, shown

MOST_PARTS = 12
"""A constructor that wants more does more than one job."""
MOST_LINES = 200


def constructors() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in (ROOT / "pyrepl/daemon").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                for item in node.body:
                    if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                        yield f"{shown(path)}:{node.name}", item


def test_no_constructor_takes_too_many_parts() -> None:
    found = {name: len(made.args.args) + len(made.args.kwonlyargs) - 1 for name, made in constructors()}
    assert len(found) > 40 and max(found.values()) > 8, "constructors are seen"
    assert {name: count for name, count in found.items() if count > MOST_PARTS} == {}


def test_nobody_is_handed_the_app() -> None:
    importers = [
        shown(path)
        for path in python("pyrepl", "cli")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "pyrepl.daemon.app"
    ]
    assert importers == ["pyrepl/daemon/loop.py"]


def test_app_makes_parts_and_does_nothing_else() -> None:
    path = ROOT / "pyrepl/daemon/app.py"
    assert len(path.read_text().splitlines()) <= MOST_LINES
    tree = ast.parse(path.read_text())
    (app,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [item.name for item in app.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert methods == ["__init__"]
