"""Clients of several Dovecots that append and flag at the same time, and what must hold afterwards."""

from __future__ import annotations

import imaplib
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from tests.interop.dovecot_pair import DovecotPair, append

SUBJECT: Final = "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])"


@dataclass
class Writer:
    """A client of one node that appends until it is stopped, and flags what it appended. `given`: APPENDUID -> mail."""

    pair: DovecotPair
    node: str
    name: str
    most: int
    given: dict[int, str] = field(default_factory=dict)
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
                session.uid("STORE", str(uid), "+FLAGS", f"(\\Flagged {self.name})")
            except (AssertionError, OSError, imaplib.IMAP4.error) as error:
                self.failed.append(f"{mail}: {error!r}")
                break
        session.shutdown()


class Load:
    """Writers of each node, in threads."""

    def __init__(self, pair: DovecotPair, writers: int, most: int = 10**6) -> None:
        self.pair = pair
        self.writers = [
            Writer(pair, node, f"{node}{number}", most) for node in pair.dovecots for number in range(writers)
        ]
        self._threads = [threading.Thread(target=writer.run, daemon=True) for writer in self.writers]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Each ends after the mail that it is at."""
        for writer in self.writers:
            writer.is_over.set()
        self.join()

    def join(self) -> None:
        end = time.monotonic() + 300
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            assert not thread.is_alive(), "a client waits for ever"

    def check(self) -> int:
        """No UID names two messages, every APPENDUID is true, all views are equal, all flags are there; how many mails
        there are."""
        assert [failed for writer in self.writers for failed in writer.failed] == []
        found = self.pair.wait_equal(*(self.pair.imap(node) for node in self.pair.dovecots))
        given: dict[int, str] = {}
        for writer in self.writers:
            twice = writer.given.keys() & given.keys()
            assert not twice, {uid: (writer.given[uid], given[uid]) for uid in twice}
            given |= writer.given
        assert sorted(given) == list(found), f"lost {given.keys() - found.keys()}, more {found.keys() - given.keys()}"
        for node in self.pair.dovecots:
            assert subjects(self.pair.imap(node)) == dict(sorted(given.items())), f"as {node} shows it"
        for uid, mail in given.items():
            assert found[uid][0] == {"\\Flagged", mail.partition("-")[0]}, mail
        return len(given)


def subjects(session: imaplib.IMAP4) -> dict[int, str]:
    """UID -> subject of every message."""
    _, answers = session.uid("FETCH", "1:*", SUBJECT)
    found = {}
    for answer in answers:
        if isinstance(answer, tuple):
            found[int(answer[0].partition(b"UID ")[2].split()[0])] = answer[1].decode().partition(":")[2].strip()
    return dict(sorted(found.items()))
