"""The sentences: expressions that RE2 takes, groups that are columns, and pyrepl's own words among them."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyrepl.metrics.kinds import TEXT_ONLY
from pyrepl.metrics.sentences import SENTENCES, Sentence
from pyrepl.metrics.tables import EVENTS
from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.schema import BY_EVENT


@pytest.mark.parametrize("row", SENTENCES, ids=lambda row: row.begins[:40])
def test_each_row_is_sound(row: Sentence) -> None:
    found = pc.extract_regex(pa.array(["nothing"]), f"^(?:{row.pattern})$") if "(?P<" in row.pattern else None
    groups = {field.name for field in found.type} if found is not None else set()
    assert groups | row.plus.keys() <= set(EVENTS.names)
    assert set(row.less_one) <= groups
    assert row.event in BY_EVENT.keys() | TEXT_ONLY.keys()
    assert re.compile(row.pattern)


REPLICA = "10.0.0.2:6379"
REPLID = "a" * 40


@pytest.mark.parametrize(
    "said",
    [
        events.ReplicaAsksForSync(REPLICA),
        events.FullResyncRequested(REPLICA, "out_of_backlog by 12 bytes"),
        events.FullResyncRequested(REPLICA, "load_failed (rdb_version)"),
        events.RdbChannelGranted(REPLICA),
        events.PartialRefusedById(REPLID, REPLID, REPLID),
        events.PartialRefusedByFork(9, 5),
        events.PartialRefusedByBacklog(REPLICA, 9),
        events.PartialResyncAccepted(REPLICA, 10, 9),
        events.BacklogCreated(REPLID, REPLID),
        events.ReplicaWaitsForAck(REPLICA),
        events.ReplicaSynchronized(REPLICA),
        events.ReplicaLost(REPLICA, "timeout (online)"),
        events.ReplicaTimedOut(REPLICA, "streaming sync"),
        events.ConnectingToMaster(REPLICA),
        events.CannotConnectToMaster("refused"),
        events.PartialResyncTried(REPLID, 9),
        events.NothingToContinue(),
        events.FullResyncFromMaster(REPLID, 9, "first"),
        events.RdbChannelOpened("valkey"),
        events.CatchUpStarted(5),
        events.CatchUpFinished(5),
        events.PartialResyncSucceeded(),
        events.MasterIdChanged(REPLID),
        events.MasterNotReady("-LOADING"),
        events.ReceivingSnapshot(9, "disk"),
        events.ReceivingStreamedSnapshot("parser"),
        events.SyncLoading(),
        events.SyncFinished(),
        events.SyncLoadFailed("bad", "load_failed (corrupt)"),
        events.SyncFailed("handshake", "no: more", "refused (psync)"),
        events.MasterTimedOut(),
        events.MasterLost("connection_lost"),
        events.SecondaryIdSet(REPLID, 9, REPLID),
        events.SyncSnapshotStarting("disk"),
        events.SavingStarted(9),
        events.TransferStarted(9),
        events.TransferKilled(9),
        events.SnapshotLoaded(9, 1),
        events.MasterModeEnabled("id=1"),
        events.ReplicaOfEnabled(REPLICA, "id=1"),
        events.ModeRunning(6379),
        events.Starting("0.1", 9),
    ],
    ids=lambda event: event.name,
)
def test_what_pyrepl_says_is_understood(said: Event) -> None:
    text = said.text()
    rows = [row for row in SENTENCES if text.startswith(row.begins) and re.fullmatch(row.pattern, text)]
    assert rows, text
