"""A member whose disk refuses for all users is, for the others, as one that is off: they go on. It says why it does
nothing, and all is equal when the disk is back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrepl.mailbox.client import MailboxClient, MailboxError, Saved
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.fault.test_small_disk import Disk
from tests.peers.lab import Lab, Node, pyrepl_command, wait_until

MARKER = ".pyrepl-mailboxes"
REFUSES = "The disk of all Maildirs refuses: "
AGAIN = "Mailboxes are kept again"


def filled(lab: Lab, names: str, **directives: str) -> tuple[MailboxCluster, dict[str, MailboxClient]]:
    """Nodes that all have saved mail, and a mail process on each. The last one saved last."""
    cluster = MailboxCluster(lab, names)
    cluster.start(*names, **directives)
    mails = {name: cluster.client(name) for name in names}
    mails[names[0]].create(USER, "INBOX")
    mails[names[0]].check()
    for name in names:
        mails[name].append(USER, "INBOX", b"before, by %b\r\n" % name.encode())
    mails[names[-1]].check()
    assert len(cluster.wait_equal()) == len(names)
    return cluster, mails


def status(node: Node) -> dict[str, Any]:
    flat = node.call("MAILBOX", "STATUS")
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


def why_closed(node: Node) -> str:
    _, why, _, _ = status(node)["closed"]
    found: str = why.decode()
    return found


def take_away(cluster: MailboxCluster, name: str) -> Path:
    """The Maildirs of a member are not there any more, as when their disk is not mounted; where they are."""
    root = cluster.folder(name) / "mail"
    away = root.with_name("unmounted")
    root.rename(away)
    root.mkdir()
    cluster.nodes[name].wait_log(REFUSES)
    wait_until("it says that it is closed", lambda: status(cluster.nodes[name])["state"] == b"closed")
    return away


def bring_back(cluster: MailboxCluster, name: str, away: Path) -> None:
    root = cluster.folder(name) / "mail"
    assert list(root.iterdir()) == [], "nothing is written where nothing is mounted"
    root.rmdir()
    away.rename(root)
    cluster.nodes[name].wait_log(AGAIN)


def saved(mail: MailboxClient, text: bytes) -> Saved:
    """As soon as it is taken. Who began to wait before the others knew may be answered TIMEOUT."""
    found: list[Saved] = []

    def takes() -> bool:
        try:
            found.append(mail.append(USER, "INBOX", text))
        except MailboxError:
            return False
        return True

    wait_until("mail is taken", takes)
    return found[0]


def refused(mail: MailboxClient) -> str:
    """The word that says why mail is not taken; "" if it is."""
    try:
        mail.append(USER, "INBOX", b"refused\r\n")
    except MailboxError as error:
        return error.reason
    return ""


def test_of_two_members_the_other_one_goes_on_apart(lab: Lab) -> None:
    cluster, mails = filled(lab, "ab")
    there = cluster.nodes["b"]
    away = take_away(cluster, "b")
    wait_until("a knows that it is apart", lambda: status(cluster.nodes["a"])["apart"] == 1)
    for number in range(3):
        assert saved(mails["a"], b"meanwhile %d\r\n" % number).acks == 0
    assert "mail/.pyrepl-mailboxes is missing: is the disk of the Maildirs mounted?" in why_closed(there)
    assert there.info("mailboxes")["mailbox_ready"] == "0"
    shown = subprocess.run(
        [*pyrepl_command(), "mailbox", "status", f"127.0.0.1:{there.port}", "--timeout", "60"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert shown.returncode == 1 and "CLOSED for " in shown.stdout and f"{MARKER} is missing" in shown.stdout
    with pytest.raises((OSError, MailboxError)):
        MailboxClient(str(cluster.folder("b") / "socket")).append(USER, "INBOX", b"refused\r\n")
    bring_back(cluster, "b", away)
    assert len(cluster.wait_equal()) == 5
    assert saved(cluster.client("b"), b"after\r\n").acks == 1
    assert len(cluster.wait_equal()) == 6 and why_closed(there) == ""


def test_of_two_members_that_refuse_when_they_are_apart_the_other_one_says_so(lab: Lab) -> None:
    cluster, mails = filled(lab, "ab", **{"mailbox-apart": "refuse"})
    away = take_away(cluster, "b")
    wait_until("a refuses, as it is apart", lambda: refused(mails["a"]) == "APART")
    bring_back(cluster, "b", away)
    assert saved(mails["a"], b"after\r\n").acks == 1
    assert sorted(text for _, text in cluster.wait_equal().values()) == [
        b"after\r\n",
        b"before, by a\r\n",
        b"before, by b\r\n",
    ]


def test_of_three_members_the_others_elect_another_root_and_are_not_apart(lab: Lab) -> None:
    cluster, mails = filled(lab, "abc")
    wait_until("a root", lambda: status(cluster.nodes["a"])["root"])
    root = status(cluster.nodes["a"])["root"].decode()
    others = sorted({*"abc"} - {root})
    away = take_away(cluster, root)
    for name in others:
        assert saved(mails[name], b"meanwhile, by %b\r\n" % name.encode()).acks == 1
    shown = [status(cluster.nodes[name]) for name in others]
    wait_until("another root", lambda: status(cluster.nodes[others[0]])["root"].decode() in others)
    assert [each["apart"] for each in shown] == [0, 0]
    assert cluster.view(others[0]) == cluster.view(others[1]) and len(cluster.view(others[0])) == 5
    bring_back(cluster, root, away)
    assert len(cluster.wait_equal()) == 5


def test_gates_stay_shut_while_the_disk_refuses_and_go_when_the_node_ends(lab: Lab) -> None:
    gates = {"mailbox-gate": "on"}
    cluster, mails = filled(lab, "ab", **gates)
    assert saved(mails["a"], b"so a gives out the UIDs\r\n").acks == 1
    lock = cluster.folder("b") / "mail" / USER / "dovecot-uidlist.lock"
    wait_until("the gate is shut", lock.exists)
    marker = cluster.folder("b") / "mail" / MARKER
    said = marker.read_bytes()
    marker.unlink()
    cluster.nodes["b"].wait_log(REFUSES)
    saved(mails["a"], b"meanwhile\r\n")
    keeper = int(lock.read_text().partition(":")[0])
    os.kill(keeper, 0)
    cluster.nodes["b"].terminate()
    wait_until("the gate is gone", lambda: not lock.exists())
    marker.write_bytes(said)
    cluster.start("b", **gates)
    assert len(cluster.wait_equal()) == 4


@pytest.fixture
def small(lab: Lab) -> Iterator[Disk]:
    """A disk of 2 MB for the Maildirs of b."""
    folder = lab.folder / "b" / "mail"
    folder.mkdir(parents=True)
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    mount = [*as_root, "mount", "-t", "tmpfs", "-o", "size=2m,mode=0777", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"this test mounts a small tmpfs, which only root may, here or by sudo: {done.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run([*as_root, "umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_closes_the_node_until_there_is_room(lab: Lab, small: Disk) -> None:
    cluster, mails = filled(lab, "ab")
    small.fill(0)
    saved(mails["a"], b"meanwhile\r\n" * 1000)
    cluster.nodes["b"].wait_log(REFUSES)
    wait_until("it says why", lambda: "No space left on device" in why_closed(cluster.nodes["b"]))
    saved(mails["a"], b"more\r\n" * 1000)
    small.free()
    cluster.nodes["b"].wait_log(AGAIN)
    assert len(cluster.wait_equal()) == 4
    drop = small.folder / ".pyrepl-drop"
    wait_until("no texts are left", lambda: not any(drop.iterdir()))
