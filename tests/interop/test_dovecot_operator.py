"""What an operator asks of nodes that have a Dovecot each: MAILBOX JOIN, RENEW, and LEAVE."""

from __future__ import annotations

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import append, dovecot_pair, shown
from tests.peers.lab import Lab, wait_until

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
