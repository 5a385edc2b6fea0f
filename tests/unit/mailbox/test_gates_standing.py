"""Gates of users who stand still, as the disk refuses: the other nodes get the mailbox all the same."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.gate_states import GateResult, GateState, GateWork
from pyrepl.mailbox.gates import CLIENT, ENTER_S, RETRY_S
from pyrepl.mailbox.verbs import Expunge, Save
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, Rig, mail

STANDING = {"alice"}


def opened(*, looking: bool = False) -> Rig:
    rig = Rig()
    rig.see(READS)
    assert rig.state() is GateState.OPEN
    rig.now += 2 * ENTER_S
    if looking:
        rig.gates.seen(GUID, RELEASED, rig.now)
        assert rig.state() is GateState.LOOKING
    return rig


def shut(rig: Rig, found: FoundBox) -> None:
    """Rounds while alice stands still."""
    for _ in range(3):
        for order in rig.gates.orders(STANDING, rig.now):
            assert order.work is GateWork.SHUT
            rig.gates.done(order, GateResult(found), rig.now)
        rig.node.tick(rig.now)
        rig.node.core.sends()


@pytest.mark.parametrize("looking", [False, True])
def test_one_that_is_open_is_shut_and_the_mailbox_is_the_others(looking: bool) -> None:
    rig = opened(looking=looking)
    shut(rig, mail(1))
    assert rig.state() is GateState.SHUT and rig.node.saving.lock_of(CLIENT, GUID) is None
    assert rig.messages() == {1: "G1"}, "what Dovecot did before goes out first"
    rig.now += RETRY_S
    assert rig.gates.orders(STANDING, rig.now) == [], "it is not opened again"
    rig.gates.seen(GUID, READS, rig.now)
    rig.node.tick(rig.now)
    assert rig.state() is GateState.SHUT
    rig.now += RETRY_S
    rig.found = mail(1)
    rig.settle()
    assert rig.state() is GateState.OPEN, "she goes on"


def test_what_works_are_owed_about_is_compared_when_they_are_done() -> None:
    rig = opened()
    rig.found = mail(1, 2)
    rig.see(RELEASED)
    assert rig.messages() == {1: "G1", 2: "G2"}
    rig.now += 2 * ENTER_S
    flagged = Found(1, "G1", frozenset({"\\Seen"}))
    shut(rig, FoundBox((flagged,))._replace(untold=frozenset({"G2"})))
    assert rig.state() is GateState.SHUT
    assert rig.messages() == {1: "G1", 2: "G2"} and not [op for op in rig.ops() if isinstance(op, Expunge)]
    rig.found = FoundBox((flagged,))
    rig.now += 2 * RETRY_S
    rig.settle()
    rig.see(RELEASED)
    assert rig.messages() == {1: "G1"}, "the works are done, and Dovecot had expunged it"


def test_what_was_not_compared_since_the_start_waits() -> None:
    rig = opened()
    rig.found = mail(1)
    rig.restart()
    rig.node.tick(rig.now)
    assert rig.gates.orders(STANDING, rig.now) == []
    rig.now += RETRY_S
    rig.settle()
    assert [type(op) for op in rig.ops() if isinstance(op, Save)] == [Save]
