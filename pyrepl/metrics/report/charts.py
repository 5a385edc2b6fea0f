"""The charts of the page as Vega-Lite specifications: plain values, drawn by the library in the page.

Here are the timeline, the phases and the causes; lines over time are in lines.py, what other settings would have done
in what_ifs.py. A chart of lanes names them in `usermeta`: on a narrow screen report.js writes them above the lanes.

Colours are names of CSS variables, which the page sets for light, dark and print; so one drawing serves all. Times are
shown in UTC. Each function returns None when there is nothing to show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any, Final, TypeAlias

from pyrepl.metrics.report import words
from pyrepl.metrics.report.model import Report, Row, pair, real, whole, word
from pyrepl.metrics.report.summary import collapsed, slowest

Spec: TypeAlias = dict[str, Any]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
MOST_SYNCS: Final = 3000
"""Bars of the timeline; beyond these only full syncs and failures are drawn."""
MOST_PHASES: Final = 25
"""Bars of the phase chart."""
MOST_LANES: Final = 40
"""Pairs of the timeline: those that were out of step longest."""

UNKNOWN: Final = "unknown"
"""The mode of a full sync of which no log tells it."""
MODE_COLORS: Final[dict[str, str]] = {
    "continue": "var(--partial)",
    "full_disk": "var(--disk)",
    "full_diskless": "var(--diskless)",
    "rdb_channel": "var(--channel)",
    "dual_channel": "var(--dual)",
    UNKNOWN: "var(--text)",
    "failed": "var(--bad)",
}
PHASE_COLORS: Final = ("var(--p1)", "var(--p2)", "var(--p3)", "var(--p4)", "var(--p5)", "var(--line)")
"""Of the phases, and of REST."""
REST: Final = "not told"
"""What a sync took besides its phases: where one log alone is there, it has not all of them."""
SEEN: Final = 0.02
"""A part of a bar up to this share of it is not to be seen. Inclusive."""

FONT: Final = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
"""The page's, in full: the library measures texts by it, which it cannot do by the name of a variable."""

FEW_LANES: Final = 12
LANE_STEP: Final = 46
LANE_STEP_OF_MANY: Final = 28
"""Heights of a lane, pixels: more lanes than a few are to fit on a screen."""
LANE_FILLED: Final = 0.62
LABEL_LIMIT: Final = 340
"""The longest name beside a lane, pixels: a time and a pair of nodes."""

CLOCK: Final[Spec] = {
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

UTC: Final[Spec] = {"type": "utc", "padding": 8}


def chart(values: Sequence[Spec], height: int | Spec, **parts: Any) -> Spec:
    """A chart as wide as the page."""
    spec = {"$schema": SCHEMA, "width": "container", "height": height, "data": {"values": list(values)}}
    return spec | {"config": CONFIG, "autosize": {"type": "fit-x", "contains": "padding"}} | parts


def ms(at_us: int) -> float:
    """Vega's times are milliseconds."""
    return at_us / 1000


def lanes(report: Report) -> list[str]:
    """The pairs that are drawn: those that were out of step longest, in the order of their names."""
    out = {
        pair(row): (real(row, "observed_s") or 0.0) - (real(row, "online_s") or 0.0)
        for row in report.rows("availability")
    }
    for row in (*report.rows("syncs"), *report.rows("cuts")):
        out.setdefault(pair(row), 0.0)
    return sorted(sorted(out, key=lambda name: (-out[name], name))[:MOST_LANES])


def is_thinned(report: Report) -> bool:
    """Are the lanes' syncs too many to draw the partial ones too?"""
    return len(_in_lanes(report, "syncs", set(lanes(report)))) > MOST_SYNCS


def _in_lanes(report: Report, table: str, drawn: Set[str]) -> list[Row]:
    return [row for row in report.rows(table) if pair(row) in drawn]


def timeline(report: Report) -> Spec | None:
    """Swim lanes: one lane a pair, a bar a sync or a loop, a tick a link that was cut."""
    shown = lanes(report)
    drawn = set(shown)
    syncs = _in_lanes(report, "syncs", drawn)
    if len(syncs) > MOST_SYNCS:
        syncs = [row for row in syncs if word(row, "mode") != "continue" or row.get("ok") is False]
    rows = collapsed(syncs)[-MOST_SYNCS:]
    bars = [_bar(row, count) for row, count in rows]
    cuts = [_cut(row) for row in _in_lanes(report, "cuts", drawn)[-MOST_SYNCS:]]
    if not bars and not cuts:
        return None
    used = {item["lane"] for item in (*bars, *cuts)}
    shown = [name for name in shown if name in used]
    kinds = [kind for kind in MODE_COLORS if any(item["kind"] == kind for item in bars)]
    step = LANE_STEP if len(shown) <= FEW_LANES else LANE_STEP_OF_MANY
    # Vega draws the grid over rectangles unless it is told not to.
    on_lanes = {"grid": True, "ticks": False, "zindex": 0, "labelLimit": LABEL_LIMIT}
    on_time = {"format": CLOCK, "zindex": 0}
    lane = {"field": "lane", "type": "nominal", "sort": shown, "title": None, "axis": on_lanes}
    x_axis = {"field": "from", "type": "temporal", "scale": UTC, "title": "time (UTC)", "axis": on_time}
    color = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {"domain": kinds, "range": [MODE_COLORS[kind] for kind in kinds]},
        "legend": {"labelExpr": _labels({kind: _named(kind) for kind in kinds})},
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
                "tooltip": tooltip("what", "began", "took", "moved", "why", "phases"),
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
                    "tooltip": tooltip("what", "began", "why", "down"),
                },
            }
        )
    return chart([], {"step": step}, layer=layers, usermeta={"lane": "lane", "lanes": shown})


