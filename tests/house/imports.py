"""What a file imports, by its syntax tree: whenever that happens, it is what the file needs to be understood."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import ROOT


def module_of(path: Path) -> str:
    """pyrepl/aof/place.py is pyrepl.aof.place; a package has the name of its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def targets(path: Path) -> Iterator[str]:
    """Everything that a file may import by its statements: modules, and names in them, which may be modules too.

    Names are as the folders are: the command line is `cli`, though it is installed as `pyrepl_cli`.
    """
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (_as_folder(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *(node.module or "").split("."))).strip(".")
            for alias in node.names:
                yield _as_folder(f"{base}.{alias.name}")
                yield _as_folder(base)


def _as_folder(name: str) -> str:
    return name.replace("pyrepl_cli", "cli", 1)
