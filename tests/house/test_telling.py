"""A fact is told once: every line of the log is said somewhere, and what makes a record makes its line beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pyrepl.observability import events
from pyrepl.observability.eventlog import records
from tests.house.source import ROOT, python, shown

LINES: Final = "pyrepl.observability.events"
RECORDS: Final = "pyrepl.observability.eventlog.records"

WITHOUT_LINE: Final = {
    "BacklogResized": "CONFIG SET, which asked for it, has a line of its own",
    "NodeReady": "each listener has a line that it is ready",
    "NodeStarted": "it follows the ports, which its line, the first of all, stands before",
    "ReplicaSample": "a sample",
    "Sample": "a sample",
    "SettingsInForce": "the state of all settings, at the start and after CONFIG SET, which has a line of its own",
    "StreamSample": "a sample",
}
"""Records that have no line beside them, and why."""


class Maker:
    """One function: which lines and records it makes by itself, and which other functions of its module it calls."""

    def __init__(self, function: ast.FunctionDef | ast.AsyncFunctionDef, names: dict[str, str]) -> None:
        called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
        made = [full for func in called if (full := _full_name(func, names))]
        self.lines = {name.removeprefix(LINES + ".") for name in made if name.startswith(LINES + ".")}
        self.records = {name.removeprefix(RECORDS + ".") for name in made if name.startswith(RECORDS + ".")}
        self.calls = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in called}


def _full_name(func: ast.expr, names: dict[str, str]) -> str:
    """What is called, by its place in the package; empty for what was not imported."""
    if isinstance(func, ast.Name):
        return names.get(func.id, "")
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in names:
        return f"{names[func.value.id]}.{func.attr}"
    return ""


def _makers(text: str) -> dict[str, Maker]:
    """The functions of a module, methods among them, under their names."""
    tree = ast.parse(text)
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name: Maker(function, names) for function in functions}


def _modules() -> Iterator[dict[str, Maker]]:
    for path in python("pyrepl", "cli"):
        if shown(path) not in ("pyrepl/observability/events.py", "pyrepl/observability/eventlog/records.py"):
            yield _makers(path.read_text())


def _words(folder: str) -> set[str]:
    """The functions of a folder that put lines together for others to say."""
    found = (_makers(path.read_text()) for path in python("pyrepl") if shown(path).startswith(folder))
    return {name for makers in found for name, maker in makers.items() if maker.lines and not maker.records}


def told_together(makers: dict[str, Maker], wording: set[str]) -> set[str]:
    """The records that some function makes beside a line, itself or through those of its module that it calls."""
    found: set[str] = set()
    for maker in makers.values():
        reached = [maker, *(makers[name] for name in maker.calls & makers.keys())]
        if any(one.lines or one.calls & wording for one in reached):
            found |= {record for one in reached for record in one.records}
    return found


def test_every_line_is_said_somewhere() -> None:
    said = {line for makers in _modules() for maker in makers.values() for line in maker.lines}
    assert [kind.__name__ for kind in events.EVENTS if kind.__name__ not in said] == [], "say it, or delete it"


def test_every_record_is_made_somewhere_beside_its_line() -> None:
    wording = _words("pyrepl/observability/telling/")
    modules = list(_modules())
    made = {record for makers in modules for maker in makers.values() for record in maker.records}
    together = {record for makers in modules for record in told_together(makers, wording)}
    known = {kind.__name__ for kind in records.RECORDS}
    assert known - made == set(), "make it, or delete it"
    assert known - together - WITHOUT_LINE.keys() == set(), "say its line beside it (observability/telling)"
    assert WITHOUT_LINE.keys() - (known - together) == set(), "the list is stale"


def test_the_shells_of_replication_make_no_record_themselves() -> None:
    for name in ("feeding/replicas", "following/master_link", "roles", "failovers"):
        makers = _makers((ROOT / f"pyrepl/daemon/{name}.py").read_text())
        assert {record for maker in makers.values() for record in maker.records} == set()


def test_a_record_without_its_line_is_found() -> None:
    text = (
        "from pyrepl.observability import events\n"
        "from pyrepl.observability.eventlog.records import BacklogFreed, Online\n"
        "def one(say): say(Online())\n"
        "def two(say): say(BacklogFreed('ttl'), events.BacklogFreed(1))\n"
    )
    assert told_together(_makers(text), set()) == {"BacklogFreed"}
