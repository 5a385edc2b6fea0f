"""The list of mailboxes. Requirement L2: creates, deletes, renames, and a GUID that survives them."""

from __future__ import annotations

from pyrepl.mailbox.boxes import is_visible, shown_names, view, works_between
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.store import MakeBox, RemoveBox, RenameBox, SubscribeBox
from pyrepl.mailbox.words import Dot, Stamp, Token
from tests.simulation.mailbox.memory_rows import MemoryRows


def box(guid: str, name: str, created: int, node: str = "a") -> BoxRow:
    stamp = Stamp(created, node)
    return BoxRow(guid, "alice", name, stamp, 1, created_stamp=stamp)


def test_of_two_with_one_name_the_older_has_it() -> None:
    boxes = [box("g1", "Work", 2), box("g2", "Work", 1), box("g3", "Work (2)", 5), box("g4", "Work", 2)]
    names = {"g2": "Work", "g1": "Work (3)", "g4": "Work (4)", "g3": "Work (2)"}
    assert shown_names(boxes) == shown_names(boxes[::-1]) == names


def test_a_deleted_one_with_a_message_is_visible() -> None:
    rows = MemoryRows()
    rows.put_box(box("g1", "Work", 1)._replace(deleted=True))
    assert view(rows, "alice") == {}
    rows.put_message(MessageRow("g1", "G1", 1, Token(1, 0), (Dot("a", 1),), 1, 1))
    found = rows.box("g1")
    assert found is not None and is_visible(rows, found) and view(rows, "alice") == {"g1": ("Work", False)}


def test_works_follow_from_what_is_shown() -> None:
    rows = MemoryRows()
    rows.put_box(box("g1", "New", 1))
    before = {"g2": ("Old", False), "g3": ("Sent", True)}
    after = {"g1": ("New", True), "g3": ("Out", True)}
    assert works_between(rows, "alice", before, after) == [
        RemoveBox("alice", "g2"),
        MakeBox("alice", "g1", "New", 1, 1),
        SubscribeBox("alice", "g1", "New", True),
        RenameBox("alice", "g3", "Out"),
        SubscribeBox("alice", "g3", "Sent", False),
        SubscribeBox("alice", "g3", "Out", True),
    ]
