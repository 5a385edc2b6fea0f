"""Whatever an IMAP client does on one node, one on the other sees: the same UIDs, flags, dates and bytes."""

from __future__ import annotations

import imaplib
import re
from typing import Final, NamedTuple

from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair
from tests.peers.lab import Lab, wait_until

TEXT: Final = b"Subject: one\r\n\r\n" + bytes(range(32, 127)) * 40 + "Grüße\r\n".encode()
DATE: Final = '"03-Jan-2026 10:00:00 +0000"'
_HEAD: Final = re.compile(rb'UID (\d+) .*?FLAGS \((.*?)\) .*?INTERNALDATE "(.*?)"')


class Mail(NamedTuple):
    """One message, as a client is shown it."""

    flags: frozenset[bytes]
    date: bytes
    text: bytes


def fetched(session: imaplib.IMAP4) -> dict[int, Mail]:
    """UID -> what a session sees of the mailbox that it has selected."""
    session.noop()
    session.untagged_responses.clear()
    _, answers = session.uid("FETCH", "1:*", "(UID FLAGS INTERNALDATE BODY.PEEK[])")
    found = {}
    for answer in answers:
        if isinstance(answer, tuple):
            said = _HEAD.search(answer[0])
            assert said is not None, answer[0]
            found[int(said[1])] = Mail(frozenset({*said[2].split()} - {b"\\Recent"}), said[3], answer[1])
    return found


def equal(pair: DovecotPair, folder: str) -> dict[int, Mail]:
    """Wait until clients of both see the same in a folder; what that is."""
    path = f".{folder}/dovecot-uidlist" if folder != "INBOX" else "dovecot-uidlist"
    for node in "ab":
        wait_until(f"{node} has {folder}", pair.dovecots[node].mail("alice").joinpath(path).exists)
    sessions = [pair.imap(node, folder) for node in "ab"]
    wait_until(f"both see the same in {folder}", lambda: fetched(sessions[0]) == fetched(sessions[1]))
    return fetched(sessions[0])


def test_copies_moves_dates_and_bytes_are_the_same_on_both(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        one.create("Archive")
        uids = [append(one, TEXT + bytes([65 + number]), "(\\Seen kw)") for number in range(4)]
        assert one.append("INBOX", "(\\Flagged)", DATE, TEXT)[0] == "OK"
        found = equal(pair, "INBOX")
        assert list(found) == [*uids, uids[-1] + 1]
        assert [mail.text for mail in found.values()] == [TEXT + bytes([65 + n]) for n in range(4)] + [TEXT]
        assert found[uids[0]].flags == {b"\\Seen", b"kw"} and found[uids[-1] + 1].date == DATE[1:-1].encode()
        equal(pair, "Archive")
        two.noop()
        assert two.uid("COPY", f"{uids[0]},{uids[-1] + 1}", "Archive")[0] == "OK"
        assert equal(pair, "INBOX") == found
        copied = equal(pair, "Archive")
        assert [*copied.values()] == [found[uids[0]], found[uids[-1] + 1]]
        assert two.uid("MOVE", str(uids[1]), "Archive")[0] == "OK"
        assert one.uid("MOVE", str(uids[2]), "Archive")[0] == "OK"
        assert list(equal(pair, "INBOX")) == [uids[0], uids[3], uids[-1] + 1]
        moved = equal(pair, "Archive")
        assert {*moved.values()} == {*copied.values(), found[uids[1]], found[uids[2]]} and len(moved) == 4


def test_copies_within_a_mailbox_are_messages_like_any_other(lab: Lab) -> None:
    """The Dovecot gives a copy the GUID of its original."""
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        first = append(one, TEXT, "(\\Seen kw)")
        equal(pair, "INBOX")
        for session in (one, two):
            session.noop()
            assert session.uid("COPY", str(first), "INBOX")[0] == "OK"
        found = equal(pair, "INBOX")
        assert len(found) == 3 and {*found.values()} == {Mail(frozenset({b"\\Seen", b"kw"}), found[first].date, TEXT)}
        one.uid("STORE", str(first), "+FLAGS", "(\\Deleted)")
        one.expunge()
        left = equal(pair, "INBOX")
        assert [*left] == [*found][1:], "the copies stay, with their UIDs"
        two.uid("STORE", str(min(left)), "+FLAGS", "(\\Flagged)")
        flagged = equal(pair, "INBOX")
        assert [b"\\Flagged" in mail.flags for mail in flagged.values()] == [True, False]
