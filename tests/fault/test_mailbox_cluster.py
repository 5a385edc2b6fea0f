"""Three daemons that keep one mailbox: writers on two of them at once, and kill -9 of others meanwhile. Requirement P3:
one process a node, for all users."""

from __future__ import annotations

import shutil
import ssl

import pytest

from pyrepl.mailbox.client import MailboxClient, MailboxError, Message
from tests.fault.mailbox_cluster import USER, MailboxCluster, Writer
from tests.peers.lab import Lab, wait_until

MAILS = 16


def half_written(lab: Lab) -> tuple[MailboxCluster, Writer, Writer]:
    """Three nodes, and writers on two of them of which one has written half."""
    cluster = MailboxCluster(lab)
    cluster.start("a", "b", "c")
    cluster.client("a").create(USER, "INBOX")
    cluster.client("b").check()
    one, two = Writer(cluster.client("a"), "a", MAILS), Writer(cluster.client("b"), "b", MAILS)
    one.half()
    return cluster, one, two


def test_two_writers_and_nodes_that_are_killed(lab: Lab) -> None:
    cluster, one, two = half_written(lab)
    cluster.nodes["c"].kill()
    one.join()
    two.join()
    assert len(one.kept) == len(two.kept) == MAILS
    cluster.start("c")
    shown = cluster.wait_equal()
    assert sorted(text for _, text in shown.values()) == sorted(one.kept + two.kept)
    assert {letters for letters, _ in shown.values()} == {"S"}
    # Now one that is written to.
    one, two = Writer(cluster.client("a"), "a again", MAILS), Writer(cluster.client("b"), "b again", MAILS)
    one.half()
    cluster.nodes["a"].kill()
    one.join()
    two.join()
    cluster.start("a")
    after = [text for uid, (_, text) in cluster.wait_equal().items() if uid not in shown]
    assert set(one.kept + two.kept) <= set(after) <= set(one.said + two.said)
    assert len(after) == len(set(after))


def test_all_nodes_are_killed_at_once(lab: Lab) -> None:
    cluster, one, two = half_written(lab)
    for node in cluster.nodes.values():
        node.kill()
    one.join()
    two.join()
    cluster.start("a", "b", "c")
    texts = [text for _, text in cluster.wait_equal().values()]
    assert set(one.kept + two.kept) <= set(texts) <= set(one.said + two.said)
    assert len(texts) == len(set(texts))


def test_flags_copies_folders_and_large_texts(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b")
    here, there = cluster.client("a"), cluster.client("b")
    here.create(USER, "INBOX")
    here.create(USER, "Work")
    saved = here.append_all(USER, "INBOX", [Message(b"%d" % number * 5) for number in range(8)])
    large = here.append(USER, "INBOX", bytes(range(256)) * 8000, ["\\Flagged", "work"])
    here.check()
    there.store(USER, "INBOX", [each.uid for each in saved[:4]], add=["\\Seen"])
    assert there.copy(USER, "INBOX", [large.uid], "Work") == [1]
    there.move(USER, "INBOX", [saved[5].uid], "Work")
    there.expunge(USER, "INBOX", [saved[0].uid])
    there.rename(USER, "Work", "Old/2026")
    there.check()
    assert len(here.fetch(USER, large.guid)) == 2_048_000
    inbox, moved = cluster.wait_equal(), cluster.wait_equal(".Old.2026")
    assert [uid for uid, (letters, _) in sorted(inbox.items()) if "S" in letters] == [2, 3, 4]
    assert sorted(inbox) == [2, 3, 4, 5, 7, 8, 9]
    assert [text for _, text in moved.values()] == [bytes(range(256)) * 8000, b"55555"]
    cluster.wait_nothing_dropped()


def test_a_mail_process_by_tcp(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "a")
    cluster.start("a")
    cluster.client("a").create(USER, "INBOX")
    address = ("127.0.0.1", cluster.ports["a"])
    with MailboxClient(address=address, secret=b"0123456789abcdef", user=USER) as mail:
        assert mail.append(USER, "INBOX", b"hello").uid == 1
    assert cluster.view("a") == {1: ("", b"hello")}


def test_links_and_mail_processes_by_tls(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b", **lab.authority.directives() | {"tls-port": "0", "tls-mailbox": "yes"})
    cluster.client("a").create(USER, "INBOX")
    context = ssl.create_default_context(cafile=lab.authority.ca_file)
    context.load_cert_chain(lab.authority.folder / "node.pem")
    address = ("127.0.0.1", cluster.ports["b"])
    with MailboxClient(address=address, secret=b"0123456789abcdef", tls=context) as mail:
        assert mail.append(USER, "INBOX", b"hello" * 100_000).acks == 1
    assert [text for _, text in cluster.wait_equal().values()] == [b"hello" * 100_000]
    with pytest.raises(MailboxError, match="TLS only"):
        MailboxClient(address=address, secret=b"0123456789abcdef")


def test_l1_a_node_whose_disk_was_lost_votes_when_it_has_what_the_others_have(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "abw")
    cluster.start("a", "b", "w")
    mail = cluster.client("a")
    mail.create(USER, "INBOX")
    mail.append(USER, "INBOX", b"kept by a", ["\\Seen"])
    before = cluster.wait_equal()
    cluster.nodes["b"].kill()
    shutil.rmtree(cluster.folder("b"))
    cluster.start("b")
    b = cluster.nodes["b"]
    assert "fresh b: this node has no data yet" in b.log()
    b.wait_log("fresh_over b by a")
    assert cluster.wait_equal() == before
    cluster.nodes["a"].kill()
    b_mail = cluster.client("b")
    wait_until("b and the witness have a root", lambda: b.info("mailboxes")["mailbox_root"] == "b")
    b_mail.append(USER, "INBOX", b"while a is off")
    assert sorted(text for _, text in cluster.view("b").values()) == [b"kept by a", b"while a is off"]


def test_v8_what_is_left_out_is_refused_and_so_is_what_would_be_on_one_node_alone(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b", **{"mailbox-exclude": "bob */Trash", "mailbox-single-copy": "refuse"})
    mail = cluster.client("a")
    mail.create(USER, "INBOX")
    for user, name in ((USER, "Trash"), ("bob", "INBOX")):
        with pytest.raises(MailboxError, match="mailbox-exclude leaves it out"):
            mail.create(user, name)
    assert mail.append(USER, "INBOX", b"on both").acks == 1
    cluster.nodes["b"].kill()
    wait_until("the link is down", lambda: "link=down" in cluster.nodes["a"].info("mailboxes")["mailbox_member1"])
    with pytest.raises(MailboxError, match="no other node can be reached, and mailbox-single-copy refuses"):
        mail.append(USER, "INBOX", b"on one")
    assert [text for _, text in cluster.view("a").values()] == [b"on both"]
    cluster.start("b", **{"mailbox-exclude": "bob */Trash", "mailbox-single-copy": "refuse"})
    assert mail.append(USER, "INBOX", b"on both again").acks == 1
