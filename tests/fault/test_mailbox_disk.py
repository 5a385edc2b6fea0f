"""Daemons whose Maildirs are not there, or cannot be written: nothing is expunged elsewhere, and all is well when they
are back."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
from pathlib import Path
from typing import Final

import pytest

from pyrepl.mailbox.client import MailboxClient, MailboxError, Message
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.peers.lab import Lab, pyrepl_command, wait_until

STANDS = f"The mailboxes of {USER} stand still here: "
GOES = f"The mailboxes of {USER} go on"


def filled(lab: Lab) -> tuple[MailboxCluster, MailboxClient]:
    """Two nodes with mail of two users, and a mail process on a."""
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b")
    mail = cluster.client("a")
    for user in (USER, "bob"):
        mail.create(user, "INBOX")
        for number in range(3):
            mail.append(user, "INBOX", b"before %d of %b\r\n" % (number, user.encode()))
    mail.check()
    cluster.wait_equal()
    return cluster, mail


def saved(mail: MailboxClient, *users: str) -> None:
    for user in users:
        assert mail.append(user, "INBOX", b"meanwhile\r\n").acks == 1


def restart(cluster: MailboxCluster, name: str) -> None:
    cluster.nodes[name].kill()
    cluster.start(name)


def test_a_maildir_of_one_user_that_is_missing_and_a_kill_meanwhile(lab: Lab) -> None:
    cluster, mail = filled(lab)
    home = cluster.folder("b") / "mail" / USER
    home.rename(home.with_name("away"))
    saved(mail, USER, "bob")
    cluster.nodes["b"].wait_log(STANDS)
    mail.store(USER, "INBOX", [1], add=["\\Seen"])
    mail.expunge(USER, "INBOX", [2])
    mail.create(USER, "Work")
    assert len(list((home.with_name("bob") / "cur").iterdir())) == 4, "another user's mail is written"
    with cluster.client("b") as there, pytest.raises(MailboxError, match="stand still"):
        there.append(USER, "INBOX", b"refused")
    restart(cluster, "b")
    saved(mail, USER, "bob")
    assert not home.exists(), "no folder is made where one is missing"
    assert sorted(cluster.view("a")) == [1, 3, 4, 5], "nothing is expunged where it is"
    home.with_name("away").rename(home)
    cluster.nodes["b"].wait_log(GOES)
    shown = cluster.wait_equal()
    assert sorted(shown) == [1, 3, 4, 5] and shown[1][0] == "S"
    assert cluster.wait_equal(".Work") == {}


def test_a_damaged_list_and_a_mailbox_without_its_folder(lab: Lab) -> None:
    cluster, mail = filled(lab)
    home = cluster.folder("b") / "mail" / USER
    path = home / "dovecot-uidlist"
    text = path.read_bytes()
    path.write_bytes(text + b"0 :none\n")
    saved(mail, USER, "bob")
    wait_until("alice stands still", lambda: cluster.nodes["b"].log().count(STANDS) == 1)
    restart(cluster, "b")
    wait_until("alice stands still", lambda: cluster.nodes["b"].log().count(STANDS) >= 2)
    path.write_bytes(text)
    assert sorted(cluster.wait_equal()) == [1, 2, 3, 4]
    cluster.nodes["b"].wait_log(GOES)
    (home / "cur").rename(home / "lost+found")
    saved(mail, USER, "bob")
    wait_until("alice stands still", lambda: cluster.nodes["b"].log().count(STANDS) >= 3)
    assert sorted(cluster.view("a")) == [1, 2, 3, 4, 5]
    (home / "lost+found").rename(home / "cur")
    assert sorted(cluster.wait_equal()) == [1, 2, 3, 4, 5]


def test_a_disk_of_all_maildirs_that_is_not_mounted(lab: Lab) -> None:
    cluster, mail = filled(lab)
    root = cluster.folder("b") / "mail"
    root.rename(root.with_name("unmounted"))
    root.mkdir()
    assert mail.append(USER, "INBOX", b"meanwhile\r\n").uid == 4
    cluster.nodes["b"].wait_log("is the disk of the Maildirs full, or not mounted?")
    assert list(root.iterdir()) == [] and sorted(cluster.view("a")) == [1, 2, 3, 4]
    root.rmdir()
    root.with_name("unmounted").rename(root)
    assert sorted(cluster.wait_equal()) == [1, 2, 3, 4]


def test_a_disk_that_takes_no_more(lab: Lab) -> None:
    """A limit of the size of files stands in for a full disk: the database cannot be written either."""
    cluster, mail = filled(lab)
    process = cluster.nodes["b"].process
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, most))
    mail.expunge(USER, "INBOX", [2])
    cluster.nodes["b"].wait_log("it begins again from what is on disk")
    for number in range(3):
        mail.append(USER, "INBOX", b"meanwhile %d\r\n" % number * 1000)
    assert process.poll() is None and sorted(cluster.view("a")) == [1, 3, 4, 5, 6]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
    assert sorted(cluster.wait_equal()) == [1, 3, 4, 5, 6]


def test_a_list_that_is_cut_in_half(lab: Lab) -> None:
    """Messages without a line are not there for clients of b; the log says how many, and what to do. Nothing is
    expunged on a, and all are there again when the list is back."""
    cluster, mail = filled(lab)
    mail.append_all(USER, "INBOX", [Message(b"more %d\r\n" % number) for number in range(6)])
    mail.check()
    before = cluster.wait_equal()
    path = cluster.folder("b") / "mail" / USER / "dovecot-uidlist"
    data = path.read_bytes()
    left = data[: data.rindex(b"\n", 0, len(data) // 2) + 9]
    path.write_bytes(left)
    saved(mail, USER, "bob")
    mail.store(USER, "INBOX", [1], add=["\\Seen"])
    mail.check()
    restart(cluster, "b")
    missing = len(before) - left.count(b"\n") + 1
    cluster.nodes["b"].wait_log(f"mail_missing {USER} INBOX {missing}: so many messages are missing from the Maildir,")
    assert "Put their files back" in cluster.nodes["b"].log()
    assert before.keys() < cluster.view("a").keys(), "nothing is expunged where it is"
    added = path.read_bytes().rpartition(b"\n10 :")[2]
    path.write_bytes(data + b"10 :" + added)
    restart(cluster, "b")
    found = cluster.wait_equal()
    assert sorted(found) == list(range(1, 11)) and found[1][0] == "S"
    assert all(found[uid][1] == text for uid, (_, text) in before.items())


AS_ROOT: Final = [] if os.geteuid() == 0 else ["sudo", "-n"]
NOBODY: Final = 65534


def give(home: Path, uid: int) -> None:
    """A user's Maildir belongs to that user from now on."""
    subprocess.run([*AS_ROOT, "chown", "-R", str(uid), str(home)], check=True)


