"""What is broken now, what it has cost, and what to do for each master: the head of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from pyrepl.metrics.report import words
from pyrepl.metrics.report.model import Report, Row, real, whole, whom, word

MOST_CARDS: Final = 20
"""Masters with a card of their own: those with most to mend."""
FIRST_ACTIONS: Final = 3
"""So many of a card's are seen at once."""
MOST_BROKEN: Final = 50
FIRST_BROKEN: Final = 8
"""So many are seen at once; the others are unfolded."""
_KINDS: Final = {
    "auth": "password refused",
    "version_mismatch": "version mismatch",
    "outage": "out of step",
    "stalled": "stands still",
    "loop": "fails over and over",
    "sync_buffer": "cut in its sync",
    "output_buffer": "cut and gone",
}
"""Kinds of advice that tell of something that goes on, in words."""
_WHOLE_MINUTES: Final = 1000
_SURE: Final = {"measured": "measured", "estimated": "estimated", "lower_bound": "at least"}


@final
@dataclass(frozen=True, slots=True)
class Broken:
    """One thing that had not ended when the logs did. `setting` is a line for the configuration, or empty."""

    what: str
    whom: str
    since: str
    text: str
    setting: str


@final
@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do. `sure` says how the value is known, or is empty."""

    severity: str
    whom: str
    text: str
    setting: str
    sure: str


@final
@dataclass(frozen=True, slots=True)
class Card:
    """One master: what it has cost, and what to do."""

    name: str
    costs: str
    actions: list[Action]


@final
@dataclass(frozen=True, slots=True)
class Tile:
    """One number; `tone` is good, warn, bad or empty."""

    value: str
    label: str
    tone: str = ""


def broken(report: Report) -> list[Broken]:
    """What still costs, by how long it has: a loop is one row."""
    rows = [row for row in report.rows("advice") if real(row, "running_s")]
    rows.sort(key=lambda row: -(real(row, "running_s") or 0.0))
    return [
        Broken(_kind(row), whom(row),
               words.span(real(row, "running_s")), word(row, "text"), _setting(row))
        for row in rows[:MOST_BROKEN]
    ]  # fmt: skip


def broken_kinds(report: Report) -> str:
    """How many there are of each kind: `18 fail over and over, 9 version mismatch`."""
    found = Counter(_kind(row) for row in report.rows("advice") if real(row, "running_s"))
    return ", ".join(f"{count:,} × {kind}" for kind, count in found.most_common())


def _kind(row: Row) -> str:
    return _KINDS.get(word(row, "kind"), word(row, "kind").replace("_", " "))


def more_broken(report: Report) -> int:
    """How many there are besides."""
    return max(0, sum(bool(real(row, "running_s")) for row in report.rows("advice")) - MOST_BROKEN)


def _setting(row: Row) -> str:
    return f"{word(row, 'directive')} {word(row, 'value')}".strip() if row.get("directive") else ""


def costs(report: Report) -> list[Tile]:
    """What it cost in all."""
    rows = report.rows("costs")
    if not rows:
        return []
    fulls, avoidable = _sum(rows, "fulls"), _sum(rows, "avoidable")
    forks = _sum(rows, "forks")
    most = max((value for row in rows if (value := real(row, "private_bytes")) is not None), default=None)
    share = avoidable / fulls if fulls else None
    unknown = _sum(rows, "unknown")
    again = words.size(_sum(rows, "resent_bytes")) + (" or more" if unknown else "")
    memory = f", {words.size(most)} of memory at most" if most is not None else ""
    return [
        Tile(*_out(_sum(rows, "out_s")), "bad" if _sum(rows, "out_now") else ""),
        Tile(again, "sent again by full resyncs"),
        Tile(words.count(forks), f"forks for replicas{memory}"),
        Tile(words.share(share), f"of {fulls:,.0f} full resyncs were avoidable", _tone(share)),
    ]


def out_now(report: Report) -> int:
    """How many replicas were without the stream when the logs ended, for however short a time."""
    return round(_sum(report.rows("costs"), "out_now"))


def _out(seconds: float) -> tuple[str, str]:
    """Time out of step and what it is counted in: in tenths, as long as these are seen."""
    if seconds < 60:
        return f"{seconds:.1f}", "replica-seconds out of step"
    minutes = seconds / 60
    return f"{minutes:,.1f}" if minutes < _WHOLE_MINUTES else f"{minutes:,.0f}", "replica-minutes out of step"


def _sum(rows: Sequence[Row], column: str) -> float:
    return sum(real(row, column) or 0.0 for row in rows)


def _tone(share: float | None) -> str:
    return "" if share is None else "bad" if share >= 0.5 else "warn" if share > 0 else "good"


def cards(report: Report) -> list[Card]:
    """The masters of which there is advice: first those where something still runs, then by what it has cost."""
    advice: dict[str, list[Row]] = {}
    for row in report.rows("advice"):
        advice.setdefault(word(row, "node", "?"), []).append(row)
    spent = {word(row, "node"): row for row in report.rows("costs")}
    # Advice comes in the order of what still costs, and so do the masters.
    names = list(advice)[:MOST_CARDS]
    return [Card(name, _spent(spent.get(name)), [_action(row) for row in advice[name]]) for name in names]


def more_masters(report: Report) -> int:
    """How many there are besides the cards."""
    return max(0, len({word(row, "node", "?") for row in report.rows("advice")}) - MOST_CARDS)


def _action(row: Row) -> Action:
    sure = _SURE.get(word(row, "confidence"), "")
    return Action(word(row, "severity"), word(row, "replica"), word(row, "text"), _setting(row), sure)


def _spent(row: Row | None) -> str:
    """`12.5 replica-minutes out of step, 8 full resyncs (5 avoidable), 3.4 GB sent again, 7 forks`."""
    if row is None:
        return ""
    parts = [" ".join(_out(real(row, "out_s") or 0.0))]
    if fulls := whole(row, "fulls"):
        avoidable = whole(row, "avoidable")
        parts.append(
            f"{fulls:,} full resync{'' if fulls == 1 else 's'}" + (f" ({avoidable:,} avoidable)" if avoidable else "")
        )
    if resent := real(row, "resent_bytes"):
        parts.append(f"{words.size(resent)} sent again")
    if forks := whole(row, "forks"):
        parts.append(f"{forks:,} fork{'' if forks == 1 else 's'}")
    return ", ".join(parts)
