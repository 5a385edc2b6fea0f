"""A fact is told once: every line of the log is said somewhere, and what makes a record makes its line beside it.

A record that has no line is of a kind that needs none (State, Note in observability/eventlog/record.py). Each kind is
made in one room.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pyrepl.observability import events
from pyrepl.observability.eventlog import records
from pyrepl.observability.eventlog.record import Note, Record, State
from pyrepl.observability.telling.mailboxes import NOTICES
from tests.house.source import python, shown

LINES: Final = "pyrepl.observability.events"
RECORDS: Final = "pyrepl.observability.eventlog.records"

ROOMS: Final[dict[type[Record], str]] = {
    Record: "pyrepl/observability/telling/",
    State: "pyrepl/observability/eventlog/",
    Note: "pyrepl/daemon/eventlog/",
}
"""Where each kind of record is made."""


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


def _modules(folder: str = "") -> Iterator[tuple[str, dict[str, Maker]]]:
    """The modules of a folder, all by default: their paths, and their functions."""
    for path in python("pyrepl", "cli"):
        if shown(path).startswith(folder):
            yield shown(path), _makers(path.read_text())


def _words(folder: str) -> set[str]:
    """The functions of a folder that put lines together for others to say."""
    found = (makers for _, makers in _modules(folder))
    return {name for makers in found for name, maker in makers.items() if maker.lines and not maker.records}


def _kind(record: type[Record]) -> type[Record]:
    return record.__mro__[1]


def told_together(makers: dict[str, Maker], wording: set[str]) -> set[str]:
    """The records that some function makes beside a line, itself or through those of its module that it calls."""
    found: set[str] = set()
    for maker in makers.values():
        reached = [maker, *(makers[name] for name in maker.calls & makers.keys())]
        if any(one.lines or one.calls & wording for one in reached):
            found |= {record for one in reached for record in one.records}
    return found


def test_every_line_is_said_somewhere() -> None:
    said = {line for _, makers in _modules() for maker in makers.values() for line in maker.lines}
    said |= {kind.__name__ for kind in NOTICES.values()}  # That the machine says their words, their own test looks.
    assert [kind.__name__ for kind in events.EVENTS if kind.__name__ not in said] == [], "say it, or delete it"


def test_every_record_is_made_in_the_room_of_its_kind() -> None:
    made = {(record, path) for path, makers in _modules() for maker in makers.values() for record in maker.records}
    rooms = {kind.__name__: ROOMS[_kind(kind)] for kind in records.RECORDS}
    assert rooms.keys() - {record for record, _ in made} == set(), "make it, or delete it"
    assert sorted(f"{path} makes {record}" for record, path in made if not path.startswith(rooms[record])) == []


def test_every_record_of_what_happened_has_its_line() -> None:
    telling = ROOMS[Record]
    wording = _words(telling)
    together = {record for _, makers in _modules(telling) for record in told_together(makers, wording)}
    happened = {kind.__name__ for kind in records.RECORDS if _kind(kind) is Record}
    assert happened - together == set(), "say its line beside it"


def test_a_record_without_its_line_is_found() -> None:
    text = (
        "from pyrepl.observability import events\n"
        "from pyrepl.observability.eventlog.records import BacklogFreed, Online\n"
        "def one(say): say(Online())\n"
        "def two(say): say(BacklogFreed('ttl'), events.BacklogFreed(1))\n"
    )
    assert told_together(_makers(text), set()) == {"BacklogFreed"}
