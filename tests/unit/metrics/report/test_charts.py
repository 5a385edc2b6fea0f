"""The charts: the library draws each of them, and what they show is what the tables say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import vl_convert

from pyrepl.metrics.report import charts, lines
from pyrepl.metrics.report.model import Row, pair
from pyrepl.metrics.report.page import drawings
from pyrepl.metrics.report.words import MODES
from tests.unit.metrics.report.sample import empty, report, syncs

CSS = Path(charts.__file__).with_name("templates") / "report.css"


def drawn(spec: dict[str, Any]) -> str:
    """What the library makes of it; the width of a page, as there is none."""
    svg: str = vl_convert.vegalite_to_svg(spec | {"width": 800})
    return svg


@pytest.mark.parametrize("name", sorted(drawings(report())))
def test_the_library_draws_it(name: str) -> None:
    svg = drawn(drawings(report())[name])
    assert svg.count("<path") >= 5


def test_nothing_to_draw() -> None:
    assert drawings(empty()) == {}


def test_every_colour_is_one_of_the_pages() -> None:
    specs = json.dumps([drawings(report()), lines.over_time(report(), "lag_s", "s")])
    used = set(re.findall(r"var\((--[a-z0-9]+)\)", specs))
    light, dark, paper = CSS.read_text().split("@media (prefers-color-scheme: dark)")[0], *_media()
    assert len(used) > 14
    for part in (light, dark, paper):
        assert used <= set(re.findall(r"(--[a-z0-9]+):", part)), part[:60]
    assert set(MODES) | {charts.UNKNOWN, "failed"} == set(charts.MODE_COLORS)


def _media() -> list[str]:
    css = CSS.read_text()
    dark = css[css.index("@media (prefers-color-scheme: dark)") : css.index("* { box-sizing")]
    return [dark, css[css.index("@media print") :]]


def layer(spec: dict[str, Any], place: int) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = spec["layer"][place]["data"]["values"]
    return values


def test_a_bar_a_sync_and_a_mark_a_cut() -> None:
    spec = charts.timeline(report())
    assert spec is not None
    assert len(layer(spec, 0)) == 43 - 8 and len(layer(spec, 1)) == 8, "a loop of nine is one bar"
    failed = [bar for bar in layer(spec, 0) if bar["kind"] == "failed"]
    assert [bar["what"] for bar in failed] == ["full, diskless, failed, 9 times in a row", "full, from a file, failed"]
    assert failed[0]["why"] == "RDB version not understood" and failed[0]["moved"] == "23.4 GB"
    assert all(bar["to"] > bar["from"] for bar in layer(spec, 0)), "the shortest sync is seen too"


def test_of_very_many_syncs_the_partial_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MOST_SYNCS", 30)
    spec = charts.timeline(report())
    assert spec is not None
    assert len(layer(spec, 0)) == 13 and "continue" not in {bar["kind"] for bar in layer(spec, 0)}
    assert charts.is_thinned(report())
    monkeypatch.setattr(charts, "MOST_SYNCS", 43)
    assert not charts.is_thinned(report())


def test_full_syncs_of_which_the_mode_is_not_told_are_drawn() -> None:
    spec = charts.timeline(report(syncs=[dict(row) | {"mode": None} for row in syncs()[:3]]))
    assert spec is not None
    assert [(bar["kind"], bar["what"]) for bar in layer(spec, 0)] == [("unknown", "full, mode unknown")] * 3
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["unknown"]


def test_of_many_cuts_those_of_the_lanes_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MOST_SYNCS", 8)
    other = dict(report().rows("cuts")[0]) | {"node": "elsewhere", "replica": "nobody"}
    monkeypatch.setattr(charts, "lanes", lambda _: sorted({pair(row) for row in report().rows("syncs")}))
    spec = charts.timeline(report(cuts=[*report().rows("cuts"), *[other] * 20]))
    assert spec is not None
    assert len(layer(spec, 1)) == 8


def test_the_slowest_syncs_by_their_phases() -> None:
    spec = charts.phases(report())
    assert spec is not None
    values = spec["data"]["values"]
    assert len({value["sync"] for value in values}) == 11, "full ones that ended well"
    assert values[0]["sync"].endswith("cache-1:6379 → cache-4:6379"), "a pair is called as in the tables"
    assert {value["phase"] for value in values} == {"handshake", "wait for snapshot", "transfer", "load", "catch up"}


def test_a_bar_is_as_long_as_the_sync_took() -> None:
    sync: Row = {"at_us": 1, "node": "a", "replica": "b", "mode": "full_disk", "ok": True, "total_ms": 72.0}
    spec = charts.phases(report(syncs=[{**sync, "handshake_ms": 2.0, "load_ms": 10.0}]))
    assert spec is not None
    values = [(value["phase"], value["seconds"]) for value in spec["data"]["values"]]
    assert values == [("handshake", 0.002), ("load", 0.01), ("not told", 0.06)]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"][-1] == "not told"
    spec = charts.phases(report(syncs=[{**sync, "handshake_ms": 2.0, "load_ms": 69.0}]))
    assert spec is not None and "not told" not in str(spec)


def test_syncs_of_one_pair_within_a_second_are_bars_of_their_own() -> None:
    sync: Row = {"node": "a", "replica": "b", "mode": "full_disk", "ok": True, "total_ms": 72.0, "transfer_ms": 72.0}
    spec = charts.phases(report(syncs=[{**sync, "at_us": at} for at in (1, 1, 2, 2_000_000)]))
    assert spec is not None
    names = [value["sync"] for value in spec["data"]["values"]]
    first = "01-01 00:00:00  a → b"
    assert sorted(names) == [first, f"{first} (2)", f"{first} (3)", "01-01 00:00:02  a → b"]
    assert spec["usermeta"]["lanes"] == names


def test_lanes_of_those_that_were_out_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(charts.lanes(report())) == 3
    monkeypatch.setattr(charts, "MOST_LANES", 1)
    assert charts.lanes(report()) == ["cache-1:6379 → cache-4:6379"]
    spec = charts.timeline(report())
    assert spec is not None and spec["usermeta"]["lanes"] == ["cache-1:6379 → cache-4:6379"]


def test_causes_the_most_frequent_first() -> None:
    rows: list[Row] = [
        {"cause": "timeout", "count": 2},
        {"cause": "killed", "count": 9},
        {"cause": "first", "count": 0},
    ]
    spec = charts.causes(rows, "var(--bad)")
    assert spec is not None
    assert spec["data"]["values"] == [{"cause": "CLIENT KILL", "count": 9}, {"cause": "timeout", "count": 2}]
