"""What the log says of a request that gets a snapshot."""

from __future__ import annotations

import pytest

from pyrepl.observability import events
from pyrepl.observability.telling.sync_lines import full_resync_lines, rdb_channel_line, timed_out_line, wait_lines
from pyrepl.replication.events import SyncDecided
from pyrepl.replication.history import History
from pyrepl.replication.psync import Cause, Reason, Request
from pyrepl.units import ReplId

A, B = ReplId("a" * 40), ReplId("b" * 40)
CASES = [
    (Cause.ID_MISMATCH, "Partial resynchronization not accepted: Replication ID mismatch"),
    (Cause.PAST_FORK, "Partial resynchronization not accepted: Requested offset for second ID was 8"),
    (Cause.OUT_OF_BACKLOG, "Unable to partial resync with replica r:1 for lack of backlog (Replica request was: 8)."),
    (Cause.NO_BACKLOG, "Unable to partial resync with replica r:1 for lack of backlog"),
    (Cause.ABOVE_OFFSET, "Warning: replica r:1 tried to PSYNC with an offset that is greater"),
]


@pytest.mark.parametrize(("cause", "begins"), CASES, ids=[str(cause) for cause, _ in CASES])
def test_why_it_is_not_continued_comes_first(cause: Cause, begins: str) -> None:
    decided = SyncDecided(1, Request(B, 7), Reason(cause), 0, "now")
    first, second = [event.text() for event in full_resync_lines("r:1", decided, History(A))]
    assert first.startswith(begins)
    assert second == f"Full resync requested by replica r:1 (cause: {cause})"


@pytest.mark.parametrize(
    ("wait", "line"),
    [
        ("delay", "Delay next BGSAVE for diskless SYNC"),
        ("joined", "Waiting for end of BGSAVE for SYNC"),
        ("next", "Current BGSAVE has socket target. Waiting for next BGSAVE for SYNC"),
        ("next_file", "Can't attach the replica to the current BGSAVE. Waiting for next BGSAVE for SYNC"),
        ("other_child", "No BGSAVE in progress, but another BG operation is active. BGSAVE for replication delayed"),
    ],
)
def test_what_it_waits_for_comes_last(wait: str, line: str) -> None:
    decided = SyncDecided(1, Request(None, -1), Reason(Cause.FIRST), 0, wait)
    assert [event.text() for event in full_resync_lines("r:1", decided, History(A))][1:] == [line]
    assert wait_lines("now") == wait_lines("later") == []


def test_two_channels_are_granted() -> None:
    decided = SyncDecided(1, Request(None, -1), Reason(Cause.FIRST), 0, "rdb_channel")
    said = [event.text() for event in full_resync_lines("r:1", decided, History(A))]
    assert said[-1].startswith("Replica r:1 is capable of rdb channel synchronization")


def test_only_an_rdb_channel_without_its_snapshot_is_lost() -> None:
    assert " lost" not in rdb_channel_line("r:1", True).text()
    assert rdb_channel_line("r:1", False).text() == "Connection with replica (rdbchannel) r:1 lost."


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        ("wait_bgsave", "full sync"),
        ("rdb_channel", "full sync"),
        ("first_ack", "streaming sync"),
        ("online", "streaming sync"),
    ],
)
def test_a_timeout_in_the_words_of_redis(phase: str, words: str) -> None:
    assert timed_out_line("a:1", phase) == events.ReplicaTimedOut("a:1", words)
