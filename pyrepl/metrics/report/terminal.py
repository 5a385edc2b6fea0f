"""The metrics on a terminal: what to do first, then the counts, then the tables behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pyrepl.metrics.report import words
from pyrepl.metrics.report.model import Report, Row, moved, outage, pair, real, whole, whom, word
from pyrepl.metrics.report.summary import by_mode

_STYLES: Final = {"act": "bold red", "consider": "yellow"}
_KEPT: Final = {
    "unknown": "speak of replication in words that are not known",
    "unparsed": "are no log lines, or damaged",
}
"""Lines that were not understood, by their column."""
_MOST_FILES: Final = 5
_LEAST_WIDTH: Final = 104
"""Columns that the widest table needs; also what a file or a pipe gets, which has no width."""
_MOST_ROWS: Final = 12
"""Rows of a table that are shown; the page and the JSON have all."""


def show(report: Report, console: Console) -> None:
    """Print the summary; lines that a narrow screen has no room for are folded by it."""
    console.width = max(console.width, _LEAST_WIDTH)
    for part in _parts(report):
        console.print(part)


def _parts(report: Report) -> Iterator[ConsoleRenderable]:
    yield _head(report)
    if not whole(report.totals, "syncs") and not report.rows("nodes"):
        yield Text("No line of these logs speaks of replication.", style="yellow")
    else:
        yield from _advice(report)
        yield _modes(report)
        yield from _causes(report)
        yield from _loops(report)
        yield from _availability(report)
        yield from _rates(report)
        yield from _skew(report)
    yield from _unread(report)


def _head(report: Report) -> Text:
    span = report.span_us
    totals = report.totals
    when = "no events" if span is None else f"{words.time(span[0])} to {words.time(span[1])} UTC"
    text = Text.assemble(
        ("Replication, ", "bold"), (f"{words.several(len(report.rows('nodes')), 'node')}, ", "bold"), when, "\n"
    )
    full = whole(totals, "full_ok") + whole(totals, "full_failed") + whole(totals, "full_open")
    parts = [
        words.several(whole(totals, "syncs"), "sync"),
        f"{full:,} full ({whole(totals, 'full_failed'):,} failed)",
        f"{whole(totals, 'partial_ok'):,} partial",
        f"{whole(totals, 'partial_refused'):,} refused to continue",
        f"{words.several(sum(whole(row, 'count') for row in report.rows('cut_causes')), 'link')} cut",
    ]
    ratio = real(totals, "partial_ratio")
    if ratio is not None:
        parts.append(f"{words.share(ratio)} of returns were partial")
    dumps = whole(totals, "dumps")
    if dumps:
        parts.append(f"{dumps:,} dumps taken by tools")
    text.append(", ".join(parts))
    unknown = whole(totals, "unknown_lines")
    if unknown:
        text.append(
            f"\n{unknown:,} lines speak of replication in words that pyrepl does not know: what they tell is missing "
            "in all numbers here.",
            style="bold yellow",
        )
    return text


def _advice(report: Report) -> Iterator[ConsoleRenderable]:
    rows = report.rows("advice")
    if not rows:
        return
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        severity = word(row, "severity")
        text = Text(whom(row), style="bold").append(f"\n{word(row, 'text')}", style="not bold")
        if row.get("directive"):
            text.append(f"\n{word(row, 'directive')} {word(row, 'value')}", style="bold cyan")
        grid.add_row(Text(severity, style=_STYLES.get(severity, "")), text)
    yield Padding(Group(Text("What to do", style="bold"), grid), (1, 0))


def _table(title: str, *columns: str, words_first: int = 1) -> Table:
    """`words_first` columns are words, the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < words_first else "right", overflow="fold")
    return table


def _filled(table: Table, rows: list[list[str]]) -> Padding:
    for cells in rows[:_MOST_ROWS]:
        table.add_row(*cells)
    parts: list[ConsoleRenderable] = [table]
    if len(rows) > _MOST_ROWS:
        parts.append(Text(f"and {len(rows) - _MOST_ROWS} more: --out DIR writes them all", style="dim"))
    return Padding(Group(*parts), (0, 0, 1, 0))


def _modes(report: Report) -> Padding:
    heads = ["handshake", "wait", "transfer", "load", "catch up"]
    table = _table("Syncs that ended well, medians", "mode", "count", *heads, "all", "bytes", "MB/s")
    for column in table.columns:
        column.no_wrap = True
    rows = []
    for one in by_mode(report.rows("syncs")):
        phases = [words.span_ms(one.phases.get(column)) for column in words.PHASES]
        speed = words.NOT_TOLD if one.mb_per_s is None else f"{one.mb_per_s:.1f}"
        rows.append(
            [words.mode(one.mode), f"{one.count:,}", *phases, words.span_ms(one.total_ms), words.size(one.bytes), speed]
        )
    return _filled(table, rows)


