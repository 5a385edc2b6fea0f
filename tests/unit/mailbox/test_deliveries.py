"""A delivery is answered when what a mail program stored is in the rows, and at other nodes."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.deliveries import users_of
from pyrepl.mailbox.folders import FolderResult, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import Blind, GateResult, Seen
from pyrepl.mailbox.peers import Peer
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import MakeBox
from pyrepl.mailbox.verbs import Check
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, Rig, done, mail

BROUGHT = Seen(brought=True)
WORK = "2" * 32


class Delivered:
    """A node with one other, and a delivery of which `brought` is told."""

    def __init__(self, *, has_other: bool = True) -> None:
        self.rig = Rig()
        self.core = self.rig.node.core
        self.other = Peer("b")
        self.other.is_up = has_other
        self.core.peers["b"] = self.other
        self.mark = self.rig.gates.news
        self.answers: list[Ok] = []

    def wait(self, *recipients: str) -> None:
        self.rig.node.delivered("m", self.mark, recipients, self.rig.now)

    def settle(self) -> None:
        self.rig.settle()
        self.hear()

    def hear(self) -> None:
        self.answers += [reply.answer for reply in self.core.replies() if isinstance(reply.answer, Ok)]

    def other_has_all(self) -> None:
        self.other.held["a"] = self.core.causal.held["a"]
        self.settle()


def test_what_was_brought_is_in_the_rows_and_at_another_node_first() -> None:
    one = Delivered()
    one.rig.found = FoundBox((), unlisted=1)
    one.rig.gates.seen(GUID, BROUGHT, one.rig.now)
    one.wait()
    one.other_has_all()
    assert one.answers == [], "it has no UID yet"
    one.rig.found = mail(1)
    one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.settle()
    assert one.rig.messages() == {1: "G1"} and one.answers == []
    one.other_has_all()
    assert one.answers == [Ok(acks=1)]


def test_the_other_nodes_are_asked_to_tell_at_once() -> None:
    one = Delivered()
    one.wait()
    [(peer, tag, held)] = [
        (send.peer, send.tag, send.command.held) for send in one.core.sends() if isinstance(send.command, Check)
    ]
    assert (peer, held) == ("b", one.core.journal.seen())
    one.rig.node.checks.answered(one.other, tag, Ok(held=one.core.journal.seen()), one.rig.now)
    one.settle()
    assert one.answers == [Ok(acks=1)]


def test_news_of_before_and_of_a_mailbox_that_went_are_not_waited_for() -> None:
    one = Delivered()
    one.rig.gates.seen(GUID, BROUGHT, one.rig.now)
    one.mark = one.rig.gates.news
    one.wait()
    one.other_has_all()
    assert one.answers == [Ok(acks=1)]


def test_a_mailbox_that_never_comes_to_rest_is_waited_for_once() -> None:
    one = Delivered()
    one.rig.see(READS)
    one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.wait()
    for uid in range(1, 4):
        one.rig.found = mail(*range(1, uid + 1))
        one.rig.round()
        one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.other.held["a"] = one.core.causal.held["a"]
    one.rig.round()
    one.hear()
    assert one.answers == [Ok(acks=1)]


def test_without_another_node_it_is_told_at_once() -> None:
    one = Delivered(has_other=False)
    one.rig.gates.seen(GUID, BROUGHT, one.rig.now)
    one.wait()
    one.settle()
    assert one.answers == [Ok(acks=0)] and one.rig.notices[-1] == Notice("single_copy", "a:1")


def test_what_takes_too_long_is_told_all_the_same() -> None:
    one = Delivered()
    one.rig.gates.seen(GUID, READS, one.rig.now)
    one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.rig.round()
    one.rig.round()
    one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.wait()
    for _ in range(49):
        one.rig.now += 0.1
        one.rig.round(GateResult(is_busy=True))
    one.hear()
    assert one.answers == [] and one.rig.node.next_deadline(one.rig.now) <= one.rig.now + 0.2
    one.rig.now += 0.2
    one.rig.round(GateResult(is_busy=True))
    one.hear()
    assert one.answers == [Ok(acks=0)] and Notice("single_copy", "a:1") in one.rig.notices


def test_a_folder_that_the_delivery_made_is_looked_at_too() -> None:
    one = Delivered()
    folders = one.rig.node.folders
    assert folders is not None
    folders.worked(done([MakeBox("alice", GUID, "INBOX", 7, 1)]), one.rig.now)
    for order in folders.orders((), one.rig.now):
        folders.done(order, FolderResult(FoundFolders((FoundFolder("INBOX", GUID),), frozenset())), one.rig.now)
    one.mark = one.rig.gates.news
    folders.seen("alice", one.rig.now)
    one.wait()
    one.other_has_all()
    assert one.answers == []
    [order] = folders.orders((), one.rig.now)
    found = FoundFolders((FoundFolder("INBOX", GUID), FoundFolder("Work", WORK, 7, has_mail=True)), frozenset())
    folders.done(order, FolderResult(found), one.rig.now)
    one.rig.found = FoundBox((), unlisted=1)
    one.rig.node.tick(one.rig.now)
    one.rig.round()
    one.other.held["a"] = one.core.causal.held["a"]
    one.rig.round()
    one.hear()
    assert one.answers == [], "the mail in it has no UID yet"
    one.rig.found = mail(1)
    one.settle()
    one.other_has_all()
    assert one.answers == [Ok(acks=1)]
    assert [row.guid for row in one.core.rows.messages(WORK)] == ["G1"]


def listed(one: Delivered, *users: str) -> None:
    """The folders of these are known, and listed."""
    folders = one.rig.node.folders
    assert folders is not None
    for user in users:
        folders.worked(done([MakeBox(user, GUID, "INBOX", 7, 1)]), one.rig.now)
    found = FoundFolders((FoundFolder("INBOX", GUID),), frozenset())
    for order in folders.orders((), one.rig.now):
        folders.done(order, FolderResult(found), one.rig.now)


@pytest.mark.parametrize("recipient", ["alice", "Alice+lists@example.org", "somebody"])
def test_mailboxes_that_are_not_watched_are_looked_at(recipient: str) -> None:
    one = Delivered()
    listed(one, "alice")
    one.mark = one.rig.gates.news
    one.rig.gates.unwatched(Blind([GUID], ["alice"]))
    one.rig.found = FoundBox((), unlisted=1)
    one.wait(recipient)
    assert one.rig.node.folders is not None and one.rig.node.folders.unlisted(one.mark) == {"alice"}
    listed(one)
    one.other_has_all()
    assert one.answers == [] and one.rig.messages() == {}, "it has no UID yet"
    one.rig.found = mail(1)
    one.rig.gates.seen(GUID, RELEASED, one.rig.now)
    one.settle()
    one.other_has_all()
    assert one.answers == [Ok(acks=1)] and one.rig.messages() == {1: "G1"}


def test_of_those_of_others_nothing_is_waited_for() -> None:
    one = Delivered()
    listed(one, "alice", "bob")
    one.mark = one.rig.gates.news
    one.rig.gates.unwatched(Blind([GUID], ["alice"]))
    one.wait("bob@example.org")
    one.other_has_all()
    assert one.answers == [Ok(acks=1)]
    assert users_of("Bob+x@example.org") >= {"bob", "Bob+x", "bob@example.org", "Bob@example.org"}
    assert users_of("bob") == {"bob"}
