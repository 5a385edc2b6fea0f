"""What an operator asks of nodes that have a Dovecot each: MAILBOX JOIN, RENEW, and LEAVE."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply

TEXT = b"Subject: one\r\n\r\nline\r\n"


def test_mail_that_was_there_before_joins_and_is_on_both(lab: Lab) -> None:
    with dovecot_pair(lab, is_new=False) as pair:
        one = pair.imap("a")
        one.create("Work")
        one.subscribe("Work")
        for number in range(4):
            append(one, TEXT, "(\\Seen kw)" if number % 2 else "")
        append(one, TEXT, "(\\Flagged)", "Work")
        one.store("1", "+FLAGS", "\\Deleted")
        one.expunge()
        before = shown(one)
        assert list(before) == [2, 3, 4]
        assert pair.cluster.nodes["a"].call("MAILBOX", "JOIN", USER) == "OK"
        other = pair.cluster.nodes["b"]
        wait_until("b knows the user", lambda: other.call("MAILBOX", "USERS") == [USER.encode()])
        wait_until("b has both", lambda: len(other.call("MAILBOX", "INFO", USER)) == 2)
        for name, mails in (("INBOX", 3), ("Work", 1)):
            wait_until(name, lambda: len(other.call("MAILBOX", "MESSAGES", USER, name, "0", "9")) == mails)  # noqa: B023
        assert shown(pair.imap("b")) == before and len(shown(pair.imap("b", "Work"))) == 1
        assert "Work" in str(pair.imap("b").lsub()[1])
        assert append(pair.imap("b"), TEXT) == 5
        assert append(one, TEXT) == 6
        pair.wait_equal(pair.imap("a"), pair.imap("b"))


def test_l1_mail_that_was_on_both_before_and_was_never_replicated_becomes_one_mailbox(lab: Lab) -> None:
    with dovecot_pair(lab, is_new=False) as pair:
        sessions = pair.imap("a"), pair.imap("b")
        for session, numbers in zip(sessions, ((1, 2, 3), (2, 4)), strict=True):
            for number in numbers:
                date = f'"0{number}-Jan-2026 10:00:00 +0000"'
                assert session.append("INBOX", "(\\Seen)" if number % 2 else "", date, TEXT * number)[0] == "OK"
        sessions[1].store("1", "+FLAGS", "(\\Flagged work)")
        for session in sessions:
            session.logout()
        a, b = pair.cluster.nodes["a"], pair.cluster.nodes["b"]
        assert a.call("MAILBOX", "JOIN", "*") == "OK"
        a.wait_log("joined 1 users, 0 failed")
        # b tells of its own mailbox when it meets that of a, and both become one by themselves, or by JOIN.
        wait_until("they are one", lambda: "united alice INBOX" in a.log() + b.log())
        for node in (a, b):
            wait_until("one mailbox", lambda: has_boxes(node, b"INBOX"))  # noqa: B023
        with pytest.raises(ErrorReply, match="alice has mailboxes here already, and no two of one name"):
            b.call("MAILBOX", "JOIN", USER)
        wait_until("four mails on a", lambda: len(shown(pair.imap("a"))) == 4)
        wait_until("four mails on b", lambda: len(shown(pair.imap("b"))) == 4)
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert [flags for flags, _ in found.values()] == [{"\\Seen"}, {"\\Flagged", "work"}, {"\\Seen"}, set()]
        assert append(pair.imap("b"), TEXT) == 5 and append(pair.imap("a"), TEXT) == 6


USERS: Final = (USER, "bob")
FOLDERS: Final = ("INBOX", "Work", "Old")
MAILS: Final = 4


def wait_watched(node: Node) -> None:
    """Wait until it has the inotify watches that the manual states: two for each mailbox whose gate is shut, and
    one for each folder above."""
    wanted = 2 * len(USERS) * len(FOLDERS) + len(USERS) + 1
    wait_until("its watches", lambda: watches(node) == wanted)


def watches(node: Node) -> int:
    found = 0
    for info in Path(f"/proc/{node.process.pid}/fdinfo").iterdir():
        # What is closed meanwhile has none.
        with suppress(FileNotFoundError):
            found += info.read_text().count("inotify wd:")
    return found


def kept(pair: DovecotPair, name: str) -> object:
    """What a node has: what it has said and heard, its journal, and each text, by which file it is."""
    info = pair.cluster.nodes[name].info("mailboxes")
    counted = {
        what: info[f"mailbox_{what}"] for what in ("ops_sent", "ops_applied", "journal_bytes", "messages", "boxes")
    }
    cur = pair.dovecots[name].maildirs.rglob("cur/*")
    return counted, sorted((str(path), path.stat().st_ino, path.stat().st_mtime_ns) for path in cur)


def test_a_second_join_of_all_users_sends_nothing(lab: Lab) -> None:
    """The small form of `python -m bench.mailbox_join`."""
    with dovecot_pair(lab, users=USERS, is_new=False) as pair:
        for user in USERS:
            session = pair.dovecots["a"].imap(user)
            for folder in FOLDERS:
                session.create(folder) if folder != "INBOX" else None
                for number in range(MAILS):
                    append(session, TEXT * (number + 1), "(\\Seen)" if number % 2 else "", folder)
            session.logout()
        a, b = pair.cluster.nodes["a"], pair.cluster.nodes["b"]
        for times in (1, 2):
            assert a.call("MAILBOX", "JOIN", "*") == "OK"
            wait_until("all are joined", lambda: a.log().count("joined 2 users, 0 failed") == times)  # noqa: B023
            pair.cluster.client("a").check()
            if times == 1:
                mails = len(USERS) * len(FOLDERS) * MAILS
                wait_until("b has all", lambda: b.info("mailboxes")["mailbox_messages"] == str(mails))  # noqa: B023
                pair.cluster.client("b").check()
                wait_watched(a)
                wait_watched(b)
                before = kept(pair, "a"), kept(pair, "b")
        assert (kept(pair, "a"), kept(pair, "b")) == before
        for user in USERS:
            for folder in FOLDERS:
                both = [pair.dovecots[name].imap(user) for name in "ab"]
                assert all(session.select(folder)[0] == "OK" for session in both)
                assert len(pair.wait_equal(*both)) == MAILS


def test_mailboxes_whose_gates_are_open_are_renewed_and_keep_their_names(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, node = pair.imap("a"), pair.cluster.nodes["a"]
        one.create("Work")
        for name in ("INBOX", "Work"):
            for number in range(3):
                append(one, TEXT, "(\\Seen)" if number % 2 else "", name)
            old = validities(node)
            assert node.call("MAILBOX", "RENEW", USER, name) == "OK"
            new = validities(node)
            assert new.keys() == old.keys() and new[name] > old[name]
            pair.cluster.client("a").check()
            assert validities(pair.cluster.nodes["b"]) == new
            found = pair.wait_equal(pair.imap("a", name), pair.imap("b", name))
            assert list(found) == [1, 2, 3] and [flags for flags, _ in found.values()] == [set(), {"\\Seen"}, set()]
            one = pair.imap("a")
            assert append(one, TEXT, folder=name) == 4
        for name in "ab":
            assert "stand still" not in pair.cluster.nodes[name].log()
            assert str(pair.imap(name).list()[1]).count('"." ') == 2, "no INBOX (2)"


def validities(node: Node) -> dict[str, int]:
    """Name -> UIDVALIDITY of the user's mailboxes."""
    found = (dict(zip(each[::2], each[1::2], strict=True)) for each in node.call("MAILBOX", "INFO", USER))
    return {box[b"name"].decode(): box[b"uidvalidity"] for box in found}


