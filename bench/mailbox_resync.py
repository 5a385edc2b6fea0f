"""A node that was away for longer than any journal reaches, and keeps a million messages: what its resync takes.

    python -m bench.mailbox_resync --messages 1000000

Two nodes keep the mailboxes of ten users, in mailboxes of a thousand messages. One is killed; on the other each user's
INBOX gets other flags and new mail, so often that its journal of 1 MB has not all of it. Then the one that was away is
started: it reads its Maildirs, and takes the other's state (docs/mailboxes.md). Seconds are of the wall, and of the
processor in either daemon; memory is the largest resident size of each in that step.

Most messages are copies of others in other mailboxes, hard links to one file: there are ten thousand texts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from pyrepl.mailbox.client import MailboxClient, Message
from tests.fault.mailbox_cluster import MailboxCluster
from tests.peers.lab import Lab, Node, wait_until

USERS: Final = tuple(f"user{number}" for number in range(10))
IN_A_BOX: Final = 1000
NEW: Final = 10
"""Messages that each user gets while the node is away."""
FLAGGINGS: Final = 20
"""How often the flags of each INBOX change meanwhile: a journal of 1 MB has not all of that."""
PATIENCE_S: Final = 7200.0
AWAY: Final = "the one that was away"
OTHER: Final = "the other"
_RESET_PEAK: Final = "5"
"""To clear_refs (proc(5)): the largest resident size is counted from now on."""


class Used(NamedTuple):
    """By one daemon so far: processor seconds, and its largest resident size in MiB since it was reset."""

    processor_s: float
    peak_mb: float


def main() -> None:
    """Print what each step took."""
    parser = argparse.ArgumentParser(prog="python -m bench.mailbox_resync", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="in all mailboxes together")
    boxes = max(1, parser.parse_args().messages // (len(USERS) * IN_A_BOX))
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        _measure(MailboxCluster(lab, "ab"), boxes)


def _measure(cluster: MailboxCluster, boxes: int) -> None:
    journal = {"mailbox-journal-size": "1mb"}
    count = len(USERS) * IN_A_BOX * boxes
    cluster.start("a", "b", **journal)
    a, b = cluster.nodes["a"], cluster.nodes["b"]
    with cluster.client("a") as mail:
        began = time.monotonic()
        _fill(mail, boxes)
        wait_until("b has all", lambda: messages(b) == count, PATIENCE_S, 0.5)
        print(f"{count:,} messages are on both after {time.monotonic() - began:.0f} s", flush=True)
        b.kill()
        _change(mail)
    before, began = begin(a), time.monotonic()
    b = cluster.launch("b", **journal)
    b.wait_log("The mailbox node a at", PATIENCE_S)
    used = {AWAY: _used(b), OTHER: since(before, a)}
    show("start, with its Maildirs read", time.monotonic() - began, used)
    before, before_b, began = begin(a), begin(b), time.monotonic()
    b.wait_log("resync_by_state_done a", PATIENCE_S)
    used = {AWAY: since(before_b, b), OTHER: since(before, a)}
    show("resync by state", time.monotonic() - began, used)
    wait_until("b has what is new", lambda: messages(b) == count + NEW * len(USERS), PATIENCE_S, 0.5)


def _fill(mail: MailboxClient, boxes: int) -> None:
    for user in USERS:
        mail.create(user, "INBOX")
        texts = [b"Subject: %d\r\n\r\n%s\r\n" % (number, b"x" * 1000) for number in range(IN_A_BOX)]
        uids = [each.uid for each in mail.append_all(user, "INBOX", map(Message, texts))]
        for number in range(1, boxes):
            mail.create(user, f"Folder {number}")
            mail.copy(user, "INBOX", uids, f"Folder {number}")


def _change(mail: MailboxClient) -> None:
    every = range(1, IN_A_BOX + 1)
    for user in USERS:
        for number in range(FLAGGINGS):
            add, remove = (["\\Flagged"], []) if number % 2 == 0 else ([], ["\\Flagged"])
            mail.store(user, "INBOX", every, add=add, remove=remove)
        mail.append_all(user, "INBOX", [Message(b"Subject: new\r\n\r\n")] * NEW)


def messages(node: Node) -> int:
    return int(node.info("mailboxes")["mailbox_messages"])


def begin(node: Node) -> Used:
    """What was used before a step."""
    Path(f"/proc/{node.process.pid}/clear_refs").write_text(_RESET_PEAK)
    return _used(node)


def _used(node: Node) -> Used:
    process = psutil.Process(node.process.pid)
    status = Path(f"/proc/{node.process.pid}/status").read_text().splitlines()
    [peak] = [line for line in status if line.startswith("VmHWM:")]
    times = process.cpu_times()
    return Used(times.user + times.system, int(peak.split()[1]) / 1024)


def since(before: Used, node: Node) -> Used:
    now = _used(node)
    return now._replace(processor_s=now.processor_s - before.processor_s)


def show(step: str, wall_s: float, used: Mapping[str, Used]) -> None:
    """Print what a step took; `used` says by whom what was used."""
    daemons = (f"{who} {each.processor_s:.1f} s of processor, {each.peak_mb:.0f} MiB" for who, each in used.items())
    print(f"{step}: {wall_s:.1f} s; {'; '.join(daemons)}", flush=True)


if __name__ == "__main__":
    main()