def _named(kind: str) -> str:
    return "full, mode unknown" if kind == UNKNOWN else words.mode(kind)


def _bar(row: Row, count: int) -> Spec:
    failed = row.get("ok") is False
    loop = f", {count} times in a row" if count > 1 else ""
    begin = whole(row, "at_us")
    end = whole(row, "end_us") or begin
    phases = (f"{name} {words.span_ms(real(row, column))}" for column, name in words.PHASES.items() if row.get(column))
    why = words.cause(word(row, "failure")) if failed else words.cause(word(row, "cause")) if row.get("cause") else ""
    return {
        "lane": pair(row),
        "from": ms(begin),
        "to": ms(max(end, begin + 1000)),
        "kind": "failed" if failed else word(row, "mode", UNKNOWN),
        "what": _named(word(row, "mode", UNKNOWN)) + (", failed" if failed else "") + loop,
        "began": words.time(begin),
        "took": words.span((end - begin) / 1e6 if row.get("end_us") else None),
        "moved": words.size(real(row, "bytes")),
        "why": why,
        "phases": ", ".join(phases),
    }


def _cut(row: Row) -> Spec:
    return {
        "lane": pair(row),
        "from": ms(whole(row, "at_us")),
        "kind": "cut",
        "what": "link cut",
        "began": words.time(whole(row, "at_us")),
        "why": words.cause(word(row, "cause")),
        "down": words.span(real(row, "down_s")),
    }


def tooltip(*fields: str) -> list[Spec]:
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
            "sync": name,
            "phase": phase,
            "place": place,
            "seconds": ms / 1000,
            "took": words.span_ms(ms),
            "mode": words.mode(word(row, "mode")),
            "all": words.span_ms(real(row, "total_ms")),
        }
        for row, name in zip(rows, _names(rows), strict=True)
        for place, (phase, ms) in enumerate(_told(row))
        if ms
    ]
    if not values:
        return None
    order = list(dict.fromkeys(value["sync"] for value in values))
    domain = [*words.PHASES.values(), *({REST} & {value["phase"] for value in values})]
    bars: Spec = {
        "mark": {"type": "bar", "height": {"band": 0.74}},
        "encoding": {
            "y": {
                "field": "sync",
                "type": "nominal",
                "sort": order,
                "title": None,
                "axis": {"labelLimit": LABEL_LIMIT},
            },
            "x": {"field": "seconds", "type": "quantitative", "title": "seconds", "stack": "zero"},
            "color": {
                "field": "phase",
                "type": "nominal",
                "title": None,
                "scale": {"domain": domain, "range": list(PHASE_COLORS)},
            },
            "order": {"field": "place"},
            "tooltip": tooltip("sync", "mode", "phase", "took", "all"),
        },
    }
    return chart(values, {"step": 22}, layer=[bars], usermeta={"lane": "sync", "lanes": order})


def _names(rows: Sequence[Row]) -> list[str]:
    """Of each sync its time and its pair. Those of one pair within one second are numbered, as Vega makes one bar of
    what has one name."""
    counted: Counter[str] = Counter()
    names: list[str] = []
    for row in rows:
        name = f"{words.time(whole(row, 'at_us'))[5:]}  {pair(row)}"
        counted[name] += 1
        names.append(name if counted[name] == 1 else f"{name} ({counted[name]})")
    return names


def _told(row: Row) -> list[tuple[str, float]]:
    """The phases of a sync with their ms, and how much of it no log tells, if that is to be seen."""
    told = [(name, real(row, column) or 0.0) for column, name in words.PHASES.items()]
    total = real(row, "total_ms") or 0.0
    rest = total - sum(ms for _, ms in told)
    return [*told, (REST, rest if rest > total * SEEN else 0.0)]


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
    return chart(
        values,
        {"step": 28},
        usermeta={"lane": "cause", "lanes": [value["cause"] for value in values]},
        encoding={"y": y_axis, "x": x_axis},
        layer=[
            {"mark": {"type": "bar", "height": {"band": 0.7}, "color": color, "cornerRadiusEnd": 3}},
            {
                "mark": {"type": "text", "align": "left", "dx": 5},
                "encoding": {"text": {"field": "count", "type": "quantitative", "format": ","}},
            },
        ],
    )
