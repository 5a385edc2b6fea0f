"""Folders as a Dovecot has them, against the rows: what is missing may be an accident."""

from __future__ import annotations

from collections.abc import Iterable

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.compare import FoundBox
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.excluded import Excluded
from pyrepl.mailbox.folders import LOOK_AGAIN_S, RETRY_S, FolderOrder, FolderResult, Folders, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import GateResult, GateState
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.members import Member, Members
from pyrepl.mailbox.node import Node, NodeOptions
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import Ended, MakeBox, Outcome, RemoveBox, RenameBox, Result, SubscribeBox, Work
from pyrepl.mailbox.verbs import Create, Delete, Op, Rename, Save, Subscribe, Unsubscribe
from pyrepl.mailbox.words import APART, Box, Token
from tests.simulation.mailbox.memory_rows import MemoryRows
from tests.unit.mailbox.gate_rig import done

INBOX, WORK, NEW, OTHER = (str(digit) * 32 for digit in range(1, 5))
GUARD = 3


class Rig:
    """A node alone with INBOX and Work, and what its store lists."""

    def __init__(self) -> None:
        self.now = 0.0
        self.rows = MemoryRows()
        self.node = Node("a", Members((Member("a"),)), self.rows, 0.0, NodeOptions(expunge_guard=GUARD))
        self.there = {INBOX: FoundFolder("INBOX", INBOX), WORK: FoundFolder("Work", WORK)}
        self.lsub: set[str] = set()
        for guid, found in self.there.items():
            self.node.core.do([Create(user="alice", box=Box(found.name), id=guid, uidvalidity=7)])
        self.folders.worked(done(self.works()), self.now)
        self.look()
        self.first_op = self.count()

    @property
    def core(self) -> Core:
        return self.node.core

    @property
    def folders(self) -> Folders:
        assert self.node.folders is not None
        return self.node.folders

    def works(self) -> list[Work]:
        return [*self.core.works(), *self.core.removals()]

    def count(self) -> int:
        return self.core.causal.held.get("a", 0)

    def orders(self, *standing: str) -> list[FolderOrder]:
        return self.folders.orders(standing, self.now)

    def look(self, result: FolderResult | None = None) -> None:
        """What is there is listed, until nothing is to be."""
        for _ in range(3):
            for order in self.orders():
                found = FolderResult(FoundFolders(tuple(self.there.values()), frozenset(self.lsub)))
                self.folders.done(order, result or found, self.now)
            self.now += LOOK_AGAIN_S

    def see(self, *there: FoundFolder, without: Iterable[str] = ()) -> list[Op]:
        """These are there, and others not any more; the ops that follow."""
        self.there |= {each.box: each for each in there}
        self.there = {box: each for box, each in self.there.items() if box not in without}
        before = self.count()
        self.folders.seen("alice", self.now)
        self.look()
        return self.rows.ops("a", before, 100)

    def save(self, box: str, *uids: int) -> None:
        for uid in uids:
            self.core.do(
                [
                    Save(
                        user="alice",
                        box=Box(box, True),
                        uid=uid,
                        guid=f"G{uid}",
                        token=Token(1, APART),
                        size=1,
                        received=1,
                    )
                ]
            )
        self.works()

    def names(self) -> set[str]:
        return {name for name, _ in view(self.rows, "alice").values()}


def test_a_mailbox_that_appears_is_created_and_its_name_followed() -> None:
    rig = Rig()
    assert [type(op) for op in rig.see(FoundFolder("Sent", NEW, 9))] == [Create]
    box = rig.rows.box(NEW)
    assert box is not None and (box.name, box.uidvalidity) == ("Sent", 9)
    assert rig.works() == [MakeBox("alice", NEW, "Sent", 9, 1)], "which gives it a gate"
    assert [type(op) for op in rig.see(FoundFolder("Old/Sent", NEW, 9))] == [Rename]
    assert rig.names() == {"INBOX", "Work", "Old/Sent"} and rig.see() == []
    assert rig.works() == [RenameBox("alice", NEW, "Old/Sent")], "by which the gate follows"


def test_a_name_that_no_node_could_read_stays_here() -> None:
    rig, name = Rig(), "/".join(["x" * 240] * 5)
    assert rig.see(FoundFolder(name, NEW, 9)) == [] and rig.names() == {"INBOX", "Work"}
    assert rig.see(FoundFolder(name, WORK)) == [] and rig.names() == {"INBOX", "Work"}
    assert {notice.name for notice in rig.core.notices()} == {"change_unsayable"}


