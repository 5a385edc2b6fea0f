"""A snapshot on its way in, and what it does to the old data."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.replication.events import FullResyncAnnounced, FullResyncBegins, SnapshotBytes, SnapshotEnds
from pyrepl.replication.link_states import OldData
from pyrepl.replication.psync import Cause, Reason
from pyrepl.replication.snapshot_in import SnapshotIn
from pyrepl.units import Offset, ReplId

A = ReplId("a" * 40)
REASON = Reason(Cause.FIRST)


def snapshot() -> SnapshotIn:
    return SnapshotIn(FullResyncAnnounced(A, Offset(57), REASON), 0.0)


def test_from_header_to_rest() -> None:
    incoming = snapshot()
    assert incoming.receive(b"\n$1", 1.0) == [] and not incoming.began
    assert incoming.receive(b"0\r\n0123", 2.0) == [FullResyncBegins(A, Offset(57), REASON, 10), SnapshotBytes(b"0123")]
    assert incoming.progress.total_bytes == 10 and incoming.progress.read_bytes == 4 and not incoming.ended
    assert incoming.receive(b"456789*1\r\n", 3.0) == [SnapshotBytes(b"456789"), SnapshotEnds(10)]
    assert incoming.ended and incoming.rest == b"*1\r\n" and incoming.progress.percent == 100.0


def test_the_masters_own_error() -> None:
    with pytest.raises(PeerError, match="BGSAVE failed"):
        snapshot().receive(b"-ERR BGSAVE failed\r\n", 1.0)


@pytest.mark.parametrize(
    "promise, while_it_comes, when_whole",
    [
        (None, True, True),
        (OldData.GOES_AT_FIRST_BYTE, True, True),
        (OldData.GOES_AT_LAST_BYTE, False, True),
        (OldData.STAYS_UNTIL_LOADED, False, False),
    ],
)
def test_the_old_data(promise: OldData | None, while_it_comes: bool, when_whole: bool) -> None:
    incoming = snapshot()
    assert not incoming.old_data_is_gone
    incoming.receive(b"$3\r\n", 1.0)
    if promise is not None:
        incoming.old_data = promise
    assert incoming.old_data_is_gone == while_it_comes
    incoming.receive(b"abc", 2.0)
    assert incoming.old_data_is_gone == when_whole
