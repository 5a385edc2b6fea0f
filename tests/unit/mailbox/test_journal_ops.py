"""Ops get their dots, modseqs, and what they wait for."""

from __future__ import annotations

import pytest

from pyrepl.mailbox.causal import Causal
from pyrepl.mailbox.journal_ops import Journal, by_guid
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.sayable import UnsayableOp
from pyrepl.mailbox.verbs import Copy, Save, Store
from pyrepl.mailbox.words import Box, Dot, Stamp, Token
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


def test_an_op_waits_for_what_rows_that_came_by_state_may_show() -> None:
    mine = journal({"a": 3, "b": 9})
    mine.rows.put_message(MessageRow(ONE.guid, "G1", 1, Token(1, 0), (Dot("b", 12),), 4, 7, modseq=40))
    mine.reaches([Dot("b", 12), Dot("b", 11), Dot("c", 1), Dot("a", 2)])
    assert mine.rows.ahead() == mine.ahead == {"b": 12, "c": 1}
    assert mine.vector() == (Dot("a", 3), Dot("b", 9)) and mine.seen() == (Dot("a", 3), Dot("b", 12), Dot("c", 1))
    made = mine.made(Store(user="alice", box=by_guid(ONE), guids=("G1",)))
    assert (made.after, made.modseq) == ((Dot("b", 12), Dot("c", 1)), 41), "above the flags that it shows"
    mine.causal.add(made)
    mine.causal.applied(made)
    again = mine.made(Store(user="alice", box=by_guid(ONE), guids=("G1",)))
    assert again.after == made.after, "who jumps over the first, and lacks what is ahead here, waits for it"
    mine.causal.held.update(b=12, c=1)
    assert mine.made(Store(user="alice", box=by_guid(ONE), guids=("G1",))).after == ()
    assert mine.seen() == (Dot("a", 4), Dot("b", 12), Dot("c", 1)) and mine.ahead == {}
    assert Journal(mine.rows, Causal({"b": 11}), "a").ahead == {"b": 12, "c": 1}, "a restart knows it still"


def test_an_op_that_nobody_could_read_is_not_made() -> None:
    mine = journal({"a": 3, "b": 9})
    with pytest.raises(UnsayableOp, match="received"):
        mine.made(Save(user="alice", box=by_guid(ONE), guid="G1", size=1, received=-1800))
    made = mine.made(Store(user="alice", box=by_guid(ONE), guids=("G1",)))
    assert (made.at, made.after) == (Dot("a", 4), (Dot("b", 9),)), "and nothing is changed by it"
