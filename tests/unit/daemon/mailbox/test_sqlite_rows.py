"""Rows in a file, as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.database import DatabaseError
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.rows import BoxRow, Rows
from pyrepl.mailbox.verbs import Unsubscribe
from pyrepl.mailbox.words import Box, Dot, Stamp


def test_they_are_what_the_machines_ask_for(rows: SqliteRows) -> None:
    asked: Rows = rows
    assert asked.held() == {}


def test_a_crash_forgets_all_puts_since_the_last_commit_together(tmp_path: Path) -> None:
    rows = SqliteRows(tmp_path / "db", 1000, lambda: 0.0)
    for seq in (1, 2):
        rows.put_op(Unsubscribe(user="alice", box=Box("INBOX"), at=Dot("a", seq)))
        rows.put_held(Dot("a", seq))
        rows.put_box(BoxRow("0" * 32, "alice", "INBOX", Stamp(seq, "a"), 1))
        if seq == 1:
            rows.commit()
    rows.close()
    rows = SqliteRows(tmp_path / "db", 1000, lambda: 0.0)
    box = rows.box("0" * 32)
    assert box is not None and box.name_stamp.modseq == 1
    assert rows.held() == {"a": 1} and len(rows.ops("a", 0, 10)) == 1


def test_what_cannot_be_opened_is_not_left_open(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"no database" * 100)
    with pytest.raises(DatabaseError):
        SqliteRows(tmp_path / "db", 1000, lambda: 0.0)
