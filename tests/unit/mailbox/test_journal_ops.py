"""Ops get their dots, modseqs, and what they wait for."""

from __future__ import annotations

from pyrepl.mailbox.causal import Causal
from pyrepl.mailbox.journal_ops import Journal, by_guid
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.verbs import Copy, Store
from pyrepl.mailbox.words import Box, Dot, Stamp
from tests.simulation.mailbox.memory_rows import MemoryRows

ONE = BoxRow("1" * 32, "alice", "INBOX", Stamp(4, "b"), 5, highest=7)
TWO = BoxRow("2" * 32, "alice", "Work", Stamp(2, "a"), 5, highest=3)


def journal(held: dict[str, int]) -> Journal:
    rows = MemoryRows()
    rows.put_box(ONE)
    rows.put_box(TWO)
    return Journal(rows, Causal(held), "a")


def test_an_op_waits_for_what_is_new_since_the_one_before() -> None:
    mine = journal({"a": 3, "b": 9})
    store = Store(user="alice", box=by_guid(ONE), guids=("G1",))
    first = mine.made(store)
    assert (first.at, first.after, first.modseq) == (Dot("a", 4), (Dot("b", 9),), 8)
    mine.causal.add(first)
    mine.causal.applied(first)
    mine.causal.held["c"] = 1
    second = mine.made(store, 20)
    assert (second.at, second.after, second.modseq) == (Dot("a", 5), (Dot("c", 1),), 20)
    assert mine.vector() == (Dot("a", 4), Dot("b", 9), Dot("c", 1))


def test_a_copy_is_numbered_in_its_target() -> None:
    made = journal({}).made(Copy(user="alice", box=by_guid(ONE), to=by_guid(TWO)))
    assert made.modseq == 4


def test_stamps_and_guids_are_new() -> None:
    mine = journal({"a": 3})
    assert mine.next_stamp("alice") == Stamp(5, "a")
    guid = mine.new_box_guid("alice", "New")
    assert len(guid) == 32 and guid != mine.new_box_guid("alice", "Other") and by_guid(ONE) == Box(ONE.guid, True)
