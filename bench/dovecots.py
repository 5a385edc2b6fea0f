"""Two real Dovecots kept equal by pyrepl, and the same by Dovecot's own dsync in a loop: `python -m bench.dovecots`.

One at a time: how long after the OK of an APPEND on one the other's client sees the mail, beside each other and with
10 ms of delay in each direction. Then clients of both append, 4 KB each, flag what they appended, and mail is
delivered, all into one INBOX: mails whose UID is not the one that their client was told, and mails that are lost or
there twice on either side when all is quiet.

Mails a second while clients of one append as fast as they can, a mail or many with one APPEND, until the other has all;
beside it, what one Dovecot alone takes. And of pyrepl the processor time of a node with many mailboxes where nothing
happens, in % of a core.
"""

from __future__ import annotations

import argparse
import imaplib
import os
import re
import smtplib
import statistics
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from bench.delayed_link import DelayedLink
from pyrepl.mailbox.gates import IDLE_S
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.interop.dovecot_load import subjects
from tests.interop.dovecot_pair import SETTINGS, append, dovecot_pair
from tests.peers.dovecot import Dovecot
from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST

TEXT: Final = "x" * 76 + "\r\n"
LINES: Final = 52
PATH: Final = "/usr/bin:/usr/sbin:/bin"
USERS: Final = 20
DELAY_MS: Final = 10
"""Of each direction, between two nodes that are far from each other."""
_EXISTS: Final = re.compile(rb"(\d+)")


class Told(NamedTuple):
    """What clients were told: mail -> UID, None of one that was delivered; which node's client it was."""

    uid: int | None
    node: str


class Found(NamedTuple):
    """Of one way to keep two Dovecots equal."""

    delays_ms: list[float]
    mails: int
    moved: int
    lost: int
    doubled: int


def mail(name: str) -> bytes:
    return f"Subject: {name}\r\n\r\n{TEXT * LINES}".encode()


# How they are kept equal


@contextmanager
def by_pyrepl(lab: Lab) -> Iterator[dict[str, Dovecot]]:
    with dovecot_pair(lab) as pair:
        yield pair.dovecots


@contextmanager
def by_pyrepl_far(lab: Lab) -> Iterator[dict[str, Dovecot]]:
    """As `by_pyrepl`, with a delay of each direction of the link."""
    with dovecot_pair(lab) as pair, DelayedLink(pair.cluster.ports["a"], DELAY_MS / 1000) as link:
        pair.proxy.target = link.port
        pair.proxy.cut()
        yield pair.dovecots


@contextmanager
def by_dsync(lab: Lab) -> Iterator[dict[str, Dovecot]]:
    """`doveadm sync` from a to b and back, again and again."""
    with ExitStack() as stack:
        dovecots = {name: stack.enter_context(Dovecot(users=[USER], is_ours=True)) for name in "ab"}
        # Without our environment: in it the first doveadm tells the second its own configuration.
        there = ["env", "-i", f"PATH={PATH}", "doveadm", "-c", str(dovecots["b"].conf), "dsync-server", "-u", USER]
        sync = dovecots["a"].inside("doveadm", "-c", str(dovecots["a"].conf), "sync", "-u", USER, *there)
        # One INBOX for both, with one GUID: dsync does not make one of two.
        selected(dovecots["a"]).logout()
        subprocess.run(sync, cwd="/", capture_output=True, check=True)
        is_over = threading.Event()
        failed: Counter[int] = Counter()

        def run() -> None:
            while not is_over.is_set():
                done = subprocess.run(sync, cwd="/", capture_output=True, check=False)
                failed[done.returncode] += 1

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield dovecots
        finally:
            is_over.set()
            thread.join()
            print(f"runs of doveadm sync by exit status: {dict(failed)}")


# What is measured


def selected(dovecot: Dovecot) -> imaplib.IMAP4:
    session = dovecot.imap(USER)
    assert session.select("INBOX")[0] == "OK"
    return session


