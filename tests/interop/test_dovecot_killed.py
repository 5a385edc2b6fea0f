"""Dovecot's own processes are killed while clients save: what was answered stays, and nothing comes twice."""

from __future__ import annotations

import imaplib
import os
import random
import re
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_load import subjects
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.dovecot import Dovecot
from tests.peers.lab import Lab, wait_until

KILLS = 12
_LOGGED_IN = re.compile(r" mpid=(\d+),")


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


def kill_imap(dovecot: Dovecot) -> int:
    """Each session of this server with somebody logged in ends as it stands; how many did. A process that is killed
    while it starts is left out, as Dovecot logs that as an error and starts none for two seconds."""
    logged_in = {int(pid) for pid in _LOGGED_IN.findall(dovecot.log())}
    killed = 0
    for process in psutil.Process(dovecot.pid).children(recursive=True):
        with suppress(psutil.Error):
            if process.pid in logged_in and process.name() == "imap":
                process.kill()
                killed += 1
    return killed


def test_killed_imap_processes_lose_nothing_that_was_answered(lab: Lab) -> None:
    chance = random.Random(5)
    with dovecot_pair(lab, told="killed with signal 9") as pair:
        clients = [Client(pair, node) for node in "ab"]
        for _ in range(KILLS):
            before = [len(client.given) for client in clients]
            time.sleep(chance.uniform(0.0, 0.1))
            dovecot = pair.dovecots[chance.choice("ab")]
            wait_until("a session was killed", lambda: kill_imap(dovecot) > 0)  # noqa: B023
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
            lost = {uid: (mail, seen.get(uid)) for uid, mail in given.items() if seen.get(uid) != mail}
            assert not lost, f"as {node} shows it: {seen}\n{pair.dovecots[node].log()}"
            others = [mail for uid, mail in seen.items() if uid not in given]
            assert len(others) == len(set(others)) and set(others) <= clients[0].unknown | clients[1].unknown
        assert len(found) == len(shown(pair.imap("a")))
        for each in pair.cluster.nodes.values():
            assert each.info("mailboxes")["mailbox_renumbered"] == "0"


def kill_between_two_writes(folder: Path) -> None:
    """Let a mailbox be as a process leaves it that is killed after its index says that it knows the whole list, by size
    and date, and before it says that there is the message of the last line. The list's first message gives way."""
    found = folder / "dovecot-uidlist"
    was, [head, first, *lines] = found.stat(), found.read_text().splitlines()
    base = first.partition(":")[2]
    [path] = [path for subfolder in ("new", "cur") for path in (folder / subfolder).glob(f"{base}*")]
    process = subprocess.Popen(["sleep", "60"])
    try:
        (folder / "dovecot-uidlist.lock").write_text(f"{process.pid}:{socket.gethostname()}")
        saved = base[:-1] + chr(ord(base[-1]) ^ 1)
        (folder / "tmp" / saved).write_bytes(path.read_bytes().replace(b"a-0", b"a-3"))
        (folder / "tmp" / saved).rename(folder / "new" / saved)
        path.unlink()
        with found.open("r+") as file:
            file.write("\n".join([head, *lines, f"4 :{saved}", ""]))
        os.utime(found, ns=(was.st_mtime_ns, was.st_mtime_ns))
    finally:
        process.kill()
        process.wait()
    assert found.stat().st_size == was.st_size


def test_the_index_that_a_killed_process_left_gives_no_uid_twice(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        session = pair.dovecots["a"].imap(USER)
        mails = {append(session, f"Subject: a-{number}\r\n\r\nx\r\n".encode()): f"a-{number}" for number in range(3)}
        session.shutdown()
        wait_until("the session is over", lambda: "Disconnected" in pair.dovecots["a"].log().rpartition("Login:")[2])
        folder = pair.dovecots["a"].mail(USER)
        kill_between_two_writes(folder)
        # A Dovecot that waits for it overrides it as well, two seconds after it was taken.
        wait_until("the lock is taken away", lambda: not (folder / "dovecot-uidlist.lock").exists())
        session = pair.dovecots["a"].imap(USER)
        mails |= {append(session, f"Subject: a-{number}\r\n\r\nx\r\n".encode()): f"a-{number}" for number in (4, 5)}
        assert mails == {1: "a-0", 2: "a-1", 3: "a-2", 5: "a-4", 6: "a-5"}
        pair.wait_equal(pair.imap("a"), pair.imap("b"))
        for node in "ab":
            assert subjects(pair.imap(node)) == {2: "a-1", 3: "a-2", 4: "a-3", 5: "a-4", 6: "a-5"}
