"""What observers are told of ops, in the words of a node that has just applied them."""

from __future__ import annotations

from typing import Any

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.told import Row, told
from pyrepl.mailbox.verbs import (
    Copy,
    Create,
    Delete,
    Expunge,
    Modseqs,
    Op,
    Rename,
    Renumber,
    Save,
    Store,
    Subscribe,
)
from pyrepl.mailbox.words import APART, Box, Dot, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows

ONE, TWO = Box("1" * 32, True), Box("2" * 32, True)


def create(box: Box, name: str) -> Create:
    return Create(user="alice", box=Box(name), id=box.text, uidvalidity=5, stamp=Stamp(1, "a"))


def save(uid: int, guid: str) -> Save:
    return Save(user="alice", box=ONE, uid=uid, guid=guid, size=4, received=7, token=Token(1, 0))


def rows_of(*ops: Op) -> list[Row]:
    """The rows of the last op, after those before it."""
    core = Core("a", MemoryRows(), ())
    for op in ops[:-1]:
        core.do([op], "drop" if isinstance(op, Save) else "")
    core.listened = []
    core.do([ops[-1]], "drop" if isinstance(ops[-1], Save) else "")
    return list(told(core.rows, core.take_listened()))


BEFORE = (create(ONE, "INBOX"), create(TWO, "Work"), save(1, "G1"), save(4, "G2"))


def test_each_op_has_its_row() -> None:
    in_one: dict[str, Any] = {"user": "alice", "box": ONE}
    assert rows_of(*BEFORE[:1]) == [["create", "alice", "INBOX", ONE.text]]
    assert rows_of(*BEFORE) == [["save", "alice", "INBOX", 4, "G2"]]
    assert rows_of(*BEFORE, Store(**in_one, guids=("G1", "G2"), add=("\\Seen",), remove=("x",))) == [
        ["store", "alice", "INBOX", [1, 4], ["G1", "G2"], ["\\Seen"], ["x"]]
    ]
    copy = Copy(**in_one, to=TWO, touids=((9, 9),), guids=("G2",), token=Token(1, 0))
    assert rows_of(*BEFORE, copy) == [["copy", "alice", "Work", [9], ["G2"], "INBOX"]]
    gone = Expunge(**in_one, guids=("G1",), kills=(Dot("a", 3),))
    assert rows_of(*BEFORE, gone) == [["expunge", "alice", "INBOX", [1], ["G1"]]]
    moved = Renumber(**in_one, to=((7, 7),), guids=("G1",), token=Token(2, 0))
    assert rows_of(*BEFORE, moved) == [["renumber", "alice", "INBOX", [7], ["G1"]]]
    assert rows_of(*BEFORE, Modseqs(**in_one, modseq=90)) == [["modseq", "alice", "INBOX", 90]]


def test_a_mailbox_is_called_as_clients_see_it_and_as_it_was_called_last() -> None:
    in_two: dict[str, Any] = {"user": "alice", "box": TWO}
    assert rows_of(*BEFORE, Subscribe(**in_two, stamp=Stamp(9, "a"))) == [["subscribe", "alice", "Work", TWO.text]]
    renamed = Rename(**in_two, to=Box("Old/Work"), stamp=Stamp(9, "a"))
    assert rows_of(*BEFORE, renamed) == [["rename", "alice", "Old/Work", TWO.text]]
    assert rows_of(*BEFORE, Delete(**in_two, stamp=Stamp(9, "a"))) == [["delete", "alice", "Work", TWO.text]]
    assert rows_of(*BEFORE[:1], create(TWO, "INBOX")) == [["create", "alice", "INBOX (2)", TWO.text]]


def test_a_message_without_a_uid_says_so() -> None:
    assert rows_of(*BEFORE, save(2, "G3").replaced(token=Token(1, APART))) == [["save", "alice", "INBOX", 0, "G3"]]


def test_who_does_not_listen_costs_nothing() -> None:
    core = Core("a", MemoryRows(), ())
    core.do([BEFORE[0]])
    assert core.take_listened() == []
