"""What other settings would have done, drawn: a curve for each master, and one for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyrepl.metrics.report import words
from pyrepl.metrics.report.charts import Spec, chart, tooltip
from pyrepl.metrics.report.model import Report, Row, real, whole, word

MOST_MASTERS: Final = 8
"""Masters whose curve is drawn: those with most to gain."""
_MEMORY: Final = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.3~r') + 'gb' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '.3~r') + 'mb' : "
    "format(datum.value / 1024, '.3~r') + 'kb'"
)
_SIZES: Final[Spec] = {"type": "quantitative", "scale": {"type": "log", "base": 2},
                       "axis": {"labelExpr": _MEMORY, "grid": False, "tickCount": 6}}  # fmt: skip
_SECONDS: Final[Spec] = {"type": "quantitative", "axis": {"grid": False, "tickCount": 6}}
FLEETS: Final = {
    "repl-backlog-size": ("full resyncs made partial", _SIZES),
    "client-output-buffer-limit": ("cuts spared", _SIZES),
    "repl-diskless-sync-delay": ("children not forked", _SECONDS),
}
"""Setting -> what it spares, and its scale."""


def backlog(report: Report) -> Spec | None:
    """How many avoidable full resyncs a backlog of a size would have made partial, beside the size it has."""
    values = [
        _step(row, real(row, "backlog_size"), words.memory(real(row, "backlog_size")), "avoided", "avoidable")
        | {"costs": words.memory(real(row, "backlog_size"))}
        for row in report.rows("backlog_what_if")
    ]
    now = {word(row, "node"): real(row, "backlog_size") for row in report.rows("write_rate")}
    return _curves(values, "repl-backlog-size", "would have been partial", _SIZES, now)


def limit(report: Report) -> Spec | None:
    """How many cuts for an output buffer a limit would have spared."""
    values = [
        _step(row, real(row, "limit_bytes"), words.memory(real(row, "limit_bytes")), "avoided", "avoidable")
        | {"costs": f"up to {words.memory(real(row, 'memory_bytes'))}"}
        for row in report.rows("buffer_what_if")
    ]
    return _curves(values, "client-output-buffer-limit replica", "cuts spared", _SIZES, {})


def delay(report: Report) -> Spec | None:
    """How many children for replicas a delay would have spared."""
    values = [
        _step(row, real(row, "delay_s"), words.span(real(row, "delay_s")), "saved", "forks")
        | {"costs": f"full syncs begin up to {words.span(real(row, 'waited_s'))} later, summed"}
        for row in report.rows("delay_what_if")
    ]
    return _curves(values, "repl-diskless-sync-delay, seconds", "children not forked", _SECONDS, {})


def _step(row: Row, size: float | None, would: str, part: str, all_of: str) -> Spec:
    return {
        "node": word(row, "node"),
        "size": size or 0.0,
        "share": real(row, "share") or 0.0,
        "all": whole(row, all_of),
        "would": would,
        "avoids": f"{whole(row, part)} of {whole(row, all_of)}",
    }


def _curves(values: Sequence[Spec], title: str, what: str, scale: Spec, now: dict[str, float | None]) -> Spec | None:
    """A step for each value; `now` is what a master has, where it is known."""
    gain: dict[str, int] = {}
    for value in values:
        gain[value["node"]] = max(gain.get(value["node"], 0), value["all"])
    nodes = sorted(sorted(gain, key=lambda node: (-gain[node], node))[:MOST_MASTERS])
    values = [value for value in values if value["node"] in nodes and value["size"] > 0]
    if not values:
        return None
    drawn = sorted({value["node"] for value in values})
    has: list[Spec] = [
        {"node": node, "size": now[node], "share": 0.0, "text": "now"} for node in nodes if (now.get(node) or 0) > 0
    ]
    # Without what it is now a curve of one value would be a point: nothing is spared by half the least one.
    least = {node: min(value["size"] for value in values if value["node"] == node) for node in drawn}
    begin = [{"node": node, "size": size / 2, "share": 0.0} for node, size in least.items() if not now.get(node)]
    lines = sorted([*has, *begin, *values], key=lambda value: (value["node"], value["size"]))
    x_axis = {"field": "size", "title": title, **scale}
    y_axis = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "title": what,
        "axis": {"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]},
    }
    color = {
        "field": "node",
        "type": "nominal",
        "title": None,
        "scale": {"domain": nodes, "range": [f"var(--s{1 + place % 8})" for place in range(len(nodes))]},
    }
    shown = {"x": x_axis, "y": y_axis, "color": color}
    layers: list[Spec] = [
        {
            "data": {"values": lines},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2},
            "encoding": shown,
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "filled": True, "size": 60},
            "encoding": shown | {"tooltip": tooltip("node", "would", "avoids", "costs")},
        },
    ]
    if has:
        at = {"data": {"values": has}, "encoding": {"x": x_axis}}
        layers.append(at | {"mark": {"type": "rule", "strokeDash": [4, 4]}})
        text = {"type": "text", "align": "left", "dx": 5, "baseline": "top", "y": 4}
        layers.append(at | {"mark": text, "encoding": {"x": x_axis, "text": {"field": "text"}}})
    return chart([], 220, layer=layers)


def _half(value: Spec) -> Spec:
    """Where a line to the least value begins: nothing is spared by half of it, and a point alone would be no line."""
    return {"value": value["value"] / 2, "share": 0.0, "spares": "none", "takes": ""}


def fleet(report: Report, setting: str) -> Spec | None:
    """The same value for all masters: what it spares."""
    what, scale = FLEETS[setting]
    values = [
        {
            "value": real(row, "value"),
            "share": real(row, "share") or 0.0,
            "spares": f"{whole(row, 'avoided'):,} of {whole(row, 'avoidable'):,} {what}",
            "takes": words.memory(real(row, "memory_bytes")),
        }
        for row in report.rows("fleet_what_if")
        if word(row, "setting") == setting and (real(row, "value") or 0.0) > 0
    ]
    if not values:
        return None
    if len(values) == 1:
        values.insert(0, _half(values[0]))
    y_axis = {"field": "share", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": what,
              "axis": {"format": ".0%", "values": [0, 0.5, 1]}}  # fmt: skip
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 2, "color": "var(--s1)",
            "point": {"filled": True, "size": 50, "color": "var(--s1)"}}  # fmt: skip
    x_axis = {"field": "value", "title": setting, **scale}
    return chart(values, 150, mark=mark, encoding={"x": x_axis, "y": y_axis, "tooltip": tooltip("spares", "takes")})