def test_one_that_is_missing_is_looked_for_twice() -> None:
    rig = Rig()
    del rig.there[WORK]
    rig.folders.seen("alice", rig.now)
    [order] = rig.orders()
    rig.folders.done(order, FolderResult(FoundFolders(tuple(rig.there.values()), frozenset())), rig.now)
    assert rig.folders.is_missing(WORK) and not rig.folders.is_missing(INBOX) and not rig.folders.is_missing(OTHER)
    rig.folders.seen("alice", rig.now)
    assert rig.orders() == [] and rig.folders.next_deadline() == rig.now + LOOK_AGAIN_S
    rig.there[WORK] = FoundFolder("Work", WORK)
    assert rig.see() == [] and rig.names() == {"INBOX", "Work"}
    assert [type(op) for op in rig.see(without=[WORK])] == [Delete]
    assert rig.names() == {"INBOX"} and rig.works() == [RemoveBox("alice", WORK)]


def test_mail_that_its_deleter_did_not_see_brings_a_mailbox_back() -> None:
    rig = Rig()
    rig.save(WORK, 1, 2)
    row = rig.rows.message(WORK, "G2")
    assert row is not None
    rig.rows.put_message(row._replace(uid=UNPLACED))
    assert [type(op) for op in rig.see(without=[WORK])] == [Delete]
    assert rig.names() == {"INBOX", "Work"} and [each.guid for each in rig.rows.messages(WORK)] == ["G2"]
    assert MakeBox("alice", WORK, "Work", 7, 3) in rig.works()


def test_without_inbox_nothing_counts_as_deleted() -> None:
    rig = Rig()
    assert rig.see(FoundFolder("INBOX", NEW, 9), without=[INBOX, WORK]) == []
    assert rig.core.notices() == [Notice("folders_guard", "alice 2")]
    assert rig.see() == [] and rig.core.notices() == [], "it is told once"


def test_much_mail_at_once_does_not_count_as_deleted() -> None:
    rig = Rig()
    rig.save(WORK, *range(1, GUARD + 2))
    assert rig.see(without=[WORK]) == [] and rig.core.notices() == [Notice("folders_guard", "alice 1")]
    rig.folders.allow(INBOX, rig.now)
    assert rig.see() == [], "it is there"
    rig.save(INBOX, *range(11, 16 + GUARD))
    assert [type(op) for op in rig.see()] == [Delete], "it is less than half of the user's"


def test_what_else_is_done_meanwhile_is_so_on_all_nodes() -> None:
    """A folder that is made while another one counts as missing has mail as well."""
    rig = Rig()
    rig.save(WORK, *range(1, GUARD + 2))
    assert rig.see(without=[WORK]) == []
    assert [type(op) for op in rig.see(FoundFolder("New", NEW, 9))] == [Create]
    assert rig.names() == {"INBOX", "Work", "New"}
    rig.folders.allow(WORK, rig.now)
    rig.look()
    assert rig.names() == {"INBOX", "New"}


def test_an_operator_says_that_much_mail_was_deleted() -> None:
    rig = Rig()
    rig.save(WORK, *range(1, GUARD + 2))
    assert rig.see(without=[WORK]) == []
    rig.folders.allow(WORK, rig.now)
    rig.look()
    assert rig.names() == {"INBOX"}


def test_what_cannot_be_listed_says_nothing() -> None:
    rig = Rig()
    rig.folders.seen("alice", rig.now)
    rig.look(FolderResult(why="no disk"))
    assert rig.core.notices() == [Notice("folders_failed", "alice: no disk")]
    rig.folders.seen("alice", rig.now)
    assert rig.orders() == []
    rig.now += RETRY_S
    assert rig.orders("alice") == [], "works are owed"
    rig.now += RETRY_S
    assert rig.orders() == [FolderOrder("alice", frozenset({INBOX, WORK}), ((INBOX, "INBOX"), (WORK, "Work")))]


def test_what_was_listed_while_mailboxes_were_changed_says_nothing() -> None:
    rig = Rig()
    rig.folders.seen("alice", rig.now)
    rig.look(FolderResult(is_busy=True))
    assert rig.core.notices() == [] and rig.orders() == [] and rig.folders.is_busy("alice")
    rig.now += RETRY_S
    assert len(rig.orders()) == 1


def test_folders_are_compared_with_the_mailboxes_of_when_they_were_listed() -> None:
    """As when MAILBOX RENEW goes on in between, whose mailbox has the name of the old one from then on."""
    rig = Rig()
    twin = FoundFolder("Work (2)", NEW)
    rig.core.do([Create(user="alice", box=Box("Work"), id=NEW, uidvalidity=9)])
    rig.works()
    rig.there[NEW] = twin
    rig.folders.seen("alice", rig.now)
    [order] = rig.orders()
    rig.core.do([Delete(user="alice", box=Box(WORK, True), known=rig.core.journal.vector())])
    before = rig.count()
    rig.folders.done(order, FolderResult(FoundFolders(tuple(rig.there.values()), frozenset())), rig.now)
    assert rig.count() == before and rig.names() == {"INBOX", "Work"}, "nobody has renamed it to Work (2)"
    assert RenameBox("alice", NEW, "Work") in rig.works()
    assert rig.see(twin._replace(name="Work"), without=[WORK]) == [], "it is listed again when the works are done"


