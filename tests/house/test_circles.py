"""No import circle in pyrepl or in the command line: imports for type checking and inside functions count as well.

Floors and doors are import-linter's (test_imports.py).
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from tests.house.imports import module_of, targets
from tests.house.source import python


def imports() -> dict[str, set[str]]:
    """Module -> the modules that it names; a package only where something of its own file is meant."""
    files = {module_of(path): path for path in python("pyrepl", "cli")}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        found[module] = {target for target in targets(path) if target in files and files[target].name != "__init__.py"}
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
