"""Answers to --sql as text, JSON lines and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from cli.metrics import answers as module
from cli.metrics.answers import print_answer
from pyrepl.analysis.queries import Answer

COLUMNS = ("mode", "n", "ratio", "ok", "list")
ROWS: list[tuple[Any, ...]] = [
    ("full_disk", 12, 0.51234567, True, [1, 2]),
    ('[red], "continue"', None, 123456789.5, False, []),
]


def printed(kind: str, capsys: pytest.CaptureFixture[str], rows: list[tuple[Any, ...]] = ROWS) -> str:
    print_answer(Answer(COLUMNS, iter(rows)), kind)
    return capsys.readouterr().out


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    found = [json.loads(line) for line in printed("json", capsys).splitlines()]
    assert found == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(csv.reader(StringIO(printed("csv", capsys)))) == [
        list(COLUMNS),
        ["full_disk", "12", "0.51234567", "true", "[1, 2]"],
        ['[red], "continue"', "", "123456789.5", "false", "[]"],
    ]


def test_a_table_is_not_folded_where_there_is_no_screen(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.rstrip() for line in printed("text", capsys).splitlines()]
    assert lines == [
        "mode                n      ratio  ok     list",
        "full_disk          12   0.512346  true   [1, 2]",
        '[red], "continue"   -  123456790  false  []',
    ]
    wide = printed("text", capsys, [("x" * 300, 1, 1.0, True, [])])
    assert "x" * 300 in wide


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("text", capsys, []).split() == list(COLUMNS)
    assert printed("json", capsys, []) == ""


def test_a_statement_that_finds_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(Answer((), iter(())), "text")
    assert capsys.readouterr().out == ""


def test_people_see_the_first_rows(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    taken = []

    def rows() -> Iterator[tuple[Any, ...]]:
        for row in ROWS * 5:
            taken.append(row)
            yield row

    print_answer(Answer(COLUMNS, rows()), "text")
    assert capsys.readouterr().out.endswith("the first 2 rows; --format json or csv prints all\n")
    assert len(taken) == 3


def test_records_where_the_screen_is_too_narrow() -> None:
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=30, color_system=None)
    module._print_table(Answer(COLUMNS, iter(ROWS)), console)
    assert screen.getvalue().splitlines()[:4] == ["row 1", "  mode   full_disk", "  n      12", "  ratio  0.512346"]
