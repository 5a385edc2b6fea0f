"""What a crash left between store and rows; an accident is no reason to remove mail."""

from __future__ import annotations

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.flag_changes import GUARD
from pyrepl.mailbox.recovery import works_at_start
from pyrepl.mailbox.rows import UNPLACED, BoxRow, GoneRow, MessageRow
from pyrepl.mailbox.sending import Notice
from pyrepl.mailbox.store import (
    MakeBox,
    MoveMessage,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
)
from pyrepl.mailbox.verbs import Renumber
from pyrepl.mailbox.words import Box, Dot, Register, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows


def rows() -> MemoryRows:
    made = MemoryRows()
    made.put_box(BoxRow("g1", "alice", "INBOX", Stamp(1, "a"), 5, uidnext=3))
    flags = (Register("\\Seen", True, Stamp(1, "a")),)
    made.put_message(MessageRow("g1", "G1", 1, Token(1, 0), (Dot("a", 1),), 1, 1, flags))
    made.put_gone(GoneRow("g1", 2, "G2", (Dot("b", 1),), 1))
    return made


def test_the_store_becomes_what_the_rows_say() -> None:
    there = StoredBox("Old", False, {"G1": Stored(1, ()), "G2": Stored(2, (), Dot("b", 1))}, unsure=None)
    made = rows()
    made.put_box(BoxRow("g8", "alice", "Gone", Stamp(1, "a"), 5, uidnext=3, deleted=True))
    made.put_gone(GoneRow("g8", 2, "G2", (Dot("b", 1),), 1))
    gone = StoredBox("Gone", False, {"G2": Stored(2, ())})
    found = works_at_start(made, "alice", "a", {"g1": there, "g8": gone, "g9": StoredBox("New", False, {}, True)})
    assert (found.passed, found.notices) == ({}, [])
    assert found.works == [
        RemoveBox("alice", "g8"),
        RemoveBox("alice", "g9"),
        RenameBox("alice", "g1", "INBOX"),
        SubscribeBox("alice", "g1", "INBOX", False),
        SetFlags("alice", "g1", "G1", ("\\Seen",), ()),
        RemoveMessage("alice", "g1", "G2"),
    ]


def test_what_a_client_flagged_beside_a_work_of_ours_stays() -> None:
    there = StoredBox("INBOX", False, {"G1": Stored(1, ("KW", "\\Flagged", "work"))}, unsure={"G1": frozenset({"kw"})})
    found = works_at_start(rows(), "alice", "a", {"g1": there})
    assert found.works == [SetFlags("alice", "g1", "G1", ("\\Flagged", "work"), ("KW", "\\Flagged", "work"))]
    [store] = found.stores
    assert (store.add, store.remove, store.guids) == (("\\Flagged", "work"), ("\\Seen",), ("G1",))
    sure = works_at_start(rows(), "alice", "a", {"g1": there._replace(unsure={"G2": None})})
    assert sure.works == [] and sure.stores[0].add == ("KW", "\\Flagged", "work")


def test_with_gates_folders_are_left_to_who_compares_them() -> None:
    made = rows()
    made.put_box(BoxRow("g2", "alice", "Work", Stamp(1, "a"), 5))
    made.put_box(BoxRow("g3", "alice", "Full", Stamp(1, "a"), 5))
    made.put_message(MessageRow("g3", "G1", 1, Token(1, 0), (Dot("a", 1),), 1, 1))
    there = StoredBox("Old", True, {"G1": Stored(1, ("\\Seen",)), "G7": Stored(7, ())})
    found = works_at_start(made, "alice", "a", {"g1": there}, has_gates=True)
    assert (found.works, found.notices) == ([], [])
    assert found.passed == {}, "a message that a Dovecot saved keeps its UID"


def test_an_op_of_our_own_that_nobody_was_told_of_never_was() -> None:
    messages = {"G1": Stored(1, ("\\Seen",)), "G7": Stored(7, (), Dot("a", 9)), "G8": Stored(8, (), Dot("b", 9))}
    found = works_at_start(rows(), "alice", "a", {"g1": StoredBox("INBOX", False, messages)})
    assert found.works == [RemoveMessage("alice", "g1", "G7")], "b's op comes again, and finds its message there"
    assert found.kept == {"g1": {"G8": messages["G8"]}}
    assert found.passed == {"g1": 7}, "clients may have seen the UID"
    assert found.floors == {"g1": 9}
    there = StoredBox("INBOX", False, messages, unsure={"G8": frozenset({"kw"})}, next_uid=12)
    assert works_at_start(rows(), "alice", "a", {"g1": there}).floors == {"g1": 12}, "one that had it may be aside"
    assert works_at_start(rows(), "alice", "a", {"g1": there}).passed == {"g1": 11}, "and ours, of which nobody tells"
    assert works_at_start(rows(), "alice", "a", {"g1": there}, has_gates=True).floors == {"g1": 9}
    kept = works_at_start(rows(), "alice", "a", {"g1": there}).kept["g1"]["G8"]
    assert kept == messages["G8"]._replace(is_unsure=True)


