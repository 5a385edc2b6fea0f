"""Lines over time: lag and buffers, small multiples of those with the largest values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyrepl.metrics.report import words
from pyrepl.metrics.report.charts import CLOCK, UTC, Spec, chart, ms, tooltip
from pyrepl.metrics.report.model import Report, Row, real, whole, whom

MOST_LINES: Final = 12
"""Replicas or nodes that are drawn, those with the largest values."""
_HEIGHT: Final = 110


def over_time(report: Report, column: str, title: str) -> list[tuple[str, Spec]]:
    """A column of `series`: a small chart for each replica (or node), with its name, the largest peak first.

    All share one scale of time; each has its own of values, as a spike of one would flatten all others.
    """
    told: dict[str, list[tuple[Row, float]]] = {}
    for row in report.rows("series"):
        value = real(row, column)
        if value is not None:
            told.setdefault(whom(row), []).append((row, value))
    peaks = {name: max(value for _, value in own) for name, own in told.items()}
    names = sorted((name for name in peaks if peaks[name]), key=lambda name: (-peaks[name], name))[:MOST_LINES]
    times = [whole(row, "at_us") for name in names for row, _ in told[name]]
    span = [ms(min(times)), ms(max(times))] if times else []
    return [(name, _line(told[name], column, title, span)) for name in names]


def _line(own: Sequence[tuple[Row, float]], column: str, title: str, span: Sequence[float]) -> Spec:
    show = words.size if column.endswith("_bytes") else words.span
    values = [
        {
            "at": ms(whole(row, "at_us")),
            "value": value,
            "shown": show(value),
            "time": words.time(whole(row, "at_us")),
        }
        for row, value in own
    ]
    axis = {"format": CLOCK, "tickCount": 4}
    x_axis = {"field": "at", "type": "temporal", "scale": UTC | {"domain": list(span)}, "title": None, "axis": axis}
    # Parts of a second as 0.4: the prefix of 400m reads as minutes.
    y_format = "~s" if column.endswith("_bytes") or max(value for _, value in own) >= 1000 else "~g"
    y_axis = {"field": "value", "type": "quantitative", "title": title, "axis": {"format": y_format, "tickCount": 3}}
    return chart(
        values,
        _HEIGHT,
        mark={"type": "area", "interpolate": "step-after", "line": {"color": "var(--s1)", "strokeWidth": 1.2},
              "color": "var(--s1)", "fillOpacity": 0.18, "tooltip": True},
        encoding={"x": x_axis, "y": y_axis, "tooltip": tooltip("time", "shown")},
    )  # fmt: skip
