"""Messages, and those that are gone."""

from __future__ import annotations

from pathlib import Path

from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.rows import UNPLACED, BoxRow, GoneRow, MessageRow
from pyrepl.mailbox.words import Dot, Register, Stamp, Token

BOX, OTHER = "0" * 32, "1" * 32
FIRST = MessageRow(
    *(BOX, "G1", 5, Token(4, 17), (Dot("a", 1), Dot("b", 2)), 2**40, 1_795_333_408),
    *((Register("\\Seen", True, Stamp(3, "a")),), 300, (1, 2**32 - 1)),
)


def _at(uid: int, guid: str, box: str = BOX) -> MessageRow:
    return FIRST._replace(box=box, guid=guid, uid=uid)


def test_messages_are_kept_field_by_field(rows: SqliteRows) -> None:
    rows.put_message(FIRST)
    assert rows.message(BOX, "G1") == rows.message_at(BOX, 5) == FIRST
    assert rows.message(BOX, "G2") is rows.message(OTHER, "G1") is rows.message_at(BOX, 6) is None


def test_messages_come_by_uid_and_those_without_one_first(rows: SqliteRows) -> None:
    made = [_at(9, "a"), _at(5, "b"), _at(UNPLACED, "z"), _at(UNPLACED, "y"), _at(7, "é"), _at(6, "c", OTHER)]
    for row in made:
        rows.put_message(row)
    assert [row.guid for row in rows.messages(BOX)] == ["y", "z", "b", "é", "a"]
    assert [row.guid for row in rows.unplaced(BOX)] == ["y", "z"]


def test_those_with_a_higher_modseq(rows: SqliteRows) -> None:
    for number, (uid, guid) in enumerate([(9, "a"), (5, "b"), (UNPLACED, "z"), (7, "c")]):
        rows.put_message(_at(uid, guid)._replace(modseq=number))
    assert [row.guid for row in rows.messages_since(BOX, 0)] == ["z", "b", "c"]
    assert [row.guid for row in rows.messages_since(BOX, 2)] == ["c"] and rows.messages_since(OTHER, 0) == []


def test_a_large_mailbox_comes_in_pages(rows: SqliteRows) -> None:
    for uid in range(1, 1202):
        rows.put_message(_at(uid if uid > 700 else UNPLACED, f"{uid:04}"))
    assert [row.guid for row in rows.messages(BOX)] == [f"{uid:04}" for uid in range(1, 1202)]


def test_a_changed_message_is_put_again_and_a_dropped_one_is_none(rows: SqliteRows) -> None:
    rows.put_message(FIRST)
    rows.put_message(FIRST._replace(uid=8))
    assert rows.message_at(BOX, 5) is None and list(rows.messages(BOX)) == [FIRST._replace(uid=8)]
    rows.drop_message(BOX, "G1")
    rows.drop_message(BOX, "none")
    assert list(rows.messages(BOX)) == []


def test_a_home_is_one_of_the_user(rows: SqliteRows) -> None:
    for box, user in ((BOX, "alice"), (OTHER, "alice"), ("2" * 32, "bob")):
        rows.put_box(BoxRow(box, user, box, Stamp(1, "a"), 1))
        rows.put_message(_at(3, "G1", box))
    rows.put_message(_at(4, "G2"))
    homes = {user: rows.home(user, "G1") for user in ("alice", "bob", "carol")}
    assert {user: home and home.box for user, home in homes.items()} == {"alice": BOX, "bob": "2" * 32, "carol": None}


def test_what_is_gone(rows: SqliteRows) -> None:
    for uid, modseq in ((9, 30), (5, 40), (7, 20)):
        rows.put_gone(GoneRow(BOX, uid, f"G{uid}", (Dot("a", uid),), modseq))
    assert rows.gone(BOX, "G9") == GoneRow(BOX, 9, "G9", (Dot("a", 9),), 30)
    assert rows.gone(BOX, "G1") is rows.gone(OTHER, "G9") is None
    assert [row.uid for row in rows.gone_since(BOX, 20)] == [5, 9]
    rows.put_gone(GoneRow(BOX, 11, "G9", (), 50))
    assert [row.uid for row in rows.gone_since(BOX, 20)] == [5, 11]


def test_what_has_long_been_gone_is_forgotten(tmp_path: Path) -> None:
    now = 1000.0
    rows = SqliteRows(tmp_path / "db", 1000, lambda: now)
    rows.put_gone(GoneRow(BOX, 1, "G1", (), 1))
    now = 1500.0
    rows.put_gone(GoneRow(BOX, 2, "G2", (), 2))
    now = 2000.0
    assert rows.trim_gone(1000) == 0
    assert rows.trim_gone(999) == 1
    assert [row.guid for row in rows.gone_since(BOX, 0)] == ["G2"]