def test_a_mailbox_that_was_never_committed_stays_for_messages_whose_ops_come_again() -> None:
    messages = {"G7": Stored(7, (), Dot("a", 9)), "G8": Stored(8, (), Dot("b", 9))}
    found = works_at_start(MemoryRows(), "alice", "a", {"g9": StoredBox("New", False, messages, is_new=True)})
    assert (found.works, found.notices) == ([RemoveMessage("alice", "g9", "G7")], [])


def test_a_uid_that_a_deleted_mailbox_showed_when_it_lived_again_is_passed_over() -> None:
    made = rows()
    made.put_box(BoxRow("g8", "alice", "Gone", Stamp(1, "a"), 5, uidnext=7, deleted=True))
    there = StoredBox("Gone", False, {"G7": Stored(7, (), Dot("a", 9))})
    found = works_at_start(made, "alice", "a", {"g8": there})
    assert (found.works[0], found.passed) == (RemoveBox("alice", "g8"), {"g8": 7})


def test_beside_a_dovecot_what_was_expunged_goes_before_its_mailbox() -> None:
    """There a mailbox that holds mail is not removed."""
    made = rows()
    made.put_box(BoxRow("g8", "alice", "Gone", Stamp(1, "a"), 5, uidnext=7, deleted=True))
    made.put_gone(GoneRow("g8", 5, "G5", (Dot("b", 1),), 1))
    own, gone = Stored(7, (), Dot("a", 9)), Stored(5, ())
    there = StoredBox("Gone", False, {"G5": gone, "G7": own})
    found = works_at_start(made, "alice", "a", {"g8": there}, has_gates=True)
    removed = [RemoveMessage("alice", "g8", "G5"), RemoveMessage("alice", "g8", "G7")]
    assert found.works == [*removed, RemoveBox("alice", "g8")]
    unknown = there._replace(messages={"G5": gone, "G6": Stored(6, ())})
    found = works_at_start(made, "alice", "a", {"g8": unknown}, has_gates=True)
    assert found.works == removed[:1], "a client saved the other one"


def test_uids_that_the_store_has_given_out_are_passed_over() -> None:
    made = rows()
    made.put_box(BoxRow("g8", "alice", "Gone", Stamp(1, "a"), 5, uidnext=7, deleted=True))
    inbox = StoredBox("INBOX", False, {"G1": Stored(1, ("\\Seen",))}, next_uid=9)
    there = {"g1": inbox, "g8": StoredBox("Gone", False, {}, next_uid=8)}
    assert works_at_start(made, "alice", "a", there).passed == {"g1": 8, "g8": 7}
    comes_again = inbox._replace(messages={**inbox.messages, "G8": Stored(8, (), Dot("b", 9))})
    assert works_at_start(made, "alice", "a", {"g1": comes_again}).passed == {}, "its op says so"
    assert works_at_start(made, "alice", "a", there, has_gates=True).passed == {}


def test_a_number_that_a_crash_forgot_may_have_been_taken_by_another_op() -> None:
    made = rows()
    for seq in (1, 2):
        made.put_op(Renumber(user="alice", box=Box("g1", True), at=Dot("a", seq), to=((2, 2),), modseq=1))
        made.put_held(Dot("a", seq))
    messages = {"G1": Stored(1, ("\\Seen",)), "G7": Stored(7, (), Dot("a", 2))}
    found = works_at_start(made, "alice", "a", {"g1": StoredBox("INBOX", False, messages)})
    assert (found.works, found.notices) == ([RemoveMessage("alice", "g1", "G7")], [])


def test_a_text_of_our_own_has_no_ops_number_so_the_rows_tell_where_the_journal_does_not() -> None:
    made = rows()
    made.skip_to(Dot("a", 9))
    messages = {"G1": Stored(1, ("\\Seen",), Dot("a", 3)), "G7": Stored(7, (), Dot("a", 3))}
    found = works_at_start(made, "alice", "a", {"g1": StoredBox("INBOX", False, messages)})
    assert (found.works, found.notices) == ([RemoveMessage("alice", "g1", "G7")], []), "nobody was told of it"


def test_a_message_that_is_aside_gets_its_uid_or_another_if_clients_have_seen_that() -> None:
    there = StoredBox("INBOX", False, {"G1": Stored(0, ())}, next_uid=1)
    found = works_at_start(rows(), "alice", "a", {"g1": there})
    assert (found.works, found.aside) == ([MoveMessage("alice", "g1", "G1", 1, ("\\Seen",))], [])
    found = works_at_start(rows(), "alice", "a", {"g1": there._replace(next_uid=2)})
    assert (found.works, [row.guid for row in found.aside]) == ([], ["G1"])


