"""MAILBOX JOIN of all users of a Maildir store, to a node that has none of them: what it takes.

    python -m bench.mailbox_join --users 20 --folders 100 --messages 1000

One node gets Maildirs as a Dovecot left them, each message a file of its own. JOIN of all users is done when the node
says so, and the mail has come when the other node has the last message. A second JOIN then has to send nothing.
Seconds are of the wall, and of the processor in either daemon; memory is the largest resident size of each daemon in
that step.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.mailbox_resync import Used, begin, messages, show, since
from pyrepl.mailbox.maildir.uidlist import Entry, Header, Uidlist, render
from tests.fault.mailbox_cluster import MailboxCluster
from tests.peers.lab import Lab, Node, wait_until

PATIENCE_S: Final = 7200.0
FIRST_S: Final = 1_700_000_000
"""When the first message came, Unix seconds."""
TEXT: Final = b"Subject: %d of %d\r\n\r\n" + b"x" * 1000 + b"\r\n"


def main() -> None:
    """Print what each step took."""
    parser = argparse.ArgumentParser(prog="python -m bench.mailbox_join", description=__doc__)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--folders", type=int, default=100, help="of each user")
    parser.add_argument("--messages", type=int, default=1000, help="in each folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        cluster = MailboxCluster(lab, "ab")
        for user in range(options.users):
            for number in range(options.folders):
                _fill(_maildir(cluster, user, number), user * options.folders + number, options.messages)
        print("the Maildirs are made", flush=True)
        _measure(cluster, options.users * options.folders * options.messages)


def _maildir(cluster: MailboxCluster, user: int, number: int) -> Path:
    root = cluster.folder("a") / "mail" / f"user{user}"
    return root if number == 0 else root / f".Folder {number}"


def _fill(maildir: Path, place: int, count: int) -> None:
    """A mailbox as Dovecot has it; `place` is its number among all."""
    for part in ("cur", "new", "tmp"):
        (maildir / part).mkdir(parents=True)
    entries = []
    for number in range(1, count + 1):
        text = TEXT % (number, place)
        base = f"{FIRST_S + number}.M{place}P{number}.host,S={len(text)},W={len(text)}"
        (maildir / "cur" / f"{base}:2,S").write_bytes(text)
        entries.append(Entry(number, base.encode()))
    header = Header(FIRST_S, count + 1, f"{place:032x}".encode())
    (maildir / "dovecot-uidlist").write_bytes(render(Uidlist(header, tuple(entries))))


def _measure(cluster: MailboxCluster, count: int) -> None:
    cluster.start("a", "b", **{"mailbox-gate": "on"})
    a, b = cluster.nodes["a"], cluster.nodes["b"]
    before, before_b, began = begin(a), begin(b), time.monotonic()
    assert a.call("MAILBOX", "JOIN", "*") == "OK"
    a.wait_log("joined", PATIENCE_S)
    show("JOIN", time.monotonic() - began, _used(before, a, before_b, b))
    wait_until("the other node has all", lambda: messages(b) == count, PATIENCE_S, 0.5)
    show("all is on both", time.monotonic() - began, _used(before, a, before_b, b))
    print(f"{count:,} messages; inotify watches: {_watches(a):,} and {_watches(b):,}", flush=True)
    before, before_b, began = begin(a), begin(b), time.monotonic()
    said = _journal_bytes(a), _journal_bytes(b)
    assert a.call("MAILBOX", "JOIN", "*") == "OK"
    wait_until("JOIN again", lambda: a.log().count(" joined ") > 1, PATIENCE_S)
    show("JOIN again", time.monotonic() - began, _used(before, a, before_b, b))
    print(
        f"bytes that the journals grew by: {_journal_bytes(a) - said[0]} and {_journal_bytes(b) - said[1]}", flush=True
    )


def _used(before: Used, a: Node, before_b: Used, b: Node) -> dict[str, Used]:
    return {"the one that has the mail": since(before, a), "the other": since(before_b, b)}


def _journal_bytes(node: Node) -> int:
    return int(node.info("mailboxes")["mailbox_journal_bytes"])


def _watches(node: Node) -> int:
    """inotify's, as the kernel tells them (proc(5))."""
    infos = Path(f"/proc/{node.process.pid}/fdinfo").iterdir()
    return sum(line.startswith("inotify ") for info in infos for line in info.read_text().splitlines())


if __name__ == "__main__":
    main()
