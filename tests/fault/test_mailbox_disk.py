"""Daemons whose Maildirs are not there, or cannot be written: nothing is expunged elsewhere, and all is well when they
are back."""

from __future__ import annotations

import resource

import pytest

from pyrepl.mailbox.client import MailboxClient, MailboxError
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.peers.lab import Lab, wait_until

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
