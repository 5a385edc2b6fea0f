"""Gates of mailboxes that cannot be read any more: others get them, and what was done there is compared later."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.gate_states import BLIND_S, GateResult, GateState, GateWork
from pyrepl.mailbox.gates import CLIENT
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, Rig, mail

DAMAGED = GateResult(why="the list is damaged")
SHUT_AND_DAMAGED = GateResult(why="the list is damaged", is_shut=True)


def opened() -> Rig:
    """Behind its gate a Dovecot has saved what nobody can read."""
    rig = Rig()
    rig.see(READS)
    assert rig.state() is GateState.OPEN and rig.node.saving.lock_of(CLIENT, GUID) is not None
    rig.gates.seen(GUID, RELEASED, rig.now)
    rig.round(DAMAGED)
    return rig


def blind(rig: Rig, result: GateResult, seconds: float = BLIND_S + 2) -> list[GateWork]:
    """Orders end so for so long."""
    asked = []
    for _ in range(int(seconds * 10)):
        rig.now += 0.1
        asked += [order.work for order in rig.round(result)]
    return asked


def test_it_is_shut_and_after_a_while_the_others_get_it_behind_what_may_have_been_given_out() -> None:
    rig = opened()
    assert set(blind(rig, SHUT_AND_DAMAGED, BLIND_S - 2)) == {GateWork.SHUT}
    assert rig.node.saving.lock_of(CLIENT, GUID) is not None, "it may be mended at once"
    before = rig.node.core.rows.box(GUID)
    blind(rig, SHUT_AND_DAMAGED, 4)
    box = rig.node.core.rows.box(GUID)
    assert before is not None and box is not None and box.uidnext > before.uidnext + 1000
    assert rig.node.saving.lock_of(CLIENT, GUID) is None and rig.state() is GateState.SHUTTING
    count = len(rig.ops())
    blind(rig, SHUT_AND_DAMAGED, 30)
    assert len(rig.ops()) == count, "it is done once"


def test_what_was_saved_there_is_compared_when_it_can_be_read() -> None:
    rig = opened()
    blind(rig, SHUT_AND_DAMAGED)
    rig.found = mail(1, 2)
    rig.run(3.0)
    rows = list(rig.node.core.rows.messages(GUID))
    assert rig.state() is GateState.SHUT and [row.guid for row in rows] == ["G1", "G2"]
    assert not rig.gates.unlooked(0)


@pytest.mark.parametrize("result", [DAMAGED, GateResult(is_busy=True)])
def test_one_whose_lock_file_cannot_be_taken_is_kept(result: GateResult) -> None:
    """A Dovecot goes on there."""
    rig = opened()
    blind(rig, result, 2 * BLIND_S)
    assert rig.node.saving.lock_of(CLIENT, GUID) is not None
