"""Clients of several Dovecots that append and flag at the same time, and what must hold afterwards."""

from __future__ import annotations

import imaplib
import smtplib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, shown
from tests.peers.lab import wait_until
from tests.peers.ports import HOST

DELIVERY_S: Final = 0.25
"""From one delivery to the next: a Dovecot takes mail faster than two nodes on one machine bring it to each other."""
SUBJECT: Final = "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])"


@dataclass
class Writer:
    """A client of one node that appends until it is stopped, and flags what it appended. `given`: APPENDUID -> mail."""

    pair: DovecotPair
    node: str
    name: str
    most: int
    given: dict[int, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    """Mails that were answered NO, as no node gave the mailbox in time."""
    failed: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        session = self.pair.imap(self.node)
        for number in range(self.most):
            if self.is_over.is_set():
                break
            mail = f"{self.name}-{number}"
            try:
                uid = append(session, f"Subject: {mail}\r\n\r\nx\r\n".encode())
                assert uid not in self.given, f"UID {uid} for {mail} and for {self.given[uid]}"
                self.given[uid] = mail
                status, said = session.uid("STORE", str(uid), "+FLAGS", f"(\\Flagged {self.name})")
                assert status == "OK", f"STORE: {status} {said}"
            except (AssertionError, OSError, imaplib.IMAP4.error) as error:
                if "Timeout while waiting for lock" in str(error):
                    self.refused.append(mail)
                    continue
                self.failed.append(f"{mail}: {error!r}")
                break
        session.shutdown()


@dataclass
class Deliverer:
    """Somebody who delivers mail to one node by LMTP until it is stopped. `given`: mails that were taken."""

    pair: DovecotPair
    node: str
    most: int
    given: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        try:
            with smtplib.LMTP(HOST, self.pair.dovecots[self.node].lmtp_port, timeout=60) as lmtp:
                for number in range(self.most):
                    if self.is_over.is_set():
                        break
                    mail = f"lmtp-{self.node}-{number}"
                    lmtp.sendmail("x@example.org", [USER], f"Subject: {mail}\r\n\r\nx\r\n")
                    self.given.append(mail)
                    time.sleep(DELIVERY_S)
        except (OSError, smtplib.SMTPException) as error:
            self.failed.append(repr(error))


class Load:
    """Writers of each node, in threads, and deliveries to each."""

    def __init__(self, pair: DovecotPair, writers: int, most: int = 10**6) -> None:
        self.pair = pair
        self.writers = [
            Writer(pair, node, f"{node}{number}", most) for node in pair.dovecots for number in range(writers)
        ]
        self.deliverers = [Deliverer(pair, node, most) for node in pair.dovecots]
        self._everybody: list[Writer | Deliverer] = [*self.writers, *self.deliverers]
        self._threads = [threading.Thread(target=each.run, daemon=True) for each in self._everybody]
        for thread in self._threads:
            thread.start()

    def serves_all(self) -> Callable[[], bool]:
        """Was a client of each node served since this was asked for?"""
        before = {writer.name: len(writer.given) for writer in self.writers}

        def are_served() -> bool:
            served = {writer.node for writer in self.writers if len(writer.given) > before[writer.name]}
            return served == set(self.pair.dovecots) or any(writer.failed for writer in self.writers)

        return are_served

    def stop(self) -> None:
        """Each ends after the mail that it is at."""
        for each in self._everybody:
            each.is_over.set()
        self.join()

    def join(self) -> None:
        end = time.monotonic() + 300
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            assert not thread.is_alive(), "a client waits for ever"

    def check(self) -> int:
        """Nobody was refused, no UID names two messages, every APPENDUID is true, all views are equal, all flags are
        there; how many mails there are."""
        failed = [why for each in self._everybody for why in each.failed]
        assert not failed, failed
        refused = [mail for writer in self.writers for mail in writer.refused]
        assert not refused, refused
        delivered = sorted(mail for each in self.deliverers for mail in each.given)
        wanted = len(delivered) + sum(len(writer.given) for writer in self.writers)
        first = self.pair.imap(next(iter(self.pair.dovecots)))
        wait_until("all deliveries have UIDs", lambda: len(shown(first)) >= wanted)
        found = self.pair.wait_equal(*(self.pair.imap(node) for node in self.pair.dovecots))
        given: dict[int, str] = {}
        for writer in self.writers:
            twice = writer.given.keys() & given.keys()
            assert not twice, {uid: (writer.given[uid], given[uid]) for uid in twice}
            given |= writer.given
        assert len(found) == wanted
        assert given.keys() <= found.keys(), f"lost {given.keys() - found.keys()}"
        mails = sorted([*given.values(), *delivered])
        for node in self.pair.dovecots:
            seen = subjects(self.pair.imap(node))
            assert {uid: seen[uid] for uid in given} == given, f"as {node} shows it"
            assert sorted(seen.values()) == mails, f"as {node} shows it"
        for uid, mail in seen.items():
            name = mail.partition("-")[0]
            assert found[uid][0] == (frozenset() if name == "lmtp" else {"\\Flagged", name}), (mail, found[uid])
        return wanted


def load_briefly(pair: DovecotPair) -> None:
    """Two clients of each node and somebody who delivers there, 15 mails each."""
    load = Load(pair, writers=2, most=15)
    load.join()
    assert load.check() == 90


def load_for_a_minute(pair: DovecotPair) -> None:
    """Four clients of each node, and deliveries; no message gets another UID."""
    load = Load(pair, writers=4)
    time.sleep(60)
    load.stop()
    assert load.check() > 100
    for node in pair.cluster.nodes.values():
        info = node.info("mailboxes")
        assert (info["mailbox_renumbered"], info["mailbox_burned"]) == ("0", "0")


def subjects(session: imaplib.IMAP4) -> dict[int, str]:
    """UID -> subject of every message."""
    _, answers = session.uid("FETCH", "1:*", SUBJECT)
    found = {}
    for answer in answers:
        if isinstance(answer, tuple):
            found[int(answer[0].partition(b"UID ")[2].split()[0])] = answer[1].decode().partition(":")[2].strip()
    return dict(sorted(found.items()))
