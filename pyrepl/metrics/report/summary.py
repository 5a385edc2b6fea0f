"""What a page or a screen shows of many syncs: percentiles by mode, the longest ones, and where their time went.

The exact percentiles of lag and of write rates are the job's (results.py); here only the rows of `syncs` are summed up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from pyrepl.metrics.report.model import Row, pair, real, whole, word
from pyrepl.metrics.report.words import MODES, PHASES

LOOP_LENGTH: Final = 3
"""So many failures of one kind in a row are shown as one. Inclusive."""


@final
@dataclass(frozen=True, slots=True)
class ModeSummary:
    """The syncs of one mode that ended well. Medians of what is known, None where nothing is."""

    mode: str
    count: int
    total_ms: float | None
    slowest_ms: float | None
    bytes: float | None
    mb_per_s: float | None
    phases: dict[str, float]
    """Column of PHASES -> its median in ms, the known ones."""


def quantile(values: Sequence[float], at: float) -> float | None:
    """The value below which the share `at` (0 to 1) of `values` lies, linearly interpolated; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    place = at * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def known(rows: Iterable[Row], column: str) -> list[float]:
    """The values of a column that the logs tell."""
    return [float(value) for row in rows if (value := row.get(column)) is not None]


def by_mode(syncs: Iterable[Row]) -> list[ModeSummary]:
    """The modes that occurred, in the order of words.MODES, others behind."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in syncs:
        if row.get("ok"):
            groups[word(row, "mode", "unknown")].append(row)
    order = [*MODES, *sorted(groups.keys() - MODES.keys())]
    return [_summary(mode, groups[mode]) for mode in order if mode in groups]


def _summary(mode: str, rows: list[Row]) -> ModeSummary:
    totals = known(rows, "total_ms")
    medians = {column: quantile(known(rows, column), 0.5) for column in PHASES}
    return ModeSummary(
        mode,
        len(rows),
        quantile(totals, 0.5),
        max(totals, default=None),
        quantile(known(rows, "bytes"), 0.5),
        quantile(known(rows, "mb_per_s"), 0.5),
        {column: value for column, value in medians.items() if value is not None},
    )


def slowest(syncs: Iterable[Row], most: int) -> list[Row]:
    """The `most` syncs that took longest, the longest first; those whose time is not known are left out."""
    timed = [row for row in syncs if real(row, "total_ms") is not None]
    return sorted(timed, key=lambda row: (-(real(row, "total_ms") or 0.0), whole(row, "at_us")))[:most]


def collapsed(syncs: Iterable[Row]) -> list[tuple[Row, int]]:
    """The syncs in their order, with 1; failures of a pair by one cause, three or more in a row, are one row: the
    first, which ends as the last does, with the bytes of all, and their count."""
    runs: list[list[Row]] = []
    last: dict[str, list[Row]] = {}
    for row in syncs:
        of_pair = pair(row)
        run = last.get(of_pair)
        if run is not None and _fails_alike(run[-1], row):
            run.append(row)
            continue
        last[of_pair] = [row]
        runs.append(last[of_pair])
    return [one for run in runs for one in _as_one(run)]


def _fails_alike(one: Row, other: Row) -> bool:
    return one.get("ok") is False and other.get("ok") is False and one.get("failure") == other.get("failure")


def _as_one(run: list[Row]) -> list[tuple[Row, int]]:
    if len(run) < LOOP_LENGTH:
        return [(row, 1) for row in run]
    moved = known(run, "bytes")
    whole_run = {"end_us": run[-1].get("end_us"), "bytes": sum(moved) if moved else None}
    return [({**run[0], **whole_run}, len(run))]
