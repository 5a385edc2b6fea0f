"""INFO stats: counters from all over the node, and rates."""

from __future__ import annotations

import pytest

from pyrepl.replication.psync import Cause
from tests.unit.commands.rig import Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestStats:
    def test_counters(self, rig: Rig) -> None:
        stats = rig.node.stats
        stats.total_connections_received, stats.total_forks, stats.rejected_connections = 5, 2, 1
        rig.say("SET a 1 PX 10")
        rig.say("GET a")
        rig.pass_s(1)
        rig.say("GET a")
        rig.say("NOSUCH")
        shown = info(rig, "stats")
        assert (shown["total_connections_received"], shown["total_forks"]) == ("5", "2")
        assert (shown["keyspace_hits"], shown["keyspace_misses"], shown["expired_keys"]) == ("1", "1", "1")
        assert shown["total_error_replies"] == "1"

    def test_full_resyncs_by_cause(self, rig: Rig) -> None:
        counters = rig.node.replication.roster.counters
        counters.full, counters.partial_ok, counters.partial_err = 3, 2, 1
        counters.full_by_cause[Cause.OUT_OF_BACKLOG] = 1
        counters.full_by_cause[Cause.FIRST] = 2
        shown = info(rig, "stats")
        assert (shown["sync_full"], shown["sync_partial_ok"], shown["sync_partial_err"]) == ("3", "2", "1")
        assert (shown["sync_full_first"], shown["sync_full_out_of_backlog"]) == ("2", "1")
        assert sum(int(count) for name, count in shown.items() if name.startswith("sync_full_")) == 3

    def test_rates(self, rig: Rig) -> None:
        for tick in range(20):
            rig.node.stats.ops.sample(tick * 50, 10.0 + tick * 0.1)
            rig.node.stats.input.sample(tick * 1024, 10.0 + tick * 0.1)
        shown = info(rig, "stats")
        assert 499 <= int(shown["instantaneous_ops_per_sec"]) <= 500
        assert shown["instantaneous_input_kbps"] == "10.00"
