"""What is awaited is not compared, and its mailbox is looked at again when it has come."""

from __future__ import annotations

from pyrepl.mailbox.gate_awaited import REST_S, Awaited
from pyrepl.mailbox.peers import Missing
from tests.unit.mailbox.gate_rig import GUID, Rig


def test_a_mailbox_is_looked_at_when_all_has_come_and_of_parts_not_too_often() -> None:
    rig = Rig()
    missing, awaited = rig.node.core.missing, Awaited(rig.node.core)
    assert awaited.compare(GUID) == frozenset() and awaited.come(0.0) == []
    for name in ("G1", "G2", "G3", "G4"):
        missing[GUID, name] = Missing("alice", is_damaged=name == "G4")
    assert awaited.compare(GUID) == {"G1", "G2", "G3"}, "of a damaged one the store has a text"
    assert awaited.come(0.0) == []
    del missing[GUID, "G1"]
    assert awaited.come(0.0) == [GUID] and awaited.compare(GUID) == {"G2", "G3"}
    del missing[GUID, "G2"]
    assert awaited.come(REST_S / 2) == [], "a part has come a moment ago"
    assert awaited.come(REST_S) == [GUID] and awaited.compare(GUID) == {"G3"}
    del missing[GUID, "G3"]
    assert awaited.come(REST_S) == [GUID], "all has come"
    missing[GUID, "G1"] = Missing("alice")
    awaited.compare(GUID)
    awaited.drop(GUID)
    missing.clear()
    assert awaited.come(9.0) == []
