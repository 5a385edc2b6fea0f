"""The head of the page: broken now, costs, cards."""

from __future__ import annotations

import pytest

from pyrepl.metrics.report import troubles
from pyrepl.metrics.report.model import Row
from tests.unit.metrics.report.sample import MASTER, REPLICAS, empty, report


def test_what_still_runs_by_how_long_it_has() -> None:
    rows: list[Row] = [
        {"kind": "auth", "node": "m", "replica": "r", "running_s": 5.0, "text": "", "directive": "masterauth"},
        {"kind": "loop", "node": "m", "replica": "s", "running_s": 90.0, "text": ""},
        {"kind": "storm", "node": "m", "running_s": None, "text": ""},
    ]
    found = troubles.broken(report(advice=rows))
    assert [(item.what, item.whom, item.since, item.setting) for item in found] == [
        ("fails over and over", "m → s", "1 min 30 s", ""), ("password refused", "m → r", "5.0 s", "masterauth")
    ]  # fmt: skip
    assert troubles.broken_kinds(report(advice=rows)) == "1 × password refused, 1 × fails over and over"
    assert troubles.broken(empty()) == [] and troubles.more_broken(empty()) == 0


def test_most_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Row] = [{"kind": "loop", "node": f"m{n}", "running_s": 1.0 + n, "text": ""} for n in range(5)]
    monkeypatch.setattr(troubles, "MOST_BROKEN", 2)
    monkeypatch.setattr(troubles, "MOST_CARDS", 3)
    made = report(advice=rows)
    assert (len(troubles.broken(made)), troubles.more_broken(made)) == (2, 3)
    assert (len(troubles.cards(made)), troubles.more_masters(made)) == (3, 2)


def test_costs() -> None:
    tiles = {tile.label: (tile.value, tile.tone) for tile in troubles.costs(report())}
    assert tiles == {
        "replica-minutes out of step": ("66.2", "bad"),
        "sent again by full resyncs": ("48 GB", ""),
        "forks for replicas, 310 MB of memory at most": ("8", ""),
        "of 21 full resyncs were avoidable": ("81 %", "bad"),
    }
    assert troubles.costs(empty()) == []
    long: list[Row] = [dict(row) | {"out_s": 7_654_321.0} for row in report().rows("costs")[:1]]
    assert troubles.costs(report(costs=long))[0].value == "127,572"
    short: list[Row] = [dict(row) | {"out_s": 19.6} for row in report().rows("costs")[:1]]
    assert [(tile.value, tile.label) for tile in troubles.costs(report(costs=short))[:1]] == [
        ("19.6", "replica-seconds out of step")
    ]


def test_a_card_for_each_master() -> None:
    (card,) = troubles.cards(report())
    assert card.name == MASTER
    assert card.costs == ("66.2 replica-minutes out of step, 21 full resyncs (17 avoidable), 48 GB sent again, 8 forks")
    assert [(one.whom, one.setting, one.sure) for one in card.actions] == [
        (REPLICAS[2], "rdb-version 11", "measured"), ("", "repl-backlog-size 64mb", "measured"),
        ("", "repl-rdb-channel yes", ""), ("", "", ""),
    ]  # fmt: skip
