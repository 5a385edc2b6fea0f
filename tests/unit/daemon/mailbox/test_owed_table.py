"""Owed works: kept in order, by user, until they are done."""

from __future__ import annotations

from pathlib import Path

from pyrepl.daemon.mailbox.owed_table import Owed
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    MoveMessage,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot

WORKS: list[Work] = [
    MakeBox("alice", "g1", "INBOX", 7, 1),
    RenameBox("alice", "g1", "Grüße"),
    SubscribeBox("alice", "g1", "Old", True),
    RaiseNext("alice", "g1", 9),
    AddMessage("alice", "g1", "G1", 57, ("\\Seen", "work"), 1795333408, 1204, "a.901.G1", Dot("a", 901)),
    AddMessage("alice", "g1", "G2", 58, (), 1795333408, 1204, ""),
    SetFlags("alice", "g1", "G1", ("\\Seen",)),
    MoveMessage("alice", "g1", "G1", 60, ()),
    RemoveMessage("alice", "g1", "G1"),
    RemoveBox("alice", "g1"),
]


def opened(folder: Path) -> SqliteRows:
    return SqliteRows(folder / "mailbox.db", 1 << 20, lambda: 1000.0)


def test_works_come_back_as_they_were_and_in_order(tmp_path: Path) -> None:
    rows = opened(tmp_path)
    for work in WORKS:
        rows.put_owed(work)
    rows.put_owed(RemoveBox("bob", "g2"))
    rows.commit()
    rows.close()
    rows = opened(tmp_path)
    found = rows.owed("alice", 100)
    assert [each.work for each in found] == WORKS
    assert rows.owed_texts() == {"a.901.G1"} and rows.owing() == {"alice": len(WORKS), "bob": 1}
    rows.drop_owed("alice", found[7].place)
    assert [each.work for each in rows.owed("alice", 1)] == [RemoveMessage("alice", "g1", "G1")]
    rows.drop_owed("alice", found[-1].place)
    assert rows.owed("alice", 1) == [] and rows.owing() == {"bob": 1}
    rows.close()


def test_what_was_not_committed_is_forgotten(tmp_path: Path) -> None:
    rows = opened(tmp_path)
    rows.put_owed(WORKS[0])
    assert rows.owed("alice", 1) == [Owed(1, WORKS[0])]
    rows.close()
    rows = opened(tmp_path)
    assert rows.owing() == {}
    rows.close()
