"""What a crash left between store and rows."""

from __future__ import annotations

from pyrepl.mailbox.recovery import works_at_start
from pyrepl.mailbox.rows import BoxRow, GoneRow, MessageRow
from pyrepl.mailbox.store import MakeBox, RemoveBox, RemoveMessage, RenameBox, SetFlags, Stored, StoredBox, SubscribeBox
from pyrepl.mailbox.words import Dot, Register, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows


def rows() -> MemoryRows:
    made = MemoryRows()
    made.put_box(BoxRow("g1", "alice", "INBOX", Stamp(1, "a"), 5, uidnext=3))
    flags = (Register("\\Seen", True, Stamp(1, "a")),)
    made.put_message(MessageRow("g1", "G1", 1, Token(1, 0), (Dot("a", 1),), 1, 1, flags))
    made.put_gone(GoneRow("g1", 2, "G2", (Dot("b", 1),), 1))
    return made


def test_the_store_becomes_what_the_rows_say() -> None:
    there = StoredBox("Old", False, {"G1": Stored(1, ()), "G2": Stored(2, (), Dot("b", 1))})
    found = works_at_start(rows(), "alice", "a", {"g1": there, "g9": StoredBox("Gone", False, {})})
    assert found.passed == {}
    assert found.works == [
        RemoveBox("alice", "g9"),
        RenameBox("alice", "g1", "INBOX"),
        SubscribeBox("alice", "g1", "INBOX", False),
        SetFlags("alice", "g1", "G1", ("\\Seen",)),
        RemoveMessage("alice", "g1", "G2"),
    ]


def test_an_op_of_our_own_that_nobody_was_told_of_never_was() -> None:
    messages = {"G1": Stored(1, ("\\Seen",)), "G7": Stored(7, (), Dot("a", 9)), "G8": Stored(8, (), Dot("b", 9))}
    found = works_at_start(rows(), "alice", "a", {"g1": StoredBox("INBOX", False, messages)})
    assert found.works == [RemoveMessage("alice", "g1", "G7")], "b's op comes again, and finds its message there"
    assert found.passed == {"g1": 7}, "clients may have seen the UID"


def test_a_mailbox_that_is_missing_is_made() -> None:
    found = works_at_start(rows(), "alice", "a", {})
    assert found.works[0] == MakeBox("alice", "g1", "INBOX", 5, 3)
