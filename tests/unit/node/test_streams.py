"""What INFO shows of subscribers, summed up."""

from __future__ import annotations

from pyrepl.node.streams import StreamState, Subscriber
from tests.unit.changes.rig import FakeCatalog, Rig


def test_rows_of_those_who_left_count_on() -> None:
    state = StreamState()
    rig = Rig(FakeCatalog(keys=1))
    rig.say("REPLICATE keys NOW")
    state.subscribers[7] = Subscriber(7, "127.0.0.1:5", 1.0, rig.subscription)
    state.rows_of_ended = 10
    rig.live(rig.catalog.add("keys", 2, "[1]", "[2]"))
    assert state.rows_sent == 12
    rig.reads = False
    rig.live(rig.catalog.add("keys", 3, "[3]"))
    assert state.output_bytes == len(b"RDATA keys 3 [3]\n")
