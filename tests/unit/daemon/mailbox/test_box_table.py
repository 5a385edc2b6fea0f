"""Mailboxes, the cluster and the vector."""

from __future__ import annotations

import pytest

from pyrepl.daemon.mailbox import box_table
from pyrepl.daemon.mailbox.sqlite_rows import SqliteRows
from pyrepl.mailbox.rows import BoxRow, ClusterRow
from pyrepl.mailbox.words import APART, Dot, Stamp, Token

INBOX = BoxRow("0" * 32, "alice", "INBOX", Stamp(1, "a"), 1234)
WORK = BoxRow(
    *("1" * 32, "alice", "Bücher/& x", Stamp(2, "b"), 2**32 - 1, 2**32 - 1, 2**63 - 1, Token(7, APART), "b"),
    *(True, True, Stamp(3, "c"), True, Stamp(4, "d")),
)


def test_nothing_is_kept_at_first(rows: SqliteRows) -> None:
    assert rows.cluster() == ClusterRow()
    assert (rows.held(), rows.users(), rows.box("0" * 32), rows.boxes("alice")) == ({}, [], None, [])


def test_the_cluster_and_the_vector(rows: SqliteRows) -> None:
    rows.put_cluster(ClusterRow(4, "a", "b", "c~1"))
    rows.put_cluster(ClusterRow(5, "b", "", "c~1", is_fresh=True))
    assert rows.cluster() == ClusterRow(5, "b", "", "c~1", is_fresh=True)
    rows.put_held(Dot("a", 1))
    rows.put_held(Dot("b", 7))
    rows.put_held(Dot("a", 2**63 - 1))
    assert rows.held() == {"a": 2**63 - 1, "b": 7}


def test_how_far_a_mailbox_is_aligned(rows: SqliteRows) -> None:
    rows.put_aligned("0" * 32, 5)
    rows.put_aligned("0" * 32, 7)
    assert rows.aligned("0" * 32) == 7 and rows.aligned("1" * 32) == 0


def test_mailboxes_are_kept_field_by_field(rows: SqliteRows) -> None:
    rows.put_box(WORK)
    rows.put_box(INBOX)
    assert rows.box(WORK.guid) == WORK
    assert rows.box(INBOX.guid) == INBOX
    assert rows.boxes("alice") == [INBOX, WORK]
    assert rows.boxes("bob") == []


def test_a_changed_mailbox_is_put_again(rows: SqliteRows) -> None:
    rows.put_box(INBOX)
    rows.put_box(INBOX._replace(name="Old", uidnext=7))
    assert rows.boxes("alice") == [INBOX._replace(name="Old", uidnext=7)]


def test_users_are_those_who_have_mailboxes(rows: SqliteRows) -> None:
    for number, user in enumerate(["bob", "alice", "bob"]):
        rows.put_box(INBOX._replace(guid=f"{number:032x}", user=user, deleted=True))
    assert rows.users() == ["alice", "bob"]


def test_a_mailbox_that_is_put_under_another_user_is_no_longer_the_first_ones(rows: SqliteRows) -> None:
    rows.put_box(INBOX)
    assert (rows.boxes("alice"), rows.boxes("bob")) == ([INBOX], [])
    moved = INBOX._replace(user="bob")
    rows.put_box(moved)
    assert (rows.boxes("alice"), rows.boxes("bob"), rows.box(INBOX.guid)) == ([], [moved], moved)


def test_what_is_remembered_is_what_is_kept(rows: SqliteRows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_table, "MOST_USERS", 2)
    for number in range(12):
        user, guid = f"u{number % 4}", f"{number:032x}"
        rows.put_box(INBOX._replace(guid=guid, user=user))
        rows.put_box(INBOX._replace(guid=guid, user=user, uidnext=number + 5))
        assert [box.uidnext for box in rows.boxes(user)] == list(range(number % 4 + 5, number + 6, 4))
        assert (found := rows.box(guid)) is not None and found.uidnext == number + 5
    for number in range(12):
        assert (found := rows.box(f"{number:032x}")) is not None and found.uidnext == number + 5
    assert rows.box("f" * 32) is None