def test_messages_that_the_store_has_moved_keep_what_clients_have_seen() -> None:
    core = Core("a", rows(), ("b",))
    inbox = "1" * 32
    core.rows.put_box(BoxRow(inbox, "alice", "INBOX", Stamp(1, "a"), 5, uidnext=3))
    core.rows.put_message(MessageRow(inbox, "G1", 1, Token(1, 0), (Dot("a", 1),), 1, 1))
    core.rows.put_message(MessageRow(inbox, "G0", 2, Token(1, 0), (Dot("a", 2),), 1, 1))
    core.rows.put_message(MessageRow(inbox, "G5", 4, Token(1, 0), (Dot("a", 3),), 1, 1))
    messages = {"G0": Stored(8, ()), "G1": Stored(7, ("\\Seen",)), "G5": Stored(0, ())}
    core.recover({"alice": {inbox: StoredBox("INBOX", False, messages, next_uid=9)}})
    assert {row.guid: row.uid for row in core.rows.messages(inbox)} == {"G0": 8, "G1": 7, "G5": UNPLACED}
    box = core.rows.box(inbox)
    assert box is not None and box.uidnext == 9 and core.unsettled == {inbox}


def test_mail_that_no_work_brought_stays() -> None:
    messages = {"G1": Stored(1, ("\\Seen",)), "G2": Stored(9, ()), "G7": Stored(7, ())}
    left = StoredBox("Left", False, {"G3": Stored(1, ()), "G4": Stored(2, (), Dot("a", 3))}, is_new=True)
    found = works_at_start(rows(), "alice", "a", {"g1": StoredBox("INBOX", False, messages), "g9": left})
    assert (found.works, found.passed) == ([], {"g1": 9})
    assert found.notices == [Notice("mailbox_unknown", "alice Left"), Notice("mail_unknown", "alice INBOX 2")]


def test_a_new_database_takes_nothing_from_full_maildirs() -> None:
    full = {"g1": StoredBox("INBOX", True, {"G1": Stored(1, ("\\Seen",))}), "g2": StoredBox("Empty", False, {})}
    found = works_at_start(MemoryRows(), "alice", "a", full)
    assert (found.works, found.passed) == ([], {})


def test_what_is_missing_is_told_and_neither_made_nor_expunged() -> None:
    made = rows()
    made.put_box(BoxRow("g2", "alice", "Empty", Stamp(1, "a"), 6, uidnext=4))
    found = works_at_start(made, "alice", "a", {})
    assert found.works == [MakeBox("alice", "g2", "Empty", 6, 4), SubscribeBox("alice", "g2", "Empty", False)]
    assert found.notices == [Notice("mailbox_missing", "alice INBOX")]
    found = works_at_start(rows(), "alice", "a", {"g1": StoredBox("INBOX", False, {})})
    assert (found.works, found.notices) == ([], [Notice("mail_missing", "alice INBOX 1")])


def test_what_mail_programs_did_to_flags_meanwhile_is_done_everywhere() -> None:
    messages = {"G1": Stored(1, ("\\Flagged", "work"))}
    found = works_at_start(rows(), "alice", "a", {"g1": StoredBox("INBOX", False, messages)})
    [store] = found.stores
    assert (store.guids, store.add, store.remove) == (("G1",), ("\\Flagged", "work"), ("\\Seen",))
    assert (found.works, found.notices) == ([], [])


def test_flags_that_very_many_messages_lost_are_an_accident() -> None:
    made = rows()
    flags = (Register("\\Seen", True, Stamp(1, "a")),)
    for uid in range(10, 10 + 2 * GUARD):
        made.put_message(MessageRow("g1", f"G{uid}", uid, Token(1, 0), (Dot("a", uid),), 1, 1, flags))
    messages = {row.guid: Stored(row.uid, ()) for row in made.messages("g1")}
    found = works_at_start(made, "alice", "a", {"g1": StoredBox("INBOX", False, messages)})
    assert (found.works, found.stores) == ([], [])
    assert found.notices == [Notice("flags_differ", f"alice INBOX {2 * GUARD + 1}")]
    assert found.doubts["g1"].by_message()["G10"] == ((), ("\\Seen",))


def test_a_message_that_our_work_moved_before_the_crash_moves_everywhere() -> None:
    moved = {"g1": StoredBox("INBOX", False, {"G1": Stored(7, ("\\Seen",))})}
    found = works_at_start(rows(), "alice", "a", moved)
    move = Renumber(user="alice", box=Box("g1", True), to=((7, 7),), guids=("G1",), token=Token(1, 0))
    assert (found.moves, found.passed, found.works) == ([move], {"g1": 7}, [])
    beside = works_at_start(rows(), "alice", "a", moved, has_gates=True)
    assert beside.moves == [], "who compares the mailbox finds it"
