"""No import circle in pyrepl or in the command line: imports for type checking and inside functions count as well.

By the syntax tree, as what a module needs to be understood is what it needs, whenever that is imported. Floors and
doors are import-linter's (test_imports.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.house.source import ROOT, python


def module_of(path: Path) -> str:
    """pyrepl/aof/place.py is pyrepl.aof.place; a package has the name of its folder."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def targets(path: Path) -> Iterator[str]:
    """Everything that a file may import by its statements: modules, and names in them, which may be modules too."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *(node.module or "").split("."))).strip(".")
            for alias in node.names:
                yield f"{base}.{alias.name}"
                yield base


def imports() -> dict[str, set[str]]:
    """Module -> the modules that it names; a package only where something of its own file is meant."""
    files = {module_of(path): path for path in python("pyrepl", "cli")}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        named = [target.replace("pyrepl_cli", "cli", 1) for target in targets(path)]
        found[module] = {target for target in named if target in files and files[target].name != "__init__.py"}
        found[module].discard(module)
    return found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """One that there is, or []."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle() -> None:
    graph = imports()
    assert len(graph) > 300 and sum(map(len, graph.values())) > 1000
    assert "pyrepl.replication.session" in graph["pyrepl.replication.roster"]
    assert "cli.metrics.watch" in graph["cli.metrics.run"], "relative imports are seen"
    assert circle(graph) == []


def test_a_circle_is_found() -> None:
    assert sorted(set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}))) == ["a", "b", "c"]
