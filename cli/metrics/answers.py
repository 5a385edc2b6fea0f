"""Prints what a statement of --sql found: as a table for people, as JSON lines, or as CSV."""

from __future__ import annotations

import csv
import json
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pyrepl.analysis.queries import Answer

MOST_ROWS: Final = 1000
"""Rows that are shown to people."""
_GAP: Final = 2


def print_answer(answer: Answer, kind: str) -> None:
    """Print it to standard output; `kind` is text, json or csv."""
    if kind == "json":
        for row in answer.rows:
            sys.stdout.write(json.dumps(dict(zip(answer.columns, row, strict=True)), ensure_ascii=False) + "\n")
    elif kind == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(map(_cells, answer.rows))
    else:
        _print_table(answer, Console())
    sys.stdout.flush()


def _cells(row: tuple[Any, ...]) -> list[Any]:
    return [json.dumps(value) if isinstance(value, (bool, list, dict)) else value for value in row]


def _print_table(answer: Answer, console: Console) -> None:
    if not answer.columns:
        return
    rows = list(islice(answer.rows, MOST_ROWS + 1))
    shown = [[_text(value) for value in row] for row in rows[:MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(answer.columns, *shown, strict=True)]
    width = sum(widths) + _GAP * len(widths)
    if console.is_terminal and width > console.width:
        _print_records(answer.columns, shown, console)
    else:
        console.width = max(width, console.width)
        numbers = [_is_number(column) for column in zip(*rows, strict=True)] or [False] * len(widths)
        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for name, is_number in zip(answer.columns, numbers, strict=True):
            table.add_column(Text(name), justify="right" if is_number else "left", no_wrap=True)
        for cells in shown:
            table.add_row(*map(Text, cells))
        console.print(table)
    if len(rows) > MOST_ROWS:
        console.print(f"the first {MOST_ROWS} rows; --format json or csv prints all", highlight=False)


def _print_records(columns: tuple[str, ...], shown: list[list[str]], console: Console) -> None:
    """A row as a block of lines, a column each, where the screen is too narrow for it."""
    widest = max(map(len, columns))
    for number, cells in enumerate(shown, 1):
        console.print(f"row {number}", style="dim", highlight=False)
        for name, cell in zip(columns, cells, strict=True):
            console.print(f"  {name:{widest}}  {cell}", markup=False, highlight=False)


def _is_number(column: tuple[Any, ...]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in column if value is not None)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return str(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
