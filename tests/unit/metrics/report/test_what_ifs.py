"""Curves of other settings."""

from __future__ import annotations

from typing import Any

import pytest

from pyrepl.metrics.report import what_ifs
from pyrepl.metrics.report.model import Row
from tests.unit.metrics.report.sample import report


def layer(spec: dict[str, Any] | None, place: int) -> list[dict[str, Any]]:
    assert spec is not None
    values: list[dict[str, Any]] = spec["layer"][place]["data"]["values"]
    return values


def test_the_backlog_as_it_is_and_as_it_might_be() -> None:
    sizes = [value["size"] for value in layer(what_ifs.backlog(report()), 0)]
    assert sizes == sorted(sizes) and sizes[0] == 1 << 20
    assert layer(what_ifs.backlog(report()), 1)[-1]["share"] == 1.0
    without = what_ifs.backlog(report(write_rate=[]))
    assert without is not None and len(without["layer"]) == 2


def test_limits_and_delays() -> None:
    assert [value["avoids"] for value in layer(what_ifs.limit(report()), 1)] == ["1 of 3", "2 of 3", "3 of 3"]
    begin = layer(what_ifs.delay(report()), 0)
    assert [(value["size"], value["share"]) for value in begin] == [(1.5, 0.0), (3.0, 0.125)], "one value is a line too"
    (delay,) = layer(what_ifs.delay(report()), 1)
    assert (delay["would"], delay["avoids"]) == ("3.0 s", "1 of 8")


def test_masters_with_most_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_ifs, "MOST_MASTERS", 1)
    rows: list[Row] = [
        {"node": node, "backlog_size": 5, "avoided": 1, "avoidable": gain, "share": 1 / gain}
        for node, gain in (("a", 2), ("b", 9))
    ]
    assert {value["node"] for value in layer(what_ifs.backlog(report(backlog_what_if=rows)), 1)} == {"b"}


@pytest.mark.parametrize("setting", what_ifs.FLEETS)
def test_all_masters(setting: str) -> None:
    spec = what_ifs.fleet(report(), setting)
    assert spec is not None and spec["data"]["values"][-1]["share"] == 1.0
    assert what_ifs.fleet(report(fleet_what_if=[]), setting) is None
    one = [row for row in report().rows("fleet_what_if") if row["setting"] == setting][-1:]
    spec = what_ifs.fleet(report(fleet_what_if=one), setting)
    assert spec is not None
    assert [value["share"] for value in spec["data"]["values"]] == [0.0, 1.0], "one value is a line too"
