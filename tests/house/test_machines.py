"""Every machine is a table with one writer, and docs/machines.md shows the tables as they are."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from pathlib import Path

from pyrepl.machines import Table
from tests.house.diagrams import PAGE, drawn, faults, main, page, tables
from tests.house.source import ROOT, python, shown


def machine_rooms() -> list[Path]:
    """The files of the rooms whose states are machines."""
    rooms = [ROOT / "pyrepl" / room for room in ("replication", "changes", "mailbox")]
    return [path for path in python("pyrepl") if path.parent in rooms]


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.house.diagrams"
    assert main(["--check"]) == 0


def test_all_machines_are_found() -> None:
    made = {shown(path) for path in machine_rooms() if "= Table(" in path.read_text()}
    assert made == {name for name, _ in tables()}
    assert len(made) >= 5


def test_every_state_can_be_reached_and_every_trigger_counts() -> None:
    assert [fault for _, table in tables() for fault in faults(table)] == []


def _written(path: Path) -> Iterator[str]:
    """Where a state is set outside of `__init__` and `_move` of the machine itself."""
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Attribute) or node.attr != "state" or not isinstance(node.ctx, ast.Store):
                continue
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if not is_own or function.name not in ("__init__", "_move"):
                yield f"{shown(path)}:{node.lineno}: {ast.unparse(node)}"


def test_each_machine_has_one_writer() -> None:
    assert [found for path in machine_rooms() for found in _written(path)] == []


def test_a_second_writer_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("def hurry(self, other):\n    self.state = 1\n    other.state = 2\n")
    assert [found.rpartition(": ")[2] for found in _written(planted)] == ["self.state", "other.state"]


class Light(enum.StrEnum):
    RED = "red"
    GREEN = "green"
    BROKEN = "broken"


class Push(enum.StrEnum):
    TURN = "turn"
    BREAK = "break"


LIGHT = Table(
    "A light",
    (Light.RED,),
    {
        (Light.RED, Push.TURN): Light.GREEN,
        (Light.GREEN, Push.TURN): Light.RED,
        **{(state, Push.BREAK): Light.BROKEN for state in Light},
    },
)


def test_a_small_machine_is_drawn() -> None:
    assert drawn(LIGHT).splitlines() == [
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> RED",
        "    RED --> GREEN: turn",
        "    GREEN --> RED: turn",
        "```",
        "",
        "`break` leads to BROKEN from every state.",
    ]


def test_what_is_wrong_in_a_table_is_found() -> None:
    table = Table("A light", (Light.RED,), {(Light.RED, Push.TURN): Light.GREEN})
    assert list(faults(table)) == ["A light: nothing leads to BROKEN", "A light: nothing expects break"]