def has_boxes(node: Node, *names: bytes) -> bool:
    try:
        return [each[each.index(b"name") + 1] for each in node.call("MAILBOX", "INFO", USER)] == list(names)
    except ErrorReply:
        return False


def test_a_new_uidvalidity_and_a_node_that_leaves(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one = pair.imap("a")
        for number in range(4):
            append(one, TEXT, "(\\Seen)" if number % 2 else "")
        one.store("1", "+FLAGS", "\\Deleted")
        one.expunge()
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        old = one.response("UIDVALIDITY")
        assert pair.cluster.nodes["b"].call("MAILBOX", "RENEW", USER, "INBOX") == "OK"
        wait_until("UIDs from 1 on", lambda: list(shown(pair.imap("a"))) == [1, 2, 3])
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert [flags for flags, _ in found.values()] == [{"\\Seen"}, set(), {"\\Seen"}]
        assert append(pair.imap("a"), TEXT) == 4 and append(pair.imap("b"), TEXT) == 5
        session = pair.imap("a")
        assert session.response("UIDVALIDITY") != old
        pair.cluster.client("b").check()
        assert pair.cluster.nodes["b"].call("MAILBOX", "LEAVE") == "OK"
        assert append(pair.imap("b"), TEXT) == 6, "its Dovecot goes on by itself"