@pytest.mark.parametrize("is_restarted", [False, True], ids=["runs", "starts"])
def test_a_maildir_that_belongs_to_somebody_else(lab: Lab, is_restarted: bool) -> None:
    """It is not written, be it that pyrepl could as root: its owner could not read what comes. The log says who owns
    it, and what to do."""
    cluster, mail = filled(lab)
    home = cluster.folder("b") / "mail" / USER
    there = sorted(path.name for path in (home / "cur").iterdir())
    give(home, NOBODY)
    try:
        if is_restarted:
            restart(cluster, "b")
        saved(mail, USER, "bob")
        mail.expunge(USER, "INBOX", [2])
        cluster.nodes["b"].wait_log(f"{STANDS}{home} belongs to uid {NOBODY}, pyrepl runs as uid {os.geteuid()}: ")
        assert "it runs as the owner of the mail, or the folder has to be given to it" in cluster.nodes["b"].log()
        assert sorted(path.name for path in (home / "cur").iterdir()) == there
        assert len(list((home.with_name("bob") / "cur").iterdir())) == 4, "another user's mail is written"
        assert sorted(cluster.view("a")) == [1, 3, 4], "nothing is expunged where it is"
    finally:
        give(home, os.geteuid())
    cluster.nodes["b"].wait_log(GOES)
    assert sorted(cluster.wait_equal()) == [1, 3, 4]


RENAMED: Final = [
    *("unshare", "--user", "--map-root-user", "--uts", "sh", "-c"),
    'hostname the-name-of-now && exec "$@"',
    "sh",
]
"""The command that follows sees a machine of another name."""


def test_a_machine_that_got_another_name(lab: Lab) -> None:
    """b was killed under the lock of a mailbox, which names the machine as it was called: nobody can tell whether its
    owner lives, and it is taken away when it has stayed for some seconds. Files that were there keep their names, and
    their messages their UIDs."""
    cluster, mail = filled(lab)
    home, old = cluster.folder("b") / "mail" / USER, cluster.nodes["b"]
    names = {path.name.partition(":2,")[0] for path in (home / "cur").iterdir()}
    old.kill()
    lock = home / "dovecot-uidlist.lock"
    lock.write_text(f"{old.process.pid}:{socket.gethostname()}")
    mail.store(USER, "INBOX", [1], add=["\\Seen"])
    mail.expunge(USER, "INBOX", [2])
    cluster.launch("b", [*RENAMED, *pyrepl_command()]).wait_ready()
    mail.append(USER, "INBOX", b"meanwhile\r\n")
    cluster.nodes["b"].wait_log(f"{STANDS}{lock} is held by ")
    cluster.nodes["b"].wait_log(GOES)
    with cluster.client("b") as there:
        assert there.append(USER, "INBOX", b"under the new name\r\n").uid == 5
    found = cluster.wait_equal()
    assert sorted(found) == [1, 3, 4, 5] and found[1][0] == "S" and not lock.exists()
    bases = {path.name.partition(":2,")[0] for path in (home / "cur").iterdir()}
    assert len(bases & names) == 2, "what was there and is not expunged"
    assert "mail_missing" not in cluster.nodes["b"].log()
