"""The tables of the page: result rows as words and numbers for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

from pyrepl.metrics.report import words
from pyrepl.metrics.report.model import Report, Row, moved, outage, pair, real, whole, word
from pyrepl.metrics.report.summary import by_mode, collapsed

MOST_ROWS: Final = 200


@final
@dataclass(frozen=True, slots=True)
class Listing:
    """One table; its first `words` columns are words, the others numbers."""

    title: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    words: int = 1
    note: str = ""
    more: str = ""


def _listing(
    title: str,
    rows: Sequence[Row],
    columns: dict[str, Callable[[Row], str]],
    *,
    words_first: int = 1,
    note: str = "",
) -> Listing:
    shown = rows[:MOST_ROWS]
    rest = len(rows) - MOST_ROWS
    more = f"These are {MOST_ROWS:,}; {rest:,} more are in the Parquet tables and in the JSON." if rest > 0 else ""
    cells = [[show(row) for show in columns.values()] for row in shown]
    return Listing(title, tuple(columns), cells, words_first, note, more)


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: word(row, name, words.NOT_TOLD)


def _count(name: str) -> Callable[[Row], str]:
    return lambda row: words.count(real(row, name))


def _size(name: str) -> Callable[[Row], str]:
    return lambda row: words.size(real(row, name))


def _span(name: str) -> Callable[[Row], str]:
    return lambda row: words.span(real(row, name))


def _span_ms(name: str) -> Callable[[Row], str]:
    return lambda row: words.span_ms(real(row, name))


def _rate(name: str) -> Callable[[Row], str]:
    return lambda row: words.rate(real(row, name))


def _time(name: str) -> Callable[[Row], str]:
    return lambda row: words.time(whole(row, name))[5:] or words.NOT_TOLD


def _cause(name: str) -> Callable[[Row], str]:
    return lambda row: words.cause(word(row, name))


def modes(report: Report) -> Listing:
    """Medians of the syncs that ended well, by mode."""
    rows = [
        [
            words.mode(one.mode),
            words.count(one.count),
            *(words.span_ms(one.phases.get(column)) for column in words.PHASES),
            words.span_ms(one.total_ms),
            words.span_ms(one.slowest_ms),
            words.size(one.bytes),
            words.NOT_TOLD if one.mb_per_s is None else f"{one.mb_per_s:.1f}",
        ]
        for one in by_mode(report.rows("syncs"))
    ]
    return Listing("Modes", ("mode", "count", *words.PHASES.values(), "all", "slowest", "bytes", "MB/s"), rows)


def availability(report: Report) -> Listing:
    """Each replica: how long it was in step, and how far behind."""
    rows = sorted(report.rows("availability"), key=lambda row: real(row, "availability") or 0.0)
    columns: dict[str, Callable[[Row], str]] = {
        "pair": pair,
        "in step": lambda row: words.share(real(row, "availability")),
        "cuts": _count("cuts"),
        "longest outage": outage,
        "lag p50": _size("lag_bytes_p50"),
        "p90": _size("lag_bytes_p90"),
        "p99": _size("lag_bytes_p99"),
        "max": _size("lag_bytes_max"),
        "seconds p99": _span("lag_s_p99"),
        "output buffer max": _size("output_buffer_max"),
    }
    return _listing("Replicas", rows, columns)


def rates(report: Report) -> Listing:
    """What each node writes, and how long its backlog covers that."""
    columns: dict[str, Callable[[Row], str]] = {
        "node": _text("node"),
        "mean": _rate("bytes_per_s_mean"),
        "p50": _rate("bytes_per_s_p50"),
        "p99": _rate("bytes_per_s_p99"),
        "max": _rate("bytes_per_s_max"),
        "backlog": lambda row: words.memory(real(row, "backlog_size")),
        "covers, at the mean": _span("cover_mean_s"),
        "at p99": _span("cover_p99_s"),
    }
    return _listing("Writes", report.rows("write_rate"), columns)


def lists(report: Report) -> list[Listing]:
    """What stands below the charts, in the order of the page."""
    return [make(report) for make in (_loops, _fulls, _forks, _storms, _skew, _nodes, _files)]


def _loops(report: Report) -> Listing:
    columns: dict[str, Callable[[Row], str]] = {
        "pair": pair,
        "reason": _cause("reason"),
        "in its own words": lambda row: word(row, "detail")[:120],
        "over": lambda row: "yes" if row.get("over") else "no",
        "count": _count("count"),
        "every": _span("every_s"),
        "moved in vain": moved,
    }
    return _listing("Pairs that fail over and over", report.rows("loops"), columns, words_first=4)


def _fulls(report: Report) -> Listing:
    fulls = [row for row in report.rows("syncs") if word(row, "mode") != "continue"]
    # A loop is one row: its count stands with its end.
    rows = [{**row, "count": count} for row, count in collapsed(fulls)]
    columns: dict[str, Callable[[Row], str]] = {
        "began": _time("at_us"),
        "pair": pair,
        "mode": lambda row: words.mode(word(row, "mode")),
        "why": lambda row: words.cause(word(row, "cause")),
        "end": _end,
        "took": lambda row: words.span_ms(real(row, "total_ms")) if whole(row, "count") < 2 else _lasted(row),
        "bytes": _size("bytes"),
        "gap": _size("gap_bytes"),
        "master buffer": _size("master_buffer_peak"),
        "replica buffer": _size("replica_buffer_peak"),
    }
    note = "In the order in which they began. Failures of one kind in a row are one line, with the bytes of all."
    return _listing("Full resyncs", rows, columns, words_first=5, note=note)


def _lasted(row: Row) -> str:
    return words.span((whole(row, "end_us") - whole(row, "at_us")) / 1e6 if row.get("end_us") else None)


def _end(row: Row) -> str:
    if row.get("ok") is None:
        return "not told"
    if row.get("ok"):
        return "well"
    times = f" {whole(row, 'count')} times" if whole(row, "count") > 1 else ""
    by = f": {words.cause(word(row, 'failure'))}" if row.get("failure") else ""
    return f"failed{times}{by}"


def _forks(report: Report) -> Listing:
    columns: dict[str, Callable[[Row], str]] = {
        "began": _time("at_us"),
        "node": _text("node"),
        "for": _text("why"),
        "target": _text("target"),
        "took": _span("seconds"),
        "bytes": _size("bytes"),
        "keys": _count("keys"),
        "private memory": _size("private_bytes"),
        "syncs served": _count("replicas"),
    }
    note = "Private memory is what copy-on-write cost while the child wrote."
    return _listing("Snapshots", report.rows("forks"), columns, words_first=4, note=note)


def _storms(report: Report) -> Listing:
    columns: dict[str, Callable[[Row], str]] = {
        "began": _time("at_us"),
        "node": _text("node"),
        "full syncs": _count("syncs"),
        "snapshots": _count("snapshots"),
        "one would have done with a delay of": _span("delay_s"),
    }
    return _listing("Storms", report.rows("storms"), columns, words_first=2)


def _skew(report: Report) -> Listing:
    rows = [row for row in report.rows("skew") if whole(row, "pairs")]
    columns: dict[str, Callable[[Row], str]] = {
        "node": _text("node"),
        "against": _text("reference"),
        "by": lambda row: f"{real(row, 'skew_ms') or 0.0:+,.1f} ms",
        "give or take": _span_ms("spread_ms"),
        "events used": _count("pairs"),
    }
    note = "Estimated from causes at one end and effects at the other, and taken off before the two are joined."
    return _listing("Clocks", rows, columns, words_first=2, note=note)


def _nodes(report: Report) -> Listing:
    columns: dict[str, Callable[[Row], str]] = {
        "node": _text("node"),
        "kind": _text("kind"),
        "version": _text("version"),
        "first event": _time("first_us"),
        "last event": _time("last_us"),
        "runs": _count("runs"),
        "events": _count("events"),
    }
    return _listing("Nodes", report.rows("nodes"), columns, words_first=5)


def _files(report: Report) -> Listing:
    rows = sorted(
        report.rows("files"),
        key=lambda row: (row.get("error") is None, -whole(row, "unknown"), -whole(row, "unparsed")),
    )
    columns: dict[str, Callable[[Row], str]] = {
        "file": _text("file"),
        "form": _text("form"),
        "unwrapped": lambda row: word(row, "wrapper"),
        "what is wrong": _wrong,
        "size": _size("bytes"),
        "lines": _count("lines"),
        "events": _count("events"),
        "without meaning here": _count("ignored"),
        "no log lines": _count("unparsed"),
        "not understood": _count("unknown"),
    }
    note = "Lines that were not understood are kept in the table unparsed, with the place where they stand."
    return _listing("Files read", rows, columns, words_first=4, note=note)


def _wrong(row: Row) -> str:
    if row.get("copy_of"):
        return f"a copy of {word(row, 'copy_of')}, counted once"
    bad = whole(row, "unparsed") + whole(row, "unknown")
    return word(row, "error") or (f"{bad:,} lines not understood" if bad else "")
