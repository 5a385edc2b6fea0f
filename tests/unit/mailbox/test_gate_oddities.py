"""What other nodes cannot have is told, and the rest is theirs."""

from __future__ import annotations

from pyrepl.mailbox.compare import Found, FoundBox
from pyrepl.mailbox.sending import Notice
from tests.unit.mailbox.gate_rig import GUID, READS, RELEASED, TEXT, Rig, mail


def test_what_other_nodes_cannot_have_is_told_once() -> None:
    rig = Rig()
    rig.see(READS)
    rig.notices.clear()
    nameless = frozenset({"/y", "/z"})
    rig.found = mail(2)._replace(unread={"G1": "/x: Is a directory"}, nameless=nameless, has_own_keywords=True)
    rig.see(RELEASED)
    rig.see(RELEASED)
    assert rig.notices == [
        Notice("mail_unreadable", "alice INBOX /x: Is a directory"),
        Notice("mail_nameless", "alice INBOX /y and 1 more"),
        Notice("keywords_not_replicated", "alice INBOX"),
    ]
    assert rig.messages() == {2: "G2"}


def test_what_no_op_can_say_is_refused_and_the_rest_is_told() -> None:
    rig = Rig()
    rig.see(READS)
    rig.notices.clear()
    found = (Found(1, "x" * 129, frozenset(), TEXT), Found(2, "G2", frozenset(), TEXT))
    rig.found = FoundBox(found)
    rig.see(RELEASED)
    assert rig.messages() == {2: "G2"} and [note.name for note in rig.notices] == ["change_unsayable"]


def test_keywords_for_which_a_message_has_no_room_stay_here_and_are_told_once() -> None:
    rig = Rig()
    rig.see(READS)
    rig.notices.clear()
    keywords = frozenset(f"k{number:03d}{'y' * 200}" for number in range(30))
    rig.found = FoundBox((Found(1, "G1", keywords | {"\\Seen"}, TEXT),), keywords=None)
    for _ in range(3):
        rig.see(RELEASED)
    [row] = rig.rows.messages(GUID)
    assert "\\Seen" in row.set_flags() and 10 < len(row.set_flags()) < 20
    assert [note.name for note in rig.notices] == ["change_unsayable"]


def test_new_uids_of_old_messages_are_told() -> None:
    rig = Rig()
    rig.see(READS)
    rig.found = mail(1, 2)
    rig.see(RELEASED)
    rig.notices.clear()
    rig.found = FoundBox((Found(2, "G2", frozenset(), TEXT), Found(3, "G1", frozenset(), TEXT)))
    rig.see(RELEASED)
    rig.see(RELEASED)
    assert rig.notices == [Notice("uids_anew", "alice INBOX 1")] and rig.messages() == {2: "G2", 3: "G1"}
