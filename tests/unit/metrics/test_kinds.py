"""The vocabulary: ranks put cause before effect where log lines bear one time."""

from __future__ import annotations

import pytest

from pyrepl.metrics.kinds import CAUSES, CYCLE, RANK, SAMPLES, TEXT_ONLY
from pyrepl.observability.eventlog.schema import BY_EVENT


def test_each_kind_once_and_known() -> None:
    assert len(RANK) == len(CYCLE)
    assert set(CYCLE) <= BY_EVENT.keys() | TEXT_ONLY.keys()
    assert BY_EVENT.keys() >= SAMPLES
    assert not TEXT_ONLY.keys() & BY_EVENT.keys()


@pytest.mark.parametrize(
    "story",
    [
        ("link_connecting", "psync_asked", "psync_decided", "delivery_started", "load_started", "load_ended", "online"),
        ("psync_asked", "psync_decided", "bgsave_for_sync", "delivery_ended", "online", "replica_down"),
        ("load_ended", "catch_up_started", "catch_up_ended", "online", "link_down", "role_changed"),
        ("output_limit", "replica_down"),
    ],
)
def test_stories_are_in_order(story: tuple[str, ...]) -> None:
    assert [RANK[kind] for kind in story] == sorted(RANK[kind] for kind in story)


def test_the_causes_of_the_daemon_are_all_there() -> None:
    assert {"first", "no_backlog", "out_of_backlog", "id_mismatch", "forced", "rdb_version"} <= CAUSES.keys()
