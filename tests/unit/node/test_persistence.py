"""Snapshots and loads as INFO sees them."""

from __future__ import annotations

import pytest

from pyrepl.node.conditions import Conditions
from pyrepl.node.persistence import Loading, Persistence


def test_a_fresh_node_has_saved_at_its_start() -> None:
    persistence = Persistence(1_700_000_000, Conditions())
    assert persistence.last_save_unix_s == 1_700_000_000
    assert persistence.last_bgsave_ok and not persistence.bgsave_in_progress
    assert persistence.last_bgsave_s == -1
    assert persistence.loading is None


def test_in_progress() -> None:
    persistence = Persistence(0, Conditions())
    persistence.bgsave_started_at = 5.0
    assert persistence.bgsave_in_progress


class TestLoading:
    def test_progress(self) -> None:
        loading = Loading(100.0, 0, 1000, asynchronous=False)
        loading.loaded_bytes = 250
        assert loading.percent == pytest.approx(25.0)
        assert loading.eta_seconds(110.0) == 30

    def test_nothing_can_be_said_yet(self) -> None:
        loading = Loading(100.0, 0, 1000, asynchronous=False)
        assert loading.percent == 0.0
        assert loading.eta_seconds(110.0) == 1

    def test_unknown_size(self) -> None:
        loading = Loading(100.0, 0, 0, asynchronous=True)
        loading.loaded_bytes = 250
        assert loading.percent == 0.0
        assert loading.eta_seconds(110.0) == 1
