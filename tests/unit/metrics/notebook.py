"""Runs a notebook's code cells one after another, as a kernel does."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any


def cells(path: Path) -> list[str]:
    """The text of its code cells."""
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def run(path: Path) -> list[Any]:
    """What each cell shows: the value of its last line if that is an expression, else None."""
    names: dict[str, Any] = {}
    shown = []
    for cell in cells(path):
        tree = ast.parse(cell)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            name = ast.Name("shown", ast.Store())
            tree.body[-1] = ast.Assign([name], last.value)
        names["shown"] = None
        exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), names)
        shown.append(names["shown"])
    return shown
