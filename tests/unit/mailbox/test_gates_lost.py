"""Gates that are shut, and whose lock file somebody removes: they are shut again, and that is told."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.gate_states import GateResult, GateState, GateWork
from pyrepl.mailbox.gates import CLIENT, GONE_S
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.verbs import Save
from pyrepl.mailbox.words import APART
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, Rig, mail

LOST = Notice("gate_lost", "alice INBOX")


def test_a_lock_file_that_goes_is_taken_again_and_what_came_meanwhile_counts_as_given_out_apart() -> None:
    rig = Rig()
    rig.gates.seen(GUID, RELEASED, rig.now)
    [order] = rig.round(GateResult(mail(1), was_open=True))
    assert order.work is GateWork.SHUT and not order.may_list
    rig.settle()
    assert rig.state() is GateState.SHUT and rig.messages() == {1: "G1"} and rig.notices.count(LOST) == 1
    [save] = [op for op in rig.ops() if isinstance(op, Save)]
    assert save.token is not None and save.token.term == APART
    assert rig.gates.next_deadline(rig.now) == float("inf"), "nothing is left to be done"


def test_one_that_is_there_all_the_same_is_not_told_of() -> None:
    rig = Rig()
    assert rig.see(RELEASED) == [GateWork.SHUT] and rig.state() is GateState.SHUT
    assert LOST not in rig.notices
    rig.gates.seen(GUID, RELEASED, rig.now)
    rig.round(GateResult(is_busy=True))
    rig.now += 1
    rig.round(GateResult(mail(), was_open=True))
    assert LOST in rig.notices, "it was a Dovecot's when it was looked for first"


def test_who_waited_at_a_lock_file_that_goes_has_gone_on_so_the_gate_is_shut_before_it_is_asked_for_again() -> None:
    rig = Rig("abc", is_root=False, accept=False)
    rig.gates.seen(GUID, READS, rig.now)
    rig.round()
    assert rig.state() is GateState.WANTED
    rig.gates.seen(GUID, RELEASED, rig.now)
    assert rig.node.saving.lock_of(CLIENT, GUID) is None
    [order] = rig.round(GateResult(mail(), was_open=True))
    rig.round()
    assert order.work is GateWork.SHUT and rig.state() is GateState.SHUT and LOST in rig.notices


def test_one_that_is_about_to_be_opened_is_opened_and_looked_at_or_shut_again_if_it_cannot_be() -> None:
    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    rig.round()
    assert rig.state() is GateState.OPENING
    rig.found = mail(1)
    assert rig.see(RELEASED) == [GateWork.OPEN, GateWork.GLANCE] and rig.messages() == {1: "G1"}
    assert LOST not in rig.notices, "it is to be open now"

    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    rig.round()
    rig.gates.seen(GUID, RELEASED, rig.now)
    rig.round(GateResult(why="no disk"))
    [order] = rig.round(GateResult(mail(), was_open=True))
    rig.round()
    assert order.work is GateWork.SHUT and rig.state() is GateState.SHUT and LOST in rig.notices


@pytest.mark.parametrize("seen", [READS, RELEASED])
def test_a_mailbox_without_a_folder_is_looked_for_later_and_nothing_is_told(seen: object) -> None:
    rig = Rig()
    rig.notices.clear()
    rig.gates.seen(GUID, seen, rig.now)  # type: ignore[arg-type]
    if seen is READS:
        rig.round()
    rig.round(GateResult(why="no folder", is_gone=True))
    assert rig.round() == [] and rig.notices == []
    rig.now += GONE_S
    rig.settle()
    assert rig.state() is (GateState.SHUT if seen is RELEASED else GateState.OPEN)


def test_one_that_goes_while_it_is_being_shut_is_looked_for_again_before_anybody_is_let_in() -> None:
    """Nobody knows which was first, that it was taken or that it went."""
    rig = Rig()
    rig.gates.allow(GUID, rig.now)
    [order] = rig.gates.orders((), rig.now)
    assert order.work is GateWork.SHUT
    rig.gates.seen(GUID, RELEASED, rig.now)
    rig.gates.done(order, GateResult(mail()), rig.now)
    assert rig.state() is GateState.SHUTTING and LOST not in rig.notices
    [again] = rig.round(GateResult(mail(1), was_open=True))
    assert again.work is GateWork.SHUT and not again.may_list and rig.notices.count(LOST) == 1
    rig.settle()
    assert rig.state() is GateState.SHUT and rig.messages() == {1: "G1"}
