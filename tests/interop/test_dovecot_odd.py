"""What a Dovecot accepts in a Maildir and another node cannot have as it is: it stops nothing else, on any node."""

from __future__ import annotations

import imaplib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair
from tests.peers.lab import Lab, wait_until

TEXT = b"Subject: x\r\n\r\nx\r\n"


def _uids(session: imaplib.IMAP4) -> set[int]:
    session.noop()
    _, [found] = session.uid("SEARCH", "ALL")
    return set(map(int, found.split()))


def _bring(name: bytes) -> Callable[[DovecotPair, bytes], None]:
    def bring(pair: DovecotPair, home: bytes) -> None:
        with open(home + b"/new/" + name, "wb") as file:
            file.write(b"x\n")

    return bring


def _append_of_1970(pair: DovecotPair, home: bytes) -> None:
    assert pair.imap("a").append("INBOX", "", '"01-Jan-1970 00:30:00 +0100"', TEXT)[0] == "OK"


def _set_keyword(pair: DovecotPair, home: bytes) -> None:
    append(pair.imap("a"), TEXT)
    Path(os.fsdecode(home), "dovecot-keywords").write_bytes(b"0 ge\xf6scht\n")
    for name in os.listdir(home + b"/cur"):
        os.rename(home + b"/cur/" + name, home + b"/cur/" + name + b"a")


def _make_folder(pair: DovecotPair, home: bytes) -> None:
    os.mkdir(home + b"/new/afolder")


def _make_link(pair: DovecotPair, home: bytes) -> None:
    os.symlink("/etc/hostname", home + b"/new/alink")


@pytest.mark.parametrize(
    ("bring", "is_on_both", "noted"),
    [
        pytest.param(_append_of_1970, True, "", id="before 1970"),
        pytest.param(_bring(b"1700000000.M1P1.h\xf6st"), True, "", id="a name that is no UTF-8"),
        pytest.param(_bring(b"1700000000.M1P1." + b"h" * 150 + b",S=2"), True, "", id="a long name"),
        pytest.param(_bring(b"a\tb"), True, "", id="a name with a tab"),
        pytest.param(_set_keyword, True, "keywords_not_replicated", id="a keyword that is no UTF-8"),
        pytest.param(_bring(b"foo\nbar"), False, "mail_nameless", id="a name with LF"),
        pytest.param(_make_folder, False, "mail_unreadable", id="a folder"),
        pytest.param(_make_link, False, "mail_unreadable", id="a link"),
    ],
)
def test_a_message_that_is_odd_stops_no_other(
    lab: Lab, bring: Callable[[DovecotPair, bytes], None], is_on_both: bool, noted: str
) -> None:
    told = "bar" if noted == "mail_nameless" else "afolder" if noted == "mail_unreadable" else ""
    with dovecot_pair(lab, told=told) as pair:
        bring(pair, os.fsencode(pair.dovecots["a"].mail(USER)))
        session, other = pair.imap("a"), pair.imap("b")
        session.noop()
        mine = append(session, TEXT)
        wait_until("b has what came to a behind it", lambda: mine in _uids(other))
        theirs = append(other, TEXT)
        assert theirs > mine
        wait_until("a has what came to b", lambda: theirs in _uids(session))
        if is_on_both and not noted:
            assert len(pair.wait_equal(session, other)) == 3
        assert len(_uids(other)) == (3 if is_on_both else 2)
        wait_until("it is told", lambda: noted in pair.cluster.nodes["a"].tail(50))
        # What is in the journal can be read, by both.
        pair.cluster.nodes["a"].kill()
        pair.start("a")
        last = append(pair.imap("b"), TEXT)
        wait_until("a has what came while it was away", lambda: last in _uids(pair.imap("a")))
