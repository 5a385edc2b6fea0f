"""The vocabulary: ranks put cause before effect where log lines bear one time."""

from __future__ import annotations

import pytest

from pyrepl.metrics.kinds import CAUSES, END, KINDS, RANK


def test_each_kind_once() -> None:
    assert len(RANK) == len(KINDS) == len(END)


@pytest.mark.parametrize(
    "story",
    [
        ("link_lost", "connecting", "sync_started", "asks", "got_full", "receiving", "load_start", "loaded", "synced"),
        ("replica_lost", "asked", "refused_backlog", "full", "bgsave_for_sync", "child_start", "child_end", "online"),
        ("asked", "continued"),
        ("connecting", "sync_started", "connect_failed"),
        ("loaded", "catch_up", "catch_up_end", "synced"),
        ("load_start", "load_version", "load_failed"),
    ],
)
def test_stories_are_in_order(story: tuple[str, ...]) -> None:
    assert [RANK[kind] for kind in story] == sorted(RANK[kind] for kind in story)


def test_the_causes_of_the_daemon_are_all_there() -> None:
    assert {"first", "no_backlog", "out_of_backlog", "id_mismatch", "forced", "rdb_version"} <= CAUSES.keys()
