"""The charts of the page as Vega-Lite specifications: plain values, drawn by the library in the page.

Colours are names of CSS variables, which the page sets for light, dark and print; so one drawing serves all. Times are
shown in UTC. Each function returns None when there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from pyrepl.metrics.report import words
from pyrepl.metrics.report.model import Report, Row, pair, real, whole, whom, word
from pyrepl.metrics.report.summary import slowest

Spec: TypeAlias = dict[str, Any]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
MOST_SYNCS: Final = 3000
"""Bars of the timeline; beyond these only full syncs and failures are drawn."""
MOST_PHASES: Final = 25
"""Bars of the phase chart."""
MOST_LINES: Final = 12
"""Replicas whose lag is drawn, those with the largest."""

MODE_COLORS: Final[dict[str, str]] = {
    "continue": "var(--partial)",
    "full_disk": "var(--disk)",
    "full_diskless": "var(--diskless)",
    "rdb_channel": "var(--channel)",
    "dual_channel": "var(--dual)",
    "failed": "var(--bad)",
}
PHASE_COLORS: Final = ("var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)", "var(--p5)")

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
"""The page's, in full: the library measures texts by it, which it cannot do by the name of a variable."""

FEW_LANES: Final = 12
LANE_STEP: Final = 46
LANE_STEP_OF_MANY: Final = 28
"""Heights of a lane, pixels: more lanes than a few are to fit on a screen."""
LANE_FILLED: Final = 0.62

_CLOCK: Final[Spec] = {
    "year": "%Y",
    "month": "%b %Y",
    "week": "%d %b",
    "date": "%d %b",
    "hours": "%H:%M",
    "minutes": "%H:%M",
    "seconds": "%H:%M:%S",
    "milliseconds": "%M:%S.%L",
}
"""How an axis of time is labelled, by the size of its steps."""

CONFIG: Final[Spec] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "titleFontWeight": "normal",
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "labelLimit": 260,
        "labelPadding": 5,
    },
    "legend": {
        "labelColor": "var(--text)",
        "titleColor": "var(--muted)",
        "labelFontSize": 12,
        "labelLimit": 0,
        "orient": "top",
    },
    "header": {"labelColor": "var(--text)", "labelFontSize": 12, "labelAnchor": "start"},
    "text": {"color": "var(--text)"},
    "rule": {"color": "var(--muted)"},
}

_UTC: Final[Spec] = {"type": "utc", "padding": 8}


def _chart(values: Sequence[Spec], height: int | Spec, **parts: Any) -> Spec:
    """A chart as wide as the page."""
    spec = {"$schema": SCHEMA, "width": "container", "height": height, "data": {"values": list(values)}}
    return spec | {"config": CONFIG, "autosize": {"type": "fit-x", "contains": "padding"}} | parts


def _ms(at_us: int) -> float:
    """Vega's times are milliseconds."""
    return at_us / 1000


