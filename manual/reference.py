"""The pages of the reference, each made from the rows of one table of the code, so that no page can be out of date."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from manual.markdown import code, table
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.describe.syntax import SYNTAX
from pyrepl.commands.engine.table import Command, Table
from pyrepl.config.directive import Directive
from pyrepl.config.directives import GROUPS
from pyrepl.metrics.results import RESULTS
from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.info.field import Field, Rows
from pyrepl.observability.info.report import SECTIONS

_TYPE: Final = re.compile(r"(?<=\w)/\w+|\+(?=\.\.\.)")
"""What SYNTAX says of an argument besides its name and that it may come again."""


def commands() -> str:
    """Every command, by its group."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for row in Table(FAMILIES):
        for each in (row, *row.subcommands.values()):
            groups.setdefault(row.group, []).append(_of_command(each))
    parts = ["# Commands\n\nAll commands that a node answers, as `COMMAND DOCS` tells them too.\n"]
    for group in sorted(groups):
        parts.append(f"\n## {group.capitalize()}\n\n{table(('command', 'what it does', 'since'), groups[group])}")
    return "".join(parts)


def _of_command(row: Command) -> tuple[str, str, str]:
    called = " ".join(filter(None, (row.name.replace("|", " "), _TYPE.sub("", SYNTAX.get(row.name, "")))))
    return code(called), row.summary, row.since


def directives() -> str:
    """Every directive that people set, by its group."""
    parts = [
        "# Directives\n\nEach is a line of the configuration, an option of the command line (`--port 6380`), and,"
        " unless it is fixed, a name for `CONFIG SET`.\n"
    ]
    for title, rows in GROUPS:
        shown = [_of_directive(row) for row in rows if not row.hidden]
        if shown:
            parts.append(f"\n## {title}\n\n{table(('directive', 'default', 'what it says'), shown)}")
    return "".join(parts)


def _of_directive(row: Directive[Any]) -> tuple[str, str, str]:
    notes = [row.help]
    if row.inert:
        notes.append(f"Not in force: {row.inert}.")
    if not row.mutable:
        notes.append("Fixed while the node runs.")
    return code(row.name), code(row.kind.text(row.default).decode()), " ".join(notes)


def info() -> str:
    """Every field of INFO, by its section."""
    parts = ["# Fields of INFO\n\nA counter grows until `CONFIG RESETSTAT` or a restart; a gauge is the state now.\n"]
    for section in SECTIONS:
        rows = [_of_field(entry) for entry in section.entries]
        if rows:
            head = ("field", "kind", "unit", "what it says")
            parts.append(f"\n## INFO {section.name}\n\n{table(head, rows)}")
    return "".join(parts)


def _of_field(entry: Field | Rows) -> tuple[str, str, str, str]:
    if isinstance(entry, Rows):
        return code(entry.name), "rows", "", entry.help
    return code(entry.name), entry.kind.value, entry.unit, entry.help


def log_lines() -> str:
    """Every sentence of the text log."""
    rows = sorted(_of_event(record) for record in _below(Event) if record.__module__ == events.__name__ and record.TEXT)
    return (
        "# Lines of the log\n\nWords in braces differ from line to line. The event log, for programs, is described in"
        f" [its own page](event-log.md).\n\n{table(('sentence', 'level'), rows)}"
    )


def _of_event(record: type[Event]) -> tuple[str, str]:
    return code(record.sentence()), record.LEVEL.name.lower()


def _below(kind: type[Event]) -> Iterable[type[Event]]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


def metrics() -> str:
    """Every column of the result tables of `pyrepl metrics`."""
    parts = ["# Tables of pyrepl metrics\n\nWhat `--sql` can ask, and what lies below `DIR/results/` as Parquet.\n"]
    for result in RESULTS:
        rows = [(code(column.name), column.kind.value, column.unit, column.rule) for column in result.columns]
        head = ("column", "type", "unit", "what stands in it")
        grain = f"{result.grain[0].upper()}{result.grain[1:]}"
        parts.append(f"\n## {result.name}\n\n{grain}.\n\n{table(head, rows)}")
    return "".join(parts)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands.md": commands,
    "directives.md": directives,
    "info.md": info,
    "log-lines.md": log_lines,
    "metrics-tables.md": metrics,
}
"""Name of the page -> who makes it. The command line's is command_line.py's."""
