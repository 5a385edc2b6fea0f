"""Dovecot's own processes are killed while clients save: what was answered stays, and nothing comes twice."""

from __future__ import annotations

import imaplib
import random
import threading
import time
from contextlib import suppress

import psutil

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_load import subjects
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.dovecot import Dovecot
from tests.peers.lab import Lab, wait_until

KILLS = 12


class Client:
    """One that appends until it is stopped, and logs in again when its session ends. `given`: APPENDUID -> mail;
    `unknown`: mails that got no answer."""

    def __init__(self, pair: DovecotPair, node: str) -> None:
        self.given: dict[int, str] = {}
        self.unknown: set[str] = set()
        self.is_over = threading.Event()
        self._pair = pair
        self._node = node
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.is_over.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "a client waits for ever"

    def _run(self) -> None:
        number = 0
        while not self.is_over.is_set():
            with suppress(OSError, imaplib.IMAP4.error):
                session = self._pair.dovecots[self._node].imap(USER)
                while not self.is_over.is_set():
                    number += 1
                    mail = f"{self._node}-{number}"
                    self.unknown.add(mail)
                    self.given[append(session, f"Subject: {mail}\r\n\r\nx\r\n".encode())] = mail
                    self.unknown.remove(mail)


def kill_imap(dovecot: Dovecot) -> None:
    """Each session of this server ends as it stands."""
    for process in psutil.Process(dovecot.pid).children(recursive=True):
        with suppress(psutil.Error):
            if process.name() == "imap":
                process.kill()


def test_killed_imap_processes_lose_nothing_that_was_answered(lab: Lab) -> None:
    chance = random.Random(5)
    with dovecot_pair(lab, told="killed with signal 9") as pair:
        clients = [Client(pair, node) for node in "ab"]
        for _ in range(KILLS):
            before = [len(client.given) for client in clients]
            time.sleep(chance.uniform(0.0, 0.1))
            kill_imap(pair.dovecots[chance.choice("ab")])
            wait_until(
                "both go on",
                lambda: all(len(client.given) > had for client, had in zip(clients, before, strict=True)),  # noqa: B023
            )
        for client in clients:
            client.stop()
        for node in "ab":
            pair.cluster.client(node).check()
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        given = clients[0].given | clients[1].given
        assert len(given) == sum(len(client.given) for client in clients), "no UID names two messages"
        for node in "ab":
            seen = subjects(pair.imap(node))
            assert given.items() <= seen.items(), f"as {node} shows it"
            others = [mail for uid, mail in seen.items() if uid not in given]
            assert len(others) == len(set(others)) and set(others) <= clients[0].unknown | clients[1].unknown
        assert len(found) == len(shown(pair.imap("a")))
        for each in pair.cluster.nodes.values():
            assert each.info("mailboxes")["mailbox_renumbered"] == "0"
