"""Users who are about to log in: what changed here gets a modseq above all that was seen elsewhere. Requirement M5."""

from __future__ import annotations

import pytest

from pyrepl.mailbox import aligning as room
from pyrepl.mailbox.aligning import DRAFT, Aligned, Aligning, AlignOrder
from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.checks import CHECK_S
from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.gate_states import GateWork, Seen
from pyrepl.mailbox.peers import Peer
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import SetFlags
from pyrepl.mailbox.verbs import Check, Command
from pyrepl.mailbox.words import Register, Stamp
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, TEXT, Rig, mail

UNIX_S = 1_700_000_000.0


class Alone:
    """A node that knows no other one, and its INBOX with some mail."""

    def __init__(self, *uids: int) -> None:
        self.rig = Rig()
        self.rig.options = self.rig.options._replace(aligns=True, unix_s=UNIX_S)
        self.rig.restart()
        self.rig.run(8.0)
        self.rig.see(READS)
        self.become(mail(*uids))
        self.answers: list[Command] = []

    @property
    def aligning(self) -> Aligning:
        assert self.rig.node.aligning is not None
        return self.rig.node.aligning

    def become(self, found: FoundBox) -> None:
        """Dovecot has done something."""
        self.rig.found = found
        self.rig.see(RELEASED)

    def login(self) -> list[AlignOrder]:
        """What is to be done."""
        self.rig.node.hear_mail("m", "1", Check(user="alice", login=True), "", self.rig.now)
        self.rig.settle()
        return self.orders()

    def orders(self) -> list[AlignOrder]:
        return self.aligning.orders(self.rig.now)

    def end(self, order: AlignOrder, why: str = "") -> None:
        self.aligning.done(order, why)
        self.tick()

    def tick(self) -> None:
        self.rig.node.tick(self.rig.now)
        self.answers += [reply.answer for reply in self.rig.node.core.replies() if reply.client == "m"]

    def not_aligned(self) -> list[str]:
        """What was noted of that since it was asked last."""
        return [notice.about for notice in self.rig.node.core.notices() if notice.name == "not_aligned"]

    def aligned(self) -> int:
        return self.rig.rows.aligned(GUID)


def test_what_changed_is_done_once() -> None:
    one = Alone(1, 2)
    [order] = one.login()
    assert (order.user, order.box, order.name, order.forget) == ("alice", GUID, "INBOX", False)
    assert order.messages == (Aligned("G1", 1, False), Aligned("G2", 2, False))
    assert order.modseq == int((UNIX_S + one.rig.now) * 1_000_000)
    assert one.orders() == [] and one.aligned() == 0, "it is under way"
    one.end(order)
    assert one.answers == [Ok()] and one.aligned() == order.upto
    assert one.login() == [] and one.aligning.next_deadline() == 0.0
    one.tick()
    assert one.answers == [Ok(), Ok()]
    one.become(mail(1, 2, 3))
    [order] = one.login()
    assert [each.guid for each in order.messages] == ["G3"]


def test_a_message_that_was_expunged_is_to_be_forgotten() -> None:
    one = Alone(1, 2)
    one.end(one.login()[0])
    one.become(mail(1))
    [order] = one.login()
    assert order.forget and order.messages == (Aligned("G1", 1, False),), "something has to change"
    one.end(order)
    one.become(mail())
    [order] = one.login()
    assert order.forget and order.messages == (), "clients see that the mailbox is empty"


def test_a_draft_is_told_as_such() -> None:
    one = Alone(1)
    one.become(FoundBox((Found(1, "G1", frozenset({DRAFT}), TEXT),)))
    assert one.login()[0].messages == (Aligned("G1", 1, True),)


def test_what_dovecot_did_before_is_waited_for() -> None:
    one = Alone(1)
    one.rig.gates.seen(GUID, Seen(released=True), one.rig.now)
    one.rig.node.hear_mail("m", "1", Check(user="alice", login=True), "", one.rig.now)
    assert one.orders() == [] and one.aligning.next_deadline() == one.rig.now + room.LOOK_S
    one.rig.found = mail(1, 2)
    one.rig.settle()
    assert [each.guid for each in one.orders()[0].messages] == ["G1", "G2"]


def test_it_is_not_waited_for_long() -> None:
    one = Alone(1)
    one.rig.gates.seen(GUID, Seen(released=True), one.rig.now)
    one.rig.node.hear_mail("m", "1", Check(user="alice", login=True), "", one.rig.now)
    one.rig.now += room.LOOK_S
    one.tick()
    assert len(one.orders()) == 1