def test_a_folder_that_no_mailbox_can_have_is_told_once() -> None:
    rig = Rig()

    def see(*unnamed: str) -> list[Notice]:
        rig.folders.seen("alice", rig.now)
        rig.look(FolderResult(FoundFolders(tuple(rig.there.values()), frozenset(), unnamed)))
        return rig.core.notices()

    assert see("/mail/.INBOX") == [Notice("folder_unnamed", "alice /mail/.INBOX")] and see("/mail/.INBOX") == []
    assert see() == [] and len(see("/mail/.INBOX", "/mail/.x..y")) == 2 and rig.count() == rig.first_op


def test_a_folder_with_the_guid_of_another_mailbox_is_told_once_be_it_of_another_user() -> None:
    rig = Rig()
    rig.core.do([Create(user="bob", box=Box("Work"), id=NEW, uidvalidity=9)])
    rig.works()
    before = rig.count()

    def see(*copied: str) -> list[Notice]:
        rig.folders.seen("alice", rig.now)
        rig.look(FolderResult(FoundFolders(tuple(rig.there.values()), frozenset(), (), copied)))
        return rig.core.notices()

    assert see("/mail/.Copy") == [Notice("folder_copied", "alice /mail/.Copy")] and see("/mail/.Copy") == []
    rig.there[NEW] = FoundFolder("Play", NEW, 9, has_mail=True)
    assert see("/mail/.Copy") == [Notice("folder_of_other", "alice Play of bob")] and see("/mail/.Copy") == []
    assert rig.count() == before, "it is left alone"


def test_a_name_that_the_store_cannot_have_is_no_rename() -> None:
    """A node with another layout made it: here its folder is called otherwise, and for all others it keeps its name."""
    rig = Rig()
    rig.folders._layout = LAYOUTS["maildir++"]  # type: ignore[misc]
    rig.core.do([Create(user="alice", box=Box("v1.2"), id=NEW, uidvalidity=9)])
    rig.folders.worked(done(rig.works()), rig.now)
    stored, before = FoundFolder("v1_2 (33333333)", NEW, 9), rig.count()
    assert rig.see(stored) == [] and rig.see(stored._replace(name="v1_2", is_aside=True)) == []
    rig.lsub = {stored.name}
    [subscribed] = rig.see(stored)
    assert isinstance(subscribed, Subscribe) and view(rig.rows, "alice")[NEW] == ("v1.2", True)
    assert rig.see(stored) == [] and rig.count() == before + 1
    rig.lsub = set()
    renamed = rig.see(FoundFolder("Play", NEW, 9))
    assert any(isinstance(op, Rename) and op.to == Box("Play") for op in renamed)


def test_mail_in_a_deleted_mailbox_is_compared() -> None:
    rig = Rig()
    rig.core.do([Delete(user="alice", box=Box(WORK, True), known=rig.core.journal.vector())])
    gates = rig.node.gates
    assert gates is not None
    gates.worked(done([work for work in rig.core.removals() if isinstance(work, RemoveBox)]), rig.now)
    assert gates.state(WORK) is None
    assert rig.see(FoundFolder("Work", WORK, 7, has_mail=True)) == [] and gates.state(WORK) is GateState.LOOSE
    rig.see(FoundFolder("Work", WORK, 7))
    assert rig.works() == [RemoveBox("alice", WORK)], "an empty one goes"


def test_masterships_wait_for_mail_in_a_mailbox_that_was_deleted_before_the_start() -> None:
    """A Dovecot gave it UIDs that nobody else knows."""
    rig = Rig()
    rig.core.do([Delete(user="alice", box=Box(WORK, True), known=rig.core.journal.vector())])
    rig.node = Node("a", Members((Member("a"),)), rig.rows, rig.now, NodeOptions(expunge_guard=GUARD))
    gates = rig.node.gates
    assert gates is not None and not rig.folders.is_all_listed() and not rig.node.mastering.may_clear()
    rig.see(FoundFolder("Work", WORK, 7, has_mail=True))
    assert rig.folders.is_all_listed() and not rig.node.mastering.may_clear()
    gates.tick(rig.now)
    for order in gates.orders((), rig.now):
        gates.done(order, GateResult(FoundBox(())), rig.now)
    assert rig.node.mastering.may_clear()


