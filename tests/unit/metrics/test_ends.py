"""Both forms of logs come out alike: every master's log of a real run names what its replica's does."""

from __future__ import annotations

from tests.unit.metrics.conftest import Analysed


def test_a_text_log_beside_its_event_log_counts_once(corpora: dict[str, Analysed]) -> None:
    """The corpus `events` has pyrepl-pair's text logs too, in the folder twice."""
    assert len(corpora["events"].rows("syncs", "pyrepl-pair")) == 3
    assert corpora["events"].rows("syncs", "twice") == []


def test_both_dialects_and_all_targets_are_told_apart(corpora: dict[str, Analysed]) -> None:
    modes = {row["mode"] for row in corpora["text"].tables["syncs"]}
    assert modes == {"continue", "full_disk", "full_diskless", "rdb_channel", "dual_channel"}
