"""What goes on after it was told once, is shown as long as it lasts."""

from __future__ import annotations

import pytest

from pyrepl.mailbox import troubled as room
from pyrepl.mailbox.gate_states import GateResult
from pyrepl.mailbox.gates import RETRY_S
from pyrepl.mailbox.troubled import count_troubled, troubled
from tests.unit.mailbox.gate_rig import GUID, READS, Rig


@pytest.mark.parametrize(("has_lock_files", "word"), [(True, "gate_failed"), (False, "look_failed")])
def test_a_look_that_failed(has_lock_files: bool, word: str) -> None:
    rig = Rig(has_lock_files=has_lock_files)
    assert troubled(rig.node) == [] and count_troubled(rig.node) == 0
    rig.gates.seen(GUID, READS._replace(brought=True), rig.now)
    rig.round()
    rig.round(GateResult(why="no disk"))
    assert troubled(rig.node) == [("alice", f"{word} INBOX: no disk")] and count_troubled(rig.node) == 1
    rig.run(2 * RETRY_S)
    assert troubled(rig.node) == [] and count_troubled(rig.node) == 0


def test_messages_and_flags_that_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    gates = rig.node.gates
    assert gates is not None
    gates._gates[GUID].missing = 200
    monkeypatch.setattr(rig.node.core.doubts, "boxes", lambda: [GUID, "no mailbox of now"])
    assert troubled(rig.node) == [
        ("alice", "expunge_guard INBOX: 200 messages are missing"),
        ("alice", "flags_differ INBOX: say MAILBOX ALLOW or MAILBOX DENY"),
    ]
    assert count_troubled(rig.node) == 3
    monkeypatch.setattr(room, "MOST", 1)
    assert len(troubled(rig.node)) == 1
