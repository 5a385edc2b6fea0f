"""Draw docs/machines.md from the tables of moves: `python -m tests.house.diagrams`; `--check` says if it is stale.

Every `Table` that stands in a module of pyrepl is drawn, by the file in which it is made. A trigger that leads from
many states to one is a sentence below the picture, as its arrows would hide the others.
"""

from __future__ import annotations

import argparse
import enum
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pyrepl.machines import Table
from tests.house.source import ROOT, python, shown

PAGE: Final = ROOT / "docs" / "machines.md"
FROM_MANY: Final = 3
"""From so many states on, inclusive, a trigger with one end is told in words."""

HEAD: Final = """\
# The machines

Whatever has states in pyrepl is a table of moves, (state, trigger) -> next state. A trigger that the table does not
hold for the present state is refused with an error. These pictures are drawn from the tables by
`python -m tests.house.diagrams`: change the table, then draw.
"""


def tables() -> list[tuple[str, Table[Any, Any]]]:
    """(file, table) of all machines, by file."""
    found: list[tuple[str, Table[Any, Any]]] = []
    for path in sorted(python("pyrepl")):
        if not re.search(r"^from pyrepl\.machines import Table$", path.read_text(), re.M):
            continue
        name = shown(path)
        module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
        made = re.findall(r"^(\w+): Final(?:\[Table\[\w+, \w+\]\])? = Table\($", path.read_text(), re.M)
        found += [(name, getattr(module, word)) for word in made]
    return found


def drawn(table: Table[Any, Any]) -> str:
    """One machine in Mermaid's words, and what it tells in sentences."""
    told = _from_many(table)
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f"    [*] --> {state.name}" for state in table.starts]
    for (before, trigger), after in table.moves.items():
        if (trigger, after) not in told:
            lines.append(f"    {before.name} --> {after.name}: {trigger}")
    lines.append("```")
    for (trigger, after), states in told.items():
        lines += ["", f"`{trigger}` leads to {after.name} from {_listed(states, table)}."]
    return "\n".join(lines)


def _states(table: Table[Any, Any]) -> list[enum.Enum]:
    kind: type[enum.Enum] = type(table.starts[0])
    return list(kind)


def _from_many(table: Table[Any, Any]) -> dict[tuple[enum.StrEnum, enum.Enum], list[enum.Enum]]:
    """(trigger, next state) -> the states it comes from, where these are many."""
    ways: dict[tuple[enum.StrEnum, enum.Enum], list[enum.Enum]] = {}
    for (before, trigger), after in table.moves.items():
        ways.setdefault((trigger, after), []).append(before)
    return {way: states for way, states in ways.items() if len(states) >= FROM_MANY}


def _listed(states: list[enum.Enum], table: Table[Any, Any]) -> str:
    rest = [state for state in _states(table) if state not in states]
    if not rest:
        return "every state"
    if len(rest) < len(states):
        return f"every state but {' and '.join(state.name for state in rest)}"
    return ", ".join(state.name for state in states)


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_section(name, table) for name, table in tables())


def _section(name: str, table: Table[Any, Any]) -> str:
    return f"\n## {table.name}\n\nThe table is in [{Path(name).name}](../{name}).\n\n{drawn(table)}\n"


def faults(table: Table[Any, Any]) -> Iterator[str]:
    """What is wrong in a table: states that nothing leads to, triggers that nothing expects."""
    states: set[enum.Enum] = set(_states(table))
    triggers: set[type[enum.StrEnum]] = {type(trigger) for _, trigger in table.moves}
    reached, more = set(table.starts), True
    while more:
        ahead = {after for (before, _), after in table.moves.items() if before in reached}
        more = not ahead <= reached
        reached |= ahead
    yield from (f"{table.name}: nothing leads to {state.name}" for state in sorted(states - reached, key=str))
    used = {trigger for _, trigger in table.moves}
    for kind in triggers:
        yield from (f"{table.name}: nothing expects {trigger}" for trigger in kind if trigger not in used)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Draw docs/machines.md from the tables of moves.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is stale")
    if parser.parse_args(words).check:
        is_fresh = PAGE.exists() and PAGE.read_text() == page()
        print("fresh" if is_fresh else "stale: run python -m tests.house.diagrams")
        return 0 if is_fresh else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