def timeline(report: Report) -> Spec | None:
    """Swim lanes: one lane a pair, a bar a sync, a tick a link that was cut."""
    syncs = report.rows("syncs")
    if len(syncs) > MOST_SYNCS:
        syncs = [row for row in syncs if word(row, "mode") != "continue" or row.get("ok") is False][-MOST_SYNCS:]
    bars = [_bar(row) for row in syncs]
    cuts = [_cut(row) for row in report.rows("cuts")[-MOST_SYNCS:]]
    if not bars and not cuts:
        return None
    lanes = sorted({item["lane"] for item in (*bars, *cuts)})
    kinds = [kind for kind in MODE_COLORS if any(item["kind"] == kind for item in bars)]
    step = LANE_STEP if len(lanes) <= FEW_LANES else LANE_STEP_OF_MANY
    # Vega draws the grid over rectangles unless it is told not to.
    on_lanes = {"grid": True, "ticks": False, "zindex": 0, "labelLimit": 340}
    on_time = {"format": _CLOCK, "zindex": 0}
    lane = {"field": "lane", "type": "nominal", "sort": lanes, "title": None, "axis": on_lanes}
    x_axis = {"field": "from", "type": "temporal", "scale": _UTC, "title": "time (UTC)", "axis": on_time}
    color = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {"domain": kinds, "range": [MODE_COLORS[kind] for kind in kinds]},
        "legend": {"labelExpr": _labels({kind: words.mode(kind) for kind in kinds})},
    }
    layers: list[Spec] = [
        {
            "data": {"values": bars},
            "params": [{"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}],
            "mark": {"type": "rect", "height": {"band": LANE_FILLED}, "cornerRadius": 2, "minWidth": 4},
            "encoding": {
                "x": x_axis,
                "x2": {"field": "to"},
                "y": lane,
                "color": color,
                # A rectangle of a few seconds in a day has no width; its edge is what is seen then.
                "stroke": color,
                "strokeWidth": {"value": 3},
                "tooltip": _tooltip("what", "began", "took", "moved", "why", "phases"),
            },
        }
    ]
    above = -round(step * LANE_FILLED / 2) - 2
    if cuts:
        layers.append(
            {
                "data": {"values": cuts},
                "mark": {"type": "point", "shape": "triangle-down", "size": 46, "filled": True, "yOffset": above},
                "encoding": {
                    "x": x_axis,
                    "y": lane,
                    "color": {"value": "var(--text)"},
                    "tooltip": _tooltip("what", "began", "why", "down"),
                },
            }
        )
    return _chart([], {"step": step}, layer=layers, encoding={})


def _bar(row: Row) -> Spec:
    failed = row.get("ok") is False
    begin = whole(row, "at_us")
    end = whole(row, "end_us") or begin
    phases = (f"{name} {words.span_ms(real(row, column))}" for column, name in words.PHASES.items() if row.get(column))
    why = words.cause(word(row, "failure")) if failed else words.cause(word(row, "cause")) if row.get("cause") else ""
    return {
        "lane": pair(row),
        "from": _ms(begin),
        "to": _ms(max(end, begin + 1000)),
        "kind": "failed" if failed else word(row, "mode"),
        "what": words.mode(word(row, "mode")) + (", failed" if failed else ""),
        "began": words.time(begin),
        "took": words.span_ms(real(row, "total_ms")),
        "moved": words.size(real(row, "bytes")),
        "why": why,
        "phases": ", ".join(phases),
    }


def _cut(row: Row) -> Spec:
    return {
        "lane": pair(row),
        "from": _ms(whole(row, "at_us")),
        "kind": "cut",
        "what": "link cut",
        "began": words.time(whole(row, "at_us")),
        "why": words.cause(word(row, "cause")),
        "down": words.span(real(row, "down_s")),
    }


def _tooltip(*fields: str) -> list[Spec]:
    return [{"field": field, "type": "nominal"} for field in fields]


def _labels(names: dict[str, str]) -> str:
    """A Vega expression that shows a code in words."""
    pairs = ", ".join(f"'{code}': '{name}'" for code, name in names.items())
    return f"{{{pairs}}}[datum.label] || datum.label"


def phases(report: Report) -> Spec | None:
    """Where the time went: the slowest full syncs, phase by phase."""
    fulls = [row for row in report.rows("syncs") if word(row, "mode") != "continue" and row.get("ok")]
    rows = slowest(fulls, MOST_PHASES)
    values = [
        {
            "sync": f"{words.time(whole(row, 'at_us'))[5:]}  {word(row, 'replica', '?')}",
            "phase": name,
            "place": place,
            "seconds": (real(row, column) or 0.0) / 1000,
            "took": words.span_ms(real(row, column)),
            "mode": words.mode(word(row, "mode")),
            "all": words.span_ms(real(row, "total_ms")),
        }
        for row in rows
        for place, (column, name) in enumerate(words.PHASES.items())
        if real(row, column)
    ]
    if not values:
        return None
    order = list(dict.fromkeys(value["sync"] for value in values))
    return _chart(
        values,
        {"step": 22},
        mark={"type": "bar", "height": {"band": 0.74}},
        encoding={
            "y": {"field": "sync", "type": "nominal", "sort": order, "title": None},
            "x": {"field": "seconds", "type": "quantitative", "title": "seconds", "stack": "zero"},
            "color": {
                "field": "phase",
                "type": "nominal",
                "title": None,
                "scale": {"domain": list(words.PHASES.values()), "range": list(PHASE_COLORS)},
            },
            "order": {"field": "place"},
            "tooltip": _tooltip("sync", "mode", "phase", "took", "all"),
        },
    )


def over_time(report: Report, column: str, title: str) -> Spec | None:
    """A column of `series` as lines, one a replica (or node), those with the largest values if there are many."""
    told = [(whom(row), row, value) for row in report.rows("series") if (value := real(row, column)) is not None]
    peaks: dict[str, float] = {}
    for name, _, value in told:
        peaks[name] = max(peaks.get(name, 0.0), value)
    if not any(peaks.values()):
        return None
    names = sorted(sorted(peaks, key=lambda name: -peaks[name])[:MOST_LINES])
    show = words.size if column.endswith("_bytes") else words.span
    values = [
        {
            "at": _ms(whole(row, "at_us")),
            "whose": name,
            "value": value,
            "shown": show(value),
            "time": words.time(whole(row, "at_us")),
        }
        for name, row, value in told
        if name in names
    ]
    y_axis = {"field": "value", "type": "quantitative", "title": title, "axis": {"format": "~s", "tickCount": 4}}
    scale = {"domain": names, "range": _line_colors(names)}
    return _chart(
        values,
        180,
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 1.5, "tooltip": True},
        encoding={
            "x": {"field": "at", "type": "temporal", "scale": _UTC, "title": None, "axis": {"format": _CLOCK}},
            "y": y_axis,
            "color": {"field": "whose", "type": "nominal", "title": None, "scale": scale},
            "tooltip": _tooltip("whose", "time", "shown"),
        },
    )


def _line_colors(names: Sequence[str]) -> list[str]:
    return [f"var(--s{1 + place % 8})" for place in range(len(names))]


def what_if(report: Report) -> Spec | None:
    """How many avoidable full resyncs a backlog of a size would have made partial, beside the size it has."""
    values: list[Spec] = [
        {
            "node": word(row, "node"),
            "size": whole(row, "backlog_size"),
            "share": real(row, "share") or 0.0,
            "would": words.memory(whole(row, "backlog_size")),
            "avoids": f"{whole(row, 'avoided')} of {whole(row, 'avoidable')}",
            "saves": f"{words.size(real(row, 'saved_bytes'))}, {words.span(real(row, 'saved_s'))}",
        }
        for row in report.rows("backlog_what_if")
        if whole(row, "backlog_size") > 0
    ]
    if not values:
        return None
    concerned = {value["node"] for value in values}
    now: list[Spec] = [
        {"node": word(row, "node"), "size": whole(row, "backlog_size"), "share": 0.0, "text": "now"}
        for row in report.rows("write_rate")
        if whole(row, "backlog_size") > 0 and word(row, "node") in concerned
    ]
    lines = sorted([*now, *values], key=lambda value: (value["node"], value["size"]))
    nodes = sorted(concerned)
    x_axis = {
        "field": "size",
        "type": "quantitative",
        "scale": {"type": "log", "base": 2},
        "title": "repl-backlog-size",
        "axis": {"labelExpr": _MEMORY, "grid": False, "tickCount": 8},
    }
    y_axis = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "title": "would have been partial",
        "axis": {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 0.9, 1]},
    }
    color = {
        "field": "node",
        "type": "nominal",
        "title": None,
        "scale": {"domain": nodes, "range": _line_colors(nodes)},
    }
    layers: list[Spec] = [
        {
            "data": {"values": lines},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": {"x": x_axis, "y": y_axis, "color": color},
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 60},
            "encoding": {"x": x_axis, "y": y_axis, "color": color, "tooltip": _tooltip("node", *_WHAT_IF)},
        },
    ]
    if now:
        at = {"data": {"values": now}, "encoding": {"x": x_axis}}
        layers.append(at | {"mark": {"type": "rule", "strokeDash": [4, 4]}})
        text = {"type": "text", "align": "left", "dx": 5, "baseline": "top", "y": 4}
        layers.append(at | {"mark": text, "encoding": {"x": x_axis, "text": {"field": "text"}}})
    return _chart([], 240, layer=layers)


_WHAT_IF: Final = ("would", "avoids", "saves")
_MEMORY: Final = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + 'gb' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + 'mb' : "
    "format(datum.value / 1024, '~r') + 'kb'"
)


def causes(rows: Sequence[Row], color: str) -> Spec | None:
    """Counts by cause, the most frequent first."""
    counted = [(words.cause(word(row, "cause")), whole(row, "count")) for row in rows]
    counted.sort(key=lambda item: -item[1])
    values = [{"cause": name, "count": number} for name, number in counted if number]
    if not values:
        return None
    bare = {"ticks": False, "domain": False}
    y_axis = {"field": "cause", "type": "nominal", "sort": None, "title": None, "axis": bare}
    x_axis = {"field": "count", "type": "quantitative", "axis": None}
    return _chart(
        values,
        {"step": 28},
        encoding={"y": y_axis, "x": x_axis},
        layer=[
            {"mark": {"type": "bar", "height": {"band": 0.7}, "color": color, "cornerRadiusEnd": 3}},
            {
                "mark": {"type": "text", "align": "left", "dx": 5},
                "encoding": {"text": {"field": "count", "type": "quantitative", "format": ","}},
            },
        ],
    )