def test_what_failed_is_told_and_the_flag_is_what_it_was() -> None:
    one = Alone(1)
    [order] = one.login()
    one.aligning.done(order, "no doveadm")
    [work] = one.rig.node.core.works()
    assert work == SetFlags("alice", GUID, "G1", (), (DRAFT,))
    one.tick()
    assert one.answers == [No(reason=Reason.FAILED, why="no doveadm")] and one.aligned() == 0
    assert Notice("not_aligned", "alice INBOX: no doveadm") in one.rig.node.core.notices()
    assert one.login()[0].messages == order.messages, "it is tried again"


def test_a_flag_that_another_node_sets_meanwhile_stays_set() -> None:
    one = Alone(1)
    [order] = one.login()
    row = one.rig.rows.message(GUID, "G1")
    assert row is not None
    one.rig.rows.put_message(row._replace(flags=(Register(DRAFT, True, Stamp(99, "b")),)))
    one.aligning.done(order, "")
    assert one.rig.node.core.works() == [SetFlags("alice", GUID, "G1", (DRAFT,), ())]


def test_a_mailbox_is_not_compared_meanwhile() -> None:
    one = Alone(1)
    [order] = one.login()
    one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.rig.node.tick(one.rig.now)
    assert one.rig.round() == []
    one.end(order)
    one.rig.run(0.1)
    assert {each.work for each in one.rig.orders} & {GateWork.LOOK, GateWork.GLANCE}


def test_who_waits_too_long_is_told_so() -> None:
    one = Alone(1)
    [order] = one.login()
    one.rig.now += room.ALIGN_S
    one.tick()
    assert one.answers == [No(reason=Reason.TIMEOUT)]
    assert one.not_aligned() == ["alice: it is not done after 60 s"]
    one.end(order)
    assert one.aligned() == order.upto


def test_who_is_gone_is_not_answered() -> None:
    one = Alone(1)
    [order] = one.login()
    one.rig.node.client_gone("m", one.rig.now)
    assert one.not_aligned() == ["alice: who asked waited no longer"]
    one.end(order)
    assert one.answers == [] and one.aligned() == order.upto
    one.rig.node.client_gone("m", one.rig.now)
    assert one.not_aligned() == [], "once"


def test_who_goes_while_others_are_asked_is_told_of_too() -> None:
    one = Alone(1)
    peer = one.rig.node.core.peers["b"] = Peer("b")
    peer.is_up = True
    assert one.login() == []
    one.rig.node.client_gone("m", one.rig.now)
    assert one.not_aligned() == ["alice: who asked waited no longer"]
    one.rig.now += CHECK_S
    one.tick()
    assert one.orders() == [], "nobody waits for it"


def test_who_was_answered_may_go() -> None:
    one = Alone(1)
    for order in one.login():
        one.end(order)
    assert one.answers == [Ok()]
    one.rig.node.client_gone("m", one.rig.now)
    assert one.not_aligned() == []


def test_two_logins_share_what_is_done() -> None:
    one = Alone(1)
    [order] = one.login()
    assert one.login() == []
    one.end(order)
    assert one.orders() == []
    one.tick()
    assert one.answers == [Ok(), Ok()]


def test_while_a_member_is_missing_it_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_AGAIN", 2)
    one = Alone(1, 2)
    one.rig.node.core.peers["b"] = Peer("b")
    one.end(one.login()[0])
    assert one.aligned() == 0
    assert len(one.login()[0].messages) == 2
    one.become(mail(1, 2, 3))
    one = Alone(1, 2, 3)
    one.rig.node.core.peers["b"] = Peer("b")
    one.end(one.login()[0])
    one.become(mail(1, 2, 3, 4))
    assert [each.guid for each in one.login()[0].messages] == ["G4"], "there are too many"


def test_a_mailbox_that_is_gone_is_left() -> None:
    one = Alone(1)
    one.rig.node.hear_mail("m", "1", Check(user="alice", login=True), "", one.rig.now)
    [box] = one.rig.rows.boxes("alice")
    one.rig.rows.put_box(box._replace(deleted=True))
    one.rig.rows.drop_message(GUID, "G1")
    assert one.orders() == []


def test_without_doveadm_it_is_refused() -> None:
    rig = Rig()
    rig.node.hear_mail("m", "1", Check(user="alice", login=True), "", rig.now)
    [reply] = rig.node.core.replies()
    assert isinstance(reply.answer, No) and "mailbox-doveadm" in reply.answer.why