def delays_ms(dovecots: dict[str, Dovecot], mails: int) -> list[float]:
    """From the OK of an APPEND until a client of the other one sees one mail more."""
    here, there = selected(dovecots["a"]), selected(dovecots["b"])
    found = []
    for number in range(mails):
        before = exists(there)
        append(here, mail(f"single-{number}"))
        told = time.perf_counter()
        wait_until("the other sees it", lambda before=before: exists(there) > before, every_s=0.0)  # type: ignore[misc]
        found.append((time.perf_counter() - told) * 1000)
    return found


def exists(session: imaplib.IMAP4) -> int:
    """How many mails a session sees now."""
    session.noop()
    said = session.untagged_responses.get("EXISTS", [b"0"])[-1]
    match = _EXISTS.match(said) if isinstance(said, bytes) else None
    assert match is not None
    return int(match[1])


def load(dovecots: dict[str, Dovecot], seconds: float, writers: int) -> dict[str, Told]:
    """Clients of both append and flag, and mail is delivered: what they were told."""
    told: dict[str, Told] = {}
    until = time.monotonic() + seconds

    def write(node: str, name: str) -> None:
        session, number = selected(dovecots[node]), 0
        while time.monotonic() < until:
            number += 1
            uid = append(session, mail(f"{name}-{number}"))
            told[f"{name}-{number}"] = Told(uid, node)
            session.uid("STORE", str(uid), "+FLAGS", "(\\Flagged)")

    def deliver(node: str) -> None:
        number = 0
        with smtplib.LMTP(HOST, dovecots[node].lmtp_port, timeout=60) as lmtp:
            while time.monotonic() < until:
                number += 1
                lmtp.sendmail("x@example.org", [USER], mail(f"lmtp{node}-{number}"))
                told[f"lmtp{node}-{number}"] = Told(None, node)
                time.sleep(0.25)

    threads = [
        threading.Thread(target=write, args=(node, f"{node}{number}")) for node in "ab" for number in range(writers)
    ]
    threads += [threading.Thread(target=deliver, args=(node,)) for node in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def compared(dovecots: dict[str, Dovecot], told: dict[str, Told]) -> tuple[int, int, int]:
    """Mails that moved, are lost, and are there twice, when both see the same."""

    def views() -> list[dict[int, str]]:
        return [subjects(selected(dovecot)) for dovecot in dovecots.values()]

    wait_until("both see the same", lambda: (found := views())[0] == found[1])
    [seen, _] = views()
    counts = Counter(subject for subject in seen.values() if subject in told)
    uids = {subject: uid for uid, subject in seen.items()}
    moved = sum(each.uid is not None and uids.get(name) not in (None, each.uid) for name, each in told.items())
    return moved, len(told.keys() - counts.keys()), sum(count - 1 for count in counts.values())


def measured(dovecots: dict[str, Dovecot], mails: int, seconds: float, writers: int) -> Found:
    delays = delays_ms(dovecots, mails)
    told = load(dovecots, seconds, writers)
    return Found(delays, len(told), *compared(dovecots, told))


def one_way(mails: int, writers: int, at_once: int) -> float:
    """Mails a second, from the first APPEND on one until a client of the other sees all; with so many in one APPEND."""
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab, dovecot_pair(lab) as pair:
        there = selected(pair.dovecots["b"])
        return appended_a_second(pair.dovecots["a"], there, mails, writers, at_once)


def alone(mails: int, writers: int, at_once: int) -> float:
    """As `one_way`, with one Dovecot and no pyrepl."""
    with Dovecot(users=[USER], is_ours=True) as dovecot:
        return appended_a_second(dovecot, selected(dovecot), mails, writers, at_once)


def appended_a_second(here: Dovecot, there: imaplib.IMAP4, mails: int, writers: int, at_once: int) -> float:
    sessions = [selected(here) for _ in range(writers)]
    rounds = mails // (writers * at_once)

    def write(session: imaplib.IMAP4) -> None:
        for number in range(rounds):
            append_many(session, [mail(f"{number}-{part}") for part in range(at_once)])

    threads = [threading.Thread(target=write, args=(session,)) for session in sessions]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = rounds * writers * at_once
    wait_until("the other has all", lambda: exists(there) >= wanted)
    return wanted / (time.perf_counter() - began)


def append_many(session: imaplib.IMAP4, texts: list[bytes]) -> None:
    """All with one APPEND (RFC 3502), whose literals wait for nothing (RFC 7888)."""
    parts = b"".join(b" {%d+}\r\n%b" % (len(text), text) for text in texts)
    session.send(b"many APPEND INBOX" + parts + b"\r\n")
    while not (line := session.readline()).startswith(b"many "):
        assert line.startswith(b"* "), line
    assert line.startswith(b"many OK"), line


def idle_percent(boxes: int, seconds: float) -> float:
    """Processor time of a node where nothing happens, with its keeper, in % of a core."""
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        cluster = MailboxCluster(lab, "ab")
        cluster.start("a", "b", **SETTINGS)
        with cluster.client("a") as client:
            for number in range(boxes):
                user, place = f"user{number % USERS}", number // USERS
                client.create(user, f"F{place}" if place else "INBOX")
            client.check()
        # By then gates are shut that were open for what was made.
        time.sleep(2 * IDLE_S)
        lock = cluster.folder("a") / "mail" / "user0" / "dovecot-uidlist.lock"
        pids = [cluster.nodes["a"].process.pid, int(lock.read_text().partition(":")[0])]
        before = sum(map(processor_s, pids))
        time.sleep(seconds)
        return 100 * (sum(map(processor_s, pids)) - before) / seconds


def processor_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def shown(found: dict[str, Found]) -> Table:
    table = Table(title="Two Dovecots, one INBOX", caption="delays one at a time; the rest under load")
    for column in ("", *found):
        table.add_column(column, justify="right" if column else "left")
    lines: dict[str, Callable[[Found], object]] = {
        "OK to visible elsewhere, p50": lambda each: f"{statistics.median(each.delays_ms):.1f} ms",
        "OK to visible elsewhere, p99": lambda each: (
            f"{sorted(each.delays_ms)[int(len(each.delays_ms) * 0.99)]:.1f} ms"
        ),
        "mails": lambda each: each.mails,
        "UIDs moved": lambda each: each.moved,
        "lost": lambda each: each.lost,
        "doubled": lambda each: each.doubled,
    }
    for what, of in lines.items():
        table.add_row(what, *(str(of(each)) for each in found.values()))
    return table


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.dovecots", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mails", type=int, default=200, help="mails one at a time (default 200)")
    parser.add_argument("--seconds", type=float, default=20, help="of load, and of silence times three (default 20)")
    parser.add_argument("--writers", type=int, default=2, help="clients of each Dovecot (default 2)")
    parser.add_argument("--boxes", type=int, default=2000, help="mailboxes of the idle node (default 2000)")
    parser.add_argument("--many", type=int, default=2000, help="mails one way (default 2000)")
    options = parser.parse_args()
    found = {}
    ways = {"pyrepl": by_pyrepl, f"pyrepl, {DELAY_MS} ms": by_pyrepl_far, "dsync": by_dsync}
    for name, kept in ways.items():
        with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab, kept(lab) as dovecots:
            found[name] = measured(dovecots, options.mails, options.seconds, options.writers)
    Console().print(shown(found))
    for at_once in (1, 50):
        speeds = [way(options.many, 2 * options.writers, at_once) for way in (one_way, alone)]
        print("one way, 4 KB, {} with an APPEND: {:.0f} mails/s, a Dovecot alone {:.0f}".format(at_once, *speeds))
    print(f"idle, {options.boxes} mailboxes: {idle_percent(options.boxes, 3 * options.seconds):.2f} % of a core")


if __name__ == "__main__":
    main()
