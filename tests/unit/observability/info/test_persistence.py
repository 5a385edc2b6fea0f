"""INFO persistence: at rest, while a child runs, while a load runs."""

from __future__ import annotations

import pytest

from pyrepl.node.persistence import Loading
from tests.unit.commands.rig import START_S, Rig
from tests.unit.observability.info.reading import info


@pytest.fixture
def rig() -> Rig:
    return Rig()


class TestPersistence:
    def test_at_rest(self, rig: Rig) -> None:
        rig.say("SET a 1")
        shown = info(rig, "persistence")
        assert (shown["loading"], shown["async_loading"]) == ("0", "0")
        assert shown["rdb_changes_since_last_save"] == "1"
        assert shown["rdb_last_bgsave_status"] == "ok"
        assert shown["rdb_current_bgsave_time_sec"] == "-1"
        assert "loading_total_bytes" not in shown

    def test_while_a_child_runs(self, rig: Rig) -> None:
        persistence = rig.node.persistence
        persistence.bgsave_started_at = START_S
        persistence.child_keys_done, persistence.child_keys_total = 30, 120
        rig.pass_s(4)
        shown = info(rig, "persistence")
        assert (shown["rdb_bgsave_in_progress"], shown["rdb_current_bgsave_time_sec"]) == ("1", "4")
        assert (shown["current_fork_perc"], shown["current_save_keys_total"]) == ("25.00", "120")

    def test_after_a_failure(self, rig: Rig) -> None:
        rig.node.persistence.last_bgsave_ok = False
        assert info(rig, "persistence")["rdb_last_bgsave_status"] == "err"

    @pytest.mark.parametrize("asynchronous", [True, False])
    def test_a_load(self, rig: Rig, asynchronous: bool) -> None:
        loading = rig.node.persistence.loading = Loading(START_S, 99, 1000, asynchronous=asynchronous)
        loading.loaded_bytes = 250
        rig.pass_s(10)
        shown = info(rig, "persistence")
        assert (shown["loading"], shown["async_loading"]) == (("0", "1") if asynchronous else ("1", "0"))
        assert shown["loading_start_time"] == "99"
        assert (shown["loading_total_bytes"], shown["loading_loaded_bytes"]) == ("1000", "250")
        assert (shown["loading_loaded_perc"], shown["loading_eta_seconds"]) == ("25.00", "30")
