"""Mailboxes that two nodes keep, on one machine and over a link of 10 ms: mails of 4 KB, flags, masterships that move.

A mail counts when it is on the disks of both nodes. The rival is one Dovecot by IMAP, which replicates nothing: what a
second copy costs. For a move of the mastership it is the round trip of the link itself.
"""

from __future__ import annotations

import imaplib
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.delayed_link import DelayedLink
from bench.report import Row
from pyrepl.mailbox.client import MailboxClient, Message
from tests.fault.mailbox_cluster import SECRET, USER, MailboxCluster
from tests.peers.dovecot import Dovecot
from tests.peers.lab import Lab
from tests.peers.ports import HOST

RIVAL: Final = "dovecot"
DELAYS_MS: Final = (0, 10)
"""Of each direction of the link."""
MAILS: Final = 1000
SINGLE: Final = 200
"""Mails that are saved one by one, flags that are set, and moves."""
TEXT: Final = b"Subject: bench\r\n\r\n" + b"x" * 76 * 52
Figures = dict[str, list[float]]
UNITS: Final = {
    "one way": ("mails/s", ">= 500 mails/s"),
    "both ways, one INBOX": ("mails/s", ""),
    "one by one, p50": ("ms", "<= 20 ms + round trip"),
    "one by one, p99": ("ms", ""),
    "flags": ("flags/s", ""),
    "move of the mastership, p50": ("ms", "<= 2x"),
}
"""What is measured -> its unit, and its goal."""


def measure(rounds: int, scale: float) -> list[Row]:
    """`scale` makes the runs longer or shorter."""
    mails, single = max(20, int(MAILS * scale)), max(10, int(SINGLE * scale))
    theirs: Figures = {}
    rows = []
    with Dovecot() as dovecot:
        for _ in range(rounds):
            _add(theirs, _dovecot(dovecot, mails, single))
    for delay_ms in DELAYS_MS:
        with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
            ours = _rounds(lab, delay_ms / 1000, rounds, lambda pair: pair.once(mails, single))
        trips = {"move of the mastership, p50": ours.pop("round trip")}
        for what, figures in ours.items():
            unit, goal = UNITS[what]
            rows.append(Row(f"{what}, {delay_ms} ms", unit, figures, (theirs | trips)[what], goal))
    return rows


def _add(figures: Figures, found: dict[str, float]) -> None:
    for what, figure in found.items():
        figures.setdefault(what, []).append(figure)


def _rounds(lab: Lab, delay_s: float, rounds: int, once: Callable[[Pair], dict[str, float]]) -> Figures:
    """Two nodes whose link is the delayed one, and as many rounds."""
    found: Figures = {}
    cluster = MailboxCluster(lab, "ab")
    with DelayedLink(cluster.ports["a"], delay_s) as link:
        cluster.start("a")
        cluster.start("b", **{"mailbox-members": f"a={HOST}:{link.port} b={HOST}:{cluster.ports['b']}"})
        with cluster.client("a") as here, cluster.client("b") as there:
            here.create(USER, "INBOX")
            there.check()
            for _ in range(rounds):
                # It says nothing for most of a round, for longer than a mail process may.
                with MailboxClient(address=(HOST, link.port), secret=SECRET.encode()) as far:
                    _add(found, once(Pair(here, there, far)))
        for node in cluster.nodes.values():
            node.terminate()
    return found


class Pair:
    """A mail process at each node, and one that is as far from a as b is."""

    def __init__(self, here: MailboxClient, there: MailboxClient, far: MailboxClient) -> None:
        self._here: Final = here
        self._there: Final = there
        self._far: Final = far

    def once(self, mails: int, single: int) -> dict[str, float]:
        trip_ms = statistics.median(_timed(self._far.ping) for _ in range(single))
        one_way = mails / _seconds(lambda: self._save(self._here, mails))
        both_ways = mails / _seconds(lambda: self._both(mails // 2))
        times = sorted(_timed(lambda: self._here.append(USER, "INBOX", TEXT)) for _ in range(single))
        last = self._here.append(USER, "INBOX", TEXT).uid
        flags = single / _seconds(lambda: self._flags(last, single))
        # The first is not counted: it waits for what was done before.
        moves = [_timed(lambda turn=turn: self._lock(turn)) for turn in range(single + 1)][1:]  # type: ignore[misc]
        return {
            "round trip": trip_ms,
            "one way": one_way,
            "both ways, one INBOX": both_ways,
            "one by one, p50": statistics.median(times),
            "one by one, p99": times[int(len(times) * 0.99)],
            "flags": flags,
            "move of the mastership, p50": statistics.median(moves),
        }

    def _save(self, mail: MailboxClient, mails: int) -> None:
        saved = mail.append_all(USER, "INBOX", [Message(TEXT)] * mails)
        assert all(each.acks for each in saved), "each is at the other node"

    def _both(self, mails: int) -> None:
        other = threading.Thread(target=self._save, args=(self._there, mails))
        other.start()
        self._save(self._here, mails)
        other.join()

    def _flags(self, uid: int, single: int) -> None:
        for number in range(single):
            add, remove = (["\\Seen"], []) if number % 2 == 0 else ([], ["\\Seen"])
            self._here.store(USER, "INBOX", [uid], add=add, remove=remove)

    def _lock(self, turn: int) -> None:
        with (self._here, self._there)[turn % 2].locked(USER, "INBOX"):
            pass


def _dovecot(dovecot: Dovecot, mails: int, single: int) -> dict[str, float]:
    session, other = dovecot.imap(USER), dovecot.imap(USER)
    for each in (session, other):
        each.select("INBOX")
    one_way = mails / _seconds(lambda: _append(session, mails))
    threads = [threading.Thread(target=_append, args=(each, mails // 2)) for each in (session, other)]
    both_ways = mails / _seconds(lambda: _all(threads))
    times = sorted(_timed(lambda: _append(session, 1)) for _ in range(single))
    flags = single / _seconds(lambda: _seen(session, single))
    for each in (session, other):
        each.logout()
    return {
        "one way": one_way,
        "both ways, one INBOX": both_ways,
        "one by one, p50": statistics.median(times),
        "one by one, p99": times[int(len(times) * 0.99)],
        "flags": flags,
    }


def _all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _append(session: imaplib.IMAP4, mails: int) -> None:
    for _ in range(mails):
        assert session.append("INBOX", "", "", TEXT)[0] == "OK"


def _seen(session: imaplib.IMAP4, single: int) -> None:
    for number in range(single):
        assert session.store("1", "+FLAGS" if number % 2 == 0 else "-FLAGS", "\\Seen")[0] == "OK"


def _seconds(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def _timed(what: Callable[[], object]) -> float:
    """Milliseconds."""
    return _seconds(what) * 1000
