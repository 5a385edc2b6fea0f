"""Two nodes that lose sight of each other, and clients that go on at both: afterwards everything is on both."""

from __future__ import annotations

import imaplib
import itertools
import re
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_load import subjects
from tests.interop.dovecot_pair import DovecotPair, Shown, append, dovecot_pair, shown
from tests.peers.lab import Lab, wait_until


class Cache(NamedTuple):
    """What a client that went away remembers of INBOX."""

    uidvalidity: int
    modseq: int
    flags: dict[int, frozenset[str]]
    """Of each message, by its UID."""


def code(session: imaplib.IMAP4, name: str) -> int:
    """A number that SELECT stated."""
    [value] = session.response(name)[1]
    assert isinstance(value, bytes)
    return int(value)


def remembered(pair: DovecotPair, node: str) -> Cache:
    session = pair.dovecots[node].imap(USER)
    session.enable("QRESYNC")
    session.select()
    return Cache(code(session, "UIDVALIDITY"), code(session, "HIGHESTMODSEQ"), flags_of(shown(session)))


def flags_of(messages: Shown) -> dict[int, frozenset[str]]:
    return {uid: flags for uid, (flags, _) in messages.items()}


def resynced(pair: DovecotPair, node: str, cache: Cache) -> dict[int, frozenset[str]]:
    """What a client with this cache believes after one QRESYNC."""
    session = pair.dovecots[node].imap(USER)
    session.enable("QRESYNC")
    session.untagged_responses.clear()
    session._simple_command("SELECT", "INBOX", f"(QRESYNC ({cache.uidvalidity} {cache.modseq}))")
    found = dict(cache.flags)
    for answer in _said(session, "VANISHED"):
        for first, last in re.findall(rb"(\d+)(?::(\d+))?", answer):
            for uid in range(int(first), int(last or first) + 1):
                found.pop(uid, None)
    for answer in _said(session, "FETCH"):
        for uid, flags in re.findall(rb"UID (\d+) FLAGS \((.*?)\)", answer):
            found[int(uid)] = frozenset({*flags.decode().split()} - {"\\Recent"})
    return found


def _said(session: imaplib.IMAP4, kind: str) -> list[bytes]:
    return [answer for answer in session.untagged_responses.get(kind, []) if isinstance(answer, bytes)]


def apart(pair: DovecotPair, node: str) -> bool:
    """Does a node see nobody?"""
    return pair.cluster.nodes[node].info("mailboxes")["mailbox_apart"] == "1"


def has_mails(pair: DovecotPair, node: str, mails: set[str]) -> bool:
    """Are these all that its clients see?"""
    return set(subjects(pair.imap(node)).values()) == mails


def part(pair: DovecotPair) -> None:
    pair.proxy.refuse()
    pair.proxy.cut()
    for node in "ab":
        wait_until(f"{node} is apart", partial(apart, pair, node))


def partition(pair: DovecotPair, mails: int, seconds: float) -> None:
    """Both save, flag, expunge and rename while they are apart."""
    one, two = pair.imap("a"), pair.imap("b")
    kept, flagged, gone = (
        append(one, f"Subject: {name}\r\n\r\nx\r\n".encode()) for name in ("kept", "flagged", "gone")
    )
    one.create("Work")
    wait_until("b has them", lambda: list(shown(two)) == [kept, flagged, gone])
    wait_until("b has the folder", lambda: pair.dovecots["b"].mail(USER).joinpath(".Work/dovecot-uidlist").exists())
    part(pair)
    end = time.monotonic() + seconds
    given: dict[str, dict[int, str]] = {"a": {}, "b": {}}
    for number in range(mails):
        for node, session in (("a", one), ("b", two)):
            mail = f"{node}-{number}"
            given[node][append(session, f"Subject: {mail}\r\n\r\nx\r\n".encode())] = mail
    one.uid("STORE", str(flagged), "+FLAGS", "(\\Flagged)")
    two.uid("STORE", str(flagged), "+FLAGS", "(work)")
    two.uid("STORE", str(gone), "+FLAGS", "(\\Deleted)")
    two.expunge()
    two.rename("Work", "Play")
    time.sleep(max(0.0, end - time.monotonic()))
    caches = {node: remembered(pair, node) for node in "ab"}
    pair.proxy.heal()
    mail_of_both = {"kept", "flagged", *given["a"].values(), *given["b"].values()}
    for node in "ab":
        wait_until(f"{node} has all", partial(has_mails, pair, node, mail_of_both))
    found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
    assert len(found) == 2 + 2 * mails
    assert found[flagged][0] == {"\\Flagged", "work"}
    now = subjects(pair.imap("a"))
    assert any(given[node].items() <= now.items() for node in "ab"), "one side's UIDs stay"
    wait_until("the folder has one name", lambda: pair.dovecots["a"].mail(USER).joinpath(".Play").exists())
    for node in "ab":
        assert resynced(pair, node, caches[node]) == flags_of(found), f"a client of {node} with a cache"