def test_folders_are_listed_again_when_one_that_was_to_go_holds_mail() -> None:
    rig = Rig()
    rig.folders.worked(done([RemoveBox("alice", WORK)]), rig.now)
    assert rig.orders() == []
    rig.folders.worked([Ended(RemoveBox("alice", WORK), Result(Outcome.HAS_MAIL))], rig.now)
    assert [order.user for order in rig.orders()] == ["alice"]


def test_one_that_was_deleted_and_stayed_for_its_mail_goes_with_its_folder() -> None:
    rig = Rig()
    rig.core.do([Delete(user="alice", box=Box(WORK, True), known=rig.core.journal.vector())])
    gates, removals = rig.node.gates, rig.core.removals()
    assert gates is not None and removals == [RemoveBox("alice", WORK)]
    rig.folders.worked([Ended(removals[0], Result(Outcome.HAS_MAIL))], rig.now)
    rig.see(FoundFolder("Work", WORK, 7, has_mail=True))
    assert rig.works() == [] and gates.state(WORK) is not None
    rig.see(without=[WORK])
    assert RemoveBox("alice", WORK) in rig.works(), "or its gate would be tried for ever"


def test_a_mailbox_that_both_made_is_one_if_one_is_empty() -> None:
    rig = Rig()
    assert rig.see(FoundFolder("Work", NEW, 9, is_aside=True)) == [] and rig.works() == [RemoveBox("alice", NEW)]
    ops = rig.see(FoundFolder("Work", OTHER, 9, has_mail=True, is_aside=True))
    assert [type(op) for op in ops] == [Create] and rig.names() == {"INBOX", "Work", "Work (2)"}
    assert [type(op) for op in rig.see(FoundFolder("Work (2)", OTHER, 9))] == [Delete] and len(rig.names()) == 2


def test_subscriptions_are_followed_and_go_along_with_a_rename() -> None:
    rig = Rig()
    rig.lsub = {"Work", "no such"}
    assert [type(op) for op in rig.see()] == [Subscribe]
    rig.works()
    assert [type(op) for op in rig.see(FoundFolder("Play", WORK))] == [Rename]
    assert SubscribeBox("alice", WORK, "Play", True) in rig.works()
    rig.lsub = set()
    assert [type(op) for op in rig.see()] == [Unsubscribe]


def test_users_of_before_are_listed_at_the_start() -> None:
    rig = Rig()
    node = Node("a", Members((Member("a"),)), rig.rows, 0.0, NodeOptions(expunge_guard=GUARD))
    assert node.folders is not None and node.folders.orders((), 0.0) == [
        FolderOrder("alice", frozenset({INBOX, WORK}), ((INBOX, "INBOX"), (WORK, "Work")))
    ]
    assert node.folders.orders((), 0.0) == [], "until it is done"


def test_a_user_joins_with_the_folders_that_are_there() -> None:
    rig = Rig()
    heard: list[str] = []
    rig.folders.join("bob", rig.now, heard.append)
    [order] = rig.orders()
    assert order == FolderOrder("bob", frozenset())
    found = (FoundFolder("INBOX", NEW, 9, has_mail=True), FoundFolder("Old", OTHER, 8))
    rig.folders.done(order, FolderResult(FoundFolders(found, frozenset({"Old"}))), rig.now)
    assert view(rig.rows, "bob") == {NEW: ("INBOX", False), OTHER: ("Old", True)} and heard == [""]
    box = rig.rows.box(NEW)
    assert box is not None and box.uidvalidity == 9


def test_a_user_without_folders_is_forgotten_again() -> None:
    rig = Rig()
    heard: list[str] = []
    rig.folders.join("bob", rig.now, heard.append)
    [order] = rig.orders()
    rig.folders.done(order, FolderResult(is_busy=True), rig.now)
    assert heard == []
    rig.now += RETRY_S
    [order] = rig.orders()
    rig.folders.done(order, FolderResult(why="bob has no cur"), rig.now)
    assert rig.core.notices()[-1] == Notice("join_failed", "bob: bob has no cur") and heard == ["bob has no cur"]
    rig.now += 10 * RETRY_S
    assert "bob" not in {each.user for each in rig.orders()}


def test_a_folder_that_is_left_out_is_none_of_ours() -> None:
    rig = Rig()
    rig.folders._excluded = Excluded(["*/New"])  # type: ignore[misc]
    assert rig.see(FoundFolder("New", NEW, 9, has_mail=True), FoundFolder("Work/New", OTHER, 9)) == rig.rows.ops(
        "a", rig.count() - 1, 1
    )
    assert set(view(rig.rows, "alice")) == {INBOX, WORK, OTHER} and rig.works()[0] == MakeBox(
        "alice", OTHER, "Work/New", 9, 1
    )
