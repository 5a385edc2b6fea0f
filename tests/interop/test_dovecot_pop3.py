"""POP3 on nodes that keep the same mailboxes: UIDLs are of UIDs and UIDVALIDITY, so they are the same everywhere."""

from __future__ import annotations

import poplib

from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.lab import Lab, wait_until

TEXT = b"Subject: one\r\n\r\nline\r\n"


def uidls(pair: DovecotPair, name: str) -> list[bytes]:
    session = pair.dovecots[name].pop3()
    _, said, _ = session.uidl()
    session.quit()
    return [line.split()[1] for line in said]


def test_what_was_fetched_on_one_node_is_not_fetched_again_on_the_other(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        for number in range(6):
            append(pair.imap("ab"[number % 2]), TEXT)
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        before = uidls(pair, "a")
        assert len(set(before)) == 6 and uidls(pair, "b") == before
        session: poplib.POP3 = pair.dovecots["b"].pop3()
        session.dele(1)
        session.dele(4)
        session.quit()
        left = [*before[1:3], *before[4:]]
        wait_until("a has four", lambda: len(shown(pair.imap("a"))) == 4)
        assert uidls(pair, "a") == left and uidls(pair, "b") == left
        append(pair.imap("b"), TEXT)
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        now = uidls(pair, "a")
        assert now[:4] == left and now[4] not in before and uidls(pair, "b") == now