def test_both_go_on_apart_and_have_everything_afterwards(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        partition(pair, mails=4, seconds=0)


@pytest.mark.matrix
def test_half_a_minute_apart(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        partition(pair, mails=50, seconds=30)


def test_two_mails_of_hosts_with_one_name_are_both_there(lab: Lab) -> None:
    """An MTA names a file by time, process and host: on two hosts with one name it may be the same name."""
    with dovecot_pair(lab) as pair:
        append(pair.imap("a"), b"Subject: first\r\n\r\nx\r\n")
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        pair.proxy.refuse()
        pair.proxy.cut()
        for node in "ab":
            wait_until(f"{node} is apart", partial(apart, pair, node))
            text = f"Subject: of {node}\r\n\r\nx\r\n".encode()
            pair.dovecots[node].mail(USER).joinpath("new", "1700000000.M1P7.mail").write_bytes(text)
            wait_until(f"{node} shows it", partial(has_mails, pair, node, {"first", f"of {node}"}))
            wait_until(f"{node} knows it", partial(_has_rows, pair, node, 2))
        pair.proxy.heal()
        for node in "ab":
            wait_until(f"{node} has both", partial(has_mails, pair, node, {"first", "of a", "of b"}))
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert len(found) == len({guid for _, guid in found.values()}) == 3


def _has_rows(pair: DovecotPair, node: str, messages: int) -> bool:
    return pair.cluster.nodes[node].info("mailboxes")["mailbox_messages"] == str(messages)


def test_one_sides_uids_stay_though_clients_go_on_while_the_sides_come_together(lab: Lab) -> None:
    """A Dovecot that is let in gives out UIDs while the mails of the side apart come, one portion after the other."""
    with dovecot_pair(lab, "abw") as pair:
        append(pair.imap("a"), b"Subject: first\r\n\r\nx\r\n")
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        pair.proxy.refuse()
        pair.proxy.cut()
        wait_until("one of them is apart", lambda: apart(pair, "a") != apart(pair, "b"))
        alone, other = "ab" if apart(pair, "a") else "ba"
        given = _appended(pair, alone, range(300))
        is_over = threading.Event()
        until_over = itertools.takewhile(lambda _: not is_over.is_set(), range(2000))
        with ThreadPoolExecutor() as pool:
            going_on = pool.submit(_appended, pair, other, until_over)
            try:
                wait_until("its gate is open", lambda: len(subjects(pair.imap(other))) > 1)
                pair.proxy.heal()
                for node in "ab":
                    wait_until(f"{node} has all", partial(_has_those, pair, node, {*given.values()}))
            finally:
                is_over.set()
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        now = subjects(pair.imap("a"))
        assert {*now.values()} == {"first", *given.values(), *going_on.result().values()}
        moved = sum(now.get(uid) != mail for uid, mail in given.items())
        assert moved == 0, "they have the UIDs that their clients were told"


def _has_those(pair: DovecotPair, node: str, mails: set[str]) -> bool:
    """Do its clients see these, and perhaps more?"""
    return mails <= set(subjects(pair.imap(node)).values())


def _appended(pair: DovecotPair, node: str, numbers: Iterable[int]) -> dict[int, str]:
    """The UIDs that a client of the node was told, and what it has there."""
    session, given = pair.imap(node), dict[int, str]()
    for number in numbers:
        mail = f"{node}-{number}"
        given[append(session, f"Subject: {mail}\r\n\r\nx\r\n".encode())] = mail
    return given
