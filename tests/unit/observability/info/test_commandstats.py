"""INFO commandstats and errorstats."""

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
