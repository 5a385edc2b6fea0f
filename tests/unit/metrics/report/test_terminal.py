"""The summary on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from pyrepl.metrics.report.model import Report, Row
from pyrepl.metrics.report.terminal import show
from tests.unit.metrics.report.sample import empty, report


def shown(made: Report, width: int = 140) -> str:
    out = io.StringIO()
    show(made, Console(file=out, width=width))
    return out.getvalue()


def test_what_to_do_stands_before_the_numbers() -> None:
    text = shown(report())
    assert (
        text.index("What to do")
        < text.index("cache-1:6379 →")
        < text.index("repl-backlog-size 64mb")
        < text.index("Syncs that ended well")
    )
    assert "43 syncs, 21 full (10 failed), 22 partial, 7 refused to continue, 38 links cut, 76 %" in text
    assert "of returns were partial, 2 dumps taken by tools" in text
    for said in ("full, RDB channel", "out of the backlog", "RDB version not understood", "cache-1:6379", "-1,840 ms"):
        assert said in text


def test_what_could_not_be_read_is_said_last() -> None:
    assert shown(report()).rstrip().splitlines()[-2:] == [
        "logs/secret.log: Permission denied",
        "4 lines are no log lines, or damaged: logs/cache-1.jsonl (4). They are kept in the table unparsed.",
    ]


def test_words_that_nobody_knows_are_told_in_the_headline() -> None:
    told = report(totals=[{**report().totals, "unknown_lines": 2}], files=[
        {"file": "a.log", "wrapper": None, "unknown": 0}, {"file": "b.log", "wrapper": "cri", "unknown": 2},
    ])  # fmt: skip
    lines = shown(told).splitlines()
    assert lines[2].startswith("2 lines speak of replication in words that pyrepl does not know")
    assert "2 lines speak of replication in words that are not known: b.log (2). They are kept in" in shown(told)
    assert "Lines were unwrapped in b.log (cri)." in shown(told)


def test_nothing_to_tell() -> None:
    assert "No line of these logs speaks of replication." in shown(empty())
    assert "dumps" not in shown(empty())


def test_many_rows_are_cut_short_and_that_is_said() -> None:
    rows: list[Row] = [{"cause": f"c{number}", "count": number} for number in range(30)]
    assert "and 18 more: --out DIR writes them all" in shown(report(cut_causes=rows))


def test_markup_in_a_log_is_text() -> None:
    rows: list[Row] = [{"severity": "act", "text": "node [red]evil[/red] and [/] more", "directive": None}]
    assert "[red]evil[/red] and [/] more" in shown(report(advice=rows))


def test_a_narrow_terminal_folds_lines_but_loses_nothing() -> None:
    assert shown(report(), 60) == shown(report(), 104)
    assert "…" not in shown(report(), 60)
