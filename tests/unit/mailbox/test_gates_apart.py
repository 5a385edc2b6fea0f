"""Gates of a node that has no majority, or has it no more, and where messages come that were saved apart."""

from __future__ import annotations

from pyrepl.mailbox import early_locks
from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.gate_parting import PATIENCE_S
from pyrepl.mailbox.gate_states import GateState, GateWork, Seen
from pyrepl.mailbox.gates import CLIENT, ENTER_S, RETRY_S
from pyrepl.mailbox.store import RaiseNext
from pyrepl.mailbox.verbs import Renumber, Save
from pyrepl.mailbox.words import APART, Dot, Token
from tests.unit.mailbox.gate_rig import GUID, READS, Rig, mail


def test_what_dovecot_did_without_us_counts_as_apart() -> None:
    rig = Rig()
    rig.found = mail(1)
    rig.restart()
    rig.settle()
    [save] = [op for op in rig.ops() if isinstance(op, Save)]
    assert save.token is not None and save.token.term == APART


def test_before_the_first_look_nobody_here_gets_uids_that_a_dovecot_may_have_given_out_apart() -> None:
    rig = Rig("abc", is_root=False)
    rig.found = mail(100_001)
    rig.restart()
    tracker = rig.node.mastering.tracker
    while not tracker.is_apart:
        rig.now += 0.1
        rig.node.tick(rig.now)
    assert tracker.token_now(GUID) is None
    rig.settle()
    assert tracker.token_now(GUID) is not None and rig.messages() == {100_001: "G100001"}


def test_without_a_majority_it_opens_far_above_what_others_give_out() -> None:
    rig = Rig("abc", is_root=False)
    rig.run(20)
    assert rig.see(READS) == [GateWork.OPEN]
    assert rig.state() is GateState.OPEN
    assert rig.orders[-1].uidnext == 100_001


def test_who_is_apart_for_a_moment_lets_clients_wait() -> None:
    rig = Rig("abc", is_root=False)
    assert rig.see(READS) == [] and rig.state() is GateState.SHUT
    rig.run(PATIENCE_S - 1)
    assert rig.state() is GateState.SHUT
    rig.run(2 + RETRY_S)
    assert rig.state() is GateState.OPEN


def test_a_store_without_lock_files_gives_out_uids_of_its_own_when_it_is_apart_for_good() -> None:
    rig = Rig("abc", is_root=False, has_lock_files=False)
    rig.run(PATIENCE_S - 1)
    assert rig.raised == []
    due = rig.gates.next_deadline(rig.now)
    assert rig.now < due < rig.now + 2
    rig.run(10)
    assert rig.raised == [RaiseNext("alice", GUID, 100_001)], "once for each time that it is apart"


def test_without_a_majority_it_stays_shut_if_so_configured() -> None:
    rig = Rig("abc", is_root=False, accept=False)
    rig.run(20)
    rig.gates.seen(GUID, READS, rig.now)
    rig.run(5)
    assert rig.state() is GateState.WANTED
    rig.run(6)
    assert rig.state() is not GateState.OPEN and not any(order.work is GateWork.OPEN for order in rig.orders)


def test_a_gate_is_not_opened_under_a_mastership_that_has_ended() -> None:
    rig = Rig()
    rig.gates.seen(GUID, READS, rig.now)
    rig.node.tick(rig.now)
    assert rig.state() is GateState.OPENING
    epoch = rig.node.mastering.root.epoch
    rig.node.mastering.root.renew(rig.now)
    rig.node.tick(rig.now)
    assert rig.state() is not GateState.OPENING and not rig.gates.orders((), rig.now)
    rig.run(8.0)
    lock = rig.node.saving.lock_of(CLIENT, GUID)
    token = None if lock is None else rig.node.saving.token_of(lock)
    assert rig.state() is GateState.OPEN and token is not None
    assert token.epoch == rig.node.mastering.root.epoch > epoch


def test_a_uid_that_a_crash_left_without_a_message_is_that_of_who_saves_it() -> None:
    rig = Rig()
    rig.run(1)
    box = rig.rows.box(GUID)
    assert box is not None
    rig.found = FoundBox((), next_uid=5)
    for holder, passed in (("b", []), ("a", [((4, 4),)])):
        rig.rows.put_box(box._replace(token=Token(rig.node.mastering.root.epoch, 1), holder=holder))
        rig.restart()
        rig.round()
        rig.round()
        assert [op.to for op in rig.ops() if isinstance(op, Renumber)] == passed


def test_mail_without_a_uid_gets_none_of_another_block() -> None:
    rig = Rig("ab", is_root=False)
    rig.run(8.0)
    rig.see(READS)
    rig.found = FoundBox((), unlisted=1)
    rig.gates.seen(GUID, Seen(brought=True), rig.now)
    rig.save_of_b(rig.node.mastering.blocks.gap * rig.node.members.place("b") + 7, 1)
    rig.orders.clear()
    rig.run(2 * ENTER_S)
    assert rig.orders and not any(order.may_list for order in rig.orders)


def test_what_does_not_come_is_not_waited_for_long() -> None:
    rig = Rig("ab", is_root=False)
    rig.run(8.0)
    rig.node.core.peers["b"].is_up = True
    rig.node.core.peers["b"].tells((Dot("b", 2),), {})
    assert rig.see(READS) == []
    assert rig.node.mastering.next_deadline(rig.now) <= rig.now + early_locks.PATIENCE_S
    rig.run(early_locks.PATIENCE_S + 0.2)
    assert rig.state() is GateState.OPEN
