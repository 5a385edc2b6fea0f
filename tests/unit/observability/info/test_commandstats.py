"""INFO commandstats, errorstats and latencystats."""

from __future__ import annotations

import pytest

from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestCommandstats:
    def test_only_what_was_called(self, rig: Rig) -> None:
        rig.step_s = 0.001
        rig.say("SET s x")
        rig.error("LPUSH s x")
        rig.error("LPUSH s")
        shown = info(rig, "commandstats")
        assert shown == {
            "cmdstat_set": "calls=1,usec=1000,usec_per_call=1000.00,rejected_calls=0,failed_calls=0",
            "cmdstat_lpush": "calls=1,usec=1000,usec_per_call=1000.00,rejected_calls=1,failed_calls=1",
        }

    def test_errors(self, rig: Rig) -> None:
        rig.node.stats.count_error("ERR x")
        rig.node.stats.count_error("A:B#C x")
        assert info(rig, "errorstats") == {"errorstat_A_B_C": "count=1", "errorstat_ERR": "count=1"}

    def test_percentiles(self, rig: Rig) -> None:
        for step_s in (0.001, 0.001, 0.001, 0.2):
            rig.step_s = step_s
            rig.say("SET s x")
        assert info(rig, "latencystats") == {
            "latency_percentiles_usec_set": "p50=1003.519,p99=200278.015,p99.9=200278.015"
        }
        rig.node.settings.assign("latency-tracking-info-percentiles", (0.0, 75.0, 100.0))
        shown = info(rig, "latencystats")["latency_percentiles_usec_set"]
        assert shown == "p0=1003.519,p75=1003.519,p100=200278.015"
        rig.say("CONFIG RESETSTAT")
        assert "latency_percentiles_usec_set" not in info(rig, "latencystats")

    def test_percentiles_can_be_switched_off(self, rig: Rig) -> None:
        rig.node.change_settings(["latency-tracking"], [False])
        rig.say("SET s x")
        assert info(rig, "latencystats") == {}
