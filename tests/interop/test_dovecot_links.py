"""Two nodes whose link fails in other ways than by a cut, that refuse mail while they are apart, or have a witness."""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_load import subjects
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.interop.test_dovecot_apart import apart, has_mails, part
from tests.interop.test_dovecot_lmtp import deliver
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST
from tests.peers.proxy import Proxy

SOON: Final = "mail_max_lock_timeout = 4 secs\n"
TIMEOUT: Final = "Timeout while waiting for lock"


def text(mail: str) -> bytes:
    return f"Subject: {mail}\r\n\r\nx\r\n".encode()


def count(pair: DovecotPair, node: str, name: str) -> str:
    return pair.cluster.nodes[node].info("mailboxes")[f"mailbox_{name}"]


def test_who_refuses_mail_while_apart_takes_deliveries_and_gives_no_uid_that_changes(lab: Lab) -> None:
    with dovecot_pair(lab, settings=SOON, more={"mailbox-apart": "refuse"}, told=TIMEOUT) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        first = append(one, text("first"))
        wait_until("b's client sees it", lambda: first in shown(two))
        part(pair)
        for session in (one, two):
            status, [said] = session.append("INBOX", "", "", text("refused"))
            assert status == "NO" and TIMEOUT.encode() in said
        for node in "ab":
            with smtplib.LMTP(HOST, pair.dovecots[node].lmtp_port, timeout=60) as lmtp:
                deliver(lmtp, f"lmtp-{node}")
        pair.proxy.heal()
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, {"first", "lmtp-a", "lmtp-b"}))
        assert len(pair.wait_equal(pair.imap("a"), pair.imap("b"))) == 3
        assert append(pair.imap("b"), text("last")) == first + 3
        assert [count(pair, node, "renumbered") for node in "ab"] == ["0", "0"]


def test_with_a_witness_one_of_two_goes_on_and_its_uids_stay(lab: Lab) -> None:
    with dovecot_pair(lab, "abw") as pair:
        first = append(pair.imap("a"), text("first"))
        wait_until("b's client sees it", lambda: first in shown(pair.imap("b")))
        pair.proxy.refuse()
        pair.proxy.cut()
        wait_until("one of them is apart", lambda: apart(pair, "a") != apart(pair, "b"))
        alone = "a" if apart(pair, "a") else "b"
        other = "b" if alone == "a" else "a"
        given = [append(pair.imap(other), text(f"{other}-{number}")) for number in range(3)]
        assert apart(pair, alone) and not apart(pair, other)
        pair.proxy.heal()
        wait_until("nobody is apart", lambda: not apart(pair, alone))
        mails = {"first", *(f"{other}-{number}" for number in range(3))}
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, mails))
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        now = subjects(pair.imap(alone))
        assert [now[uid] for uid in given] == [f"{other}-{number}" for number in range(3)], "their UIDs stay"


def up(proxy: Proxy) -> None:
    """What b says does not reach a."""
    proxy.stall("up")


def down(proxy: Proxy) -> None:
    """What a says does not reach b."""
    proxy.stall("down")


@pytest.mark.parametrize(
    "fault", [Proxy.stall, up, down, Proxy.half_close], ids=["stalls", "up", "down", "half closed"]
)
def test_a_link_that_fails_without_being_cut(lab: Lab, fault: Callable[[Proxy], None]) -> None:
    with dovecot_pair(lab) as pair:
        first = append(pair.imap("a"), text("first"))
        wait_until("b's client sees it", lambda: first in shown(pair.imap("b")))
        fault(pair.proxy)
        for number in range(3):
            for node in "ab":
                append(pair.imap(node), text(f"{node}-{number}"))
        pair.proxy.heal()
        mails = {"first", *(f"{node}-{number}" for node in "ab" for number in range(3))}
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, mails))
        assert len(pair.wait_equal(pair.imap("a"), pair.imap("b"))) == 7
        assert [count(pair, node, "burned") for node in "ab"] == ["0", "0"]
        assert USER.encode() in pair.cluster.nodes["a"].call("MAILBOX", "USERS")