def _causes(report: Report) -> Iterator[Padding]:
    full = report.rows("full_causes")
    if full:
        table = _table("Full resyncs by cause", "cause", "count", "bytes", "time", "largest gap")
        yield _filled(table, [_full_cause(row) for row in full])
    cuts = report.rows("cut_causes")
    if cuts:
        table = _table("Links cut by cause", "cause", "count")
        yield _filled(table, [[words.cause(word(row, "cause")), f"{whole(row, 'count'):,}"] for row in cuts])


def _full_cause(row: Row) -> list[str]:
    return [
        words.cause(word(row, "cause")),
        f"{whole(row, 'count'):,}",
        moved(row),
        words.span(real(row, "seconds")),
        words.size(real(row, "gap_max")),
    ]


def _loops(report: Report) -> Iterator[Padding]:
    rows = report.rows("loops")
    if not rows:
        return
    table = _table("Pairs that fail over and over", "pair", "reason", "count", "every", "over", words_first=2)
    cells = [
        [
            pair(row),
            words.cause(word(row, "reason")),
            f"{whole(row, 'count'):,}",
            words.span(real(row, "every_s")),
            "yes" if row.get("over") else "no",
        ]
        for row in rows
    ]
    yield _filled(table, cells)


def _availability(report: Report) -> Iterator[Padding]:
    rows = sorted(report.rows("availability"), key=lambda row: real(row, "availability") or 0.0)
    if not rows:
        return
    table = _table(
        "Replicas", "pair", "online", "cuts", "longest outage", "lag p50", "lag p99", "lag max", "output buffer max"
    )
    cells = [
        [
            pair(row),
            words.share(real(row, "availability")),
            f"{whole(row, 'cuts'):,}",
            outage(row),
            words.size(real(row, "lag_bytes_p50")),
            words.size(real(row, "lag_bytes_p99")),
            words.size(real(row, "lag_bytes_max")),
            words.size(real(row, "output_buffer_max")),
        ]
        for row in rows
    ]
    yield _filled(table, cells)


def _rates(report: Report) -> Iterator[Padding]:
    rows = report.rows("write_rate")
    if not rows:
        return
    table = _table("Writes and the backlog", "node", "mean", "p99", "backlog", "covers", "covers at p99")
    cells = [
        [
            word(row, "node"),
            words.rate(real(row, "bytes_per_s_mean")),
            words.rate(real(row, "bytes_per_s_p99")),
            words.memory(real(row, "backlog_size")),
            words.span(real(row, "cover_mean_s")),
            words.span(real(row, "cover_p99_s")),
        ]
        for row in rows
    ]
    yield _filled(table, cells)


def _skew(report: Report) -> Iterator[Padding]:
    rows = [row for row in report.rows("skew") if abs(real(row, "skew_ms") or 0.0) >= 1.0]
    if not rows:
        return
    table = _table("Clocks that differ", "node", "from", "by", "give or take", words_first=2)
    cells = [
        [
            word(row, "node"),
            word(row, "reference"),
            f"{real(row, 'skew_ms') or 0.0:+,.0f} ms",
            words.span_ms(real(row, "spread_ms")),
        ]
        for row in rows
    ]
    yield _filled(table, cells)


def _unread(report: Report) -> Iterator[ConsoleRenderable]:
    """What could not be read is said last, where it is seen."""
    for row in report.rows("files"):
        if row.get("error"):
            yield Text.assemble((f"{word(row, 'file')}: ", "bold"), (word(row, "error"), "red"))
    for name, are in _KEPT.items():
        count = whole(report.totals, f"{name}_lines")
        if count:
            yield Text(f"{count:,} lines {are}{_where(report, name)}. They are kept in the table unparsed.", "yellow")
    copied = [row for row in report.rows("files") if row.get("copy_of")]
    if copied:
        shown = ", ".join(f"{word(row, 'file')} (of {word(row, 'copy_of')})" for row in copied[:_MOST_FILES])
        yield Text(f"Copies, which count once: {shown}{_more(copied)}.", "dim")
    wrapped = [row for row in report.rows("files") if row.get("wrapper")]
    if wrapped:
        shown = ", ".join(f"{word(row, 'file')} ({word(row, 'wrapper')})" for row in wrapped[:_MOST_FILES])
        yield Text(f"Lines were unwrapped in {shown}{_more(wrapped)}.", "dim")


def _more(rows: list[Row]) -> str:
    return f" and {len(rows) - _MOST_FILES:,} more" if len(rows) > _MOST_FILES else ""


def _where(report: Report, name: str) -> str:
    """The files that have most of such lines."""
    bad = sorted((row for row in report.rows("files") if whole(row, name)), key=lambda row: -whole(row, name))
    where = ", ".join(f"{word(row, 'file')} ({whole(row, name):,})" for row in bad[:_MOST_FILES])
    return f": {where}" if where else ""
