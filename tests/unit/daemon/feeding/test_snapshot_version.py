"""The version of a snapshot goes by the data and by what every one of its readers knows."""

from __future__ import annotations

import pytest

from pyrepl.daemon.feeding.snapshot_version import version_for
from pyrepl.keyspace.values import HashValue
from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.rdb.values import IdmpState, StreamValue
from pyrepl.rdb.versions import numbered
from pyrepl.replication.dialects import Capability
from pyrepl.replication.replconf import Exclusion
from pyrepl.replication.session import Session, SessionOptions
from tests.unit.daemon.rig import bare_node

NONE, READS_13, READS_80 = Capability.NONE, Capability.READS_13, Capability.READS_80
FIELD_TTL = HashValue({b"f": b"v"}, {b"f": 5})
WITH_IDS = StreamValue(idmp=IdmpState(100, 100, {b"p": {b"i": (1, 1)}}, 1))
CHOSEN, LEFT_OUT = events.SnapshotVersionChosen, events.IdempotencyIdsLeftOut


@pytest.mark.parametrize(
    ("value", "readers", "version", "said"),
    [
        (b"plain", [NONE], 10, None),
        (FIELD_TTL, [NONE], 12, None),
        (FIELD_TTL, [READS_80], 80, CHOSEN),
        (FIELD_TTL, [READS_80, NONE], 12, None),
        (WITH_IDS, [READS_13], 13, CHOSEN),
        (WITH_IDS, [READS_13, NONE], 10, LEFT_OUT),
    ],
)
def test_the_lowest_that_holds_the_data_and_all_read(
    value: bytes | HashValue | StreamValue, readers: list[Capability], version: int, said: type[Event] | None
) -> None:
    node = bare_node()
    node.keyspace.databases[0].put(b"key", value)
    sessions = [Session(number, "1.2.3.4", SessionOptions(), 0.0) for number in range(len(readers))]
    for session, known in zip(sessions, readers, strict=True):
        session.told.capabilities |= known
    log: list[Event] = []
    assert version_for(node, sessions, log.append) == numbered(version)
    assert [type(event) for event in log] == ([said] if said is not None else [])


def test_the_operators_word_counts() -> None:
    node = bare_node(rdb_version=12)
    assert version_for(node, [Session(1, "1.2.3.4", SessionOptions(), 0.0)], lambda event: None) is None


def test_without_keys_the_data_does_not_count() -> None:
    node = bare_node()
    node.keyspace.databases[0].put(b"key", WITH_IDS)
    session = Session(1, "1.2.3.4", SessionOptions(), 0.0)
    session.told.excluded = Exclusion.DATA
    log: list[Event] = []
    assert version_for(node, [session], log.append) == numbered(10) and log == []
