"""Texts that a disk damaged, on real daemons: found by reading again, mended from another node."""

from __future__ import annotations

from pathlib import Path

from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.fault.test_mailbox_operator import filled, said
from tests.peers.lab import Lab, wait_until


def damaged(cluster: MailboxCluster, name: str, text: bytes) -> Path:
    """Damage the file that holds a text, on one node; where it is."""
    [path] = [each for each in (cluster.folder(name) / "mail" / USER / "cur").iterdir() if each.read_bytes() == text]
    path.write_bytes(bytes([text[0] ^ 1]) + text[1:])
    return path


def test_l8_whatever_is_damaged_on_either_node_is_mended_by_the_other(lab: Lab) -> None:
    cluster, mail = filled(lab)
    large = b"Subject: large\r\n\r\n" + bytes(range(256)) * 4096
    mail.append(USER, "INBOX", large, ["\\Flagged"])
    before = cluster.wait_equal()
    paths = [damaged(cluster, "a", b"mail 1"), damaged(cluster, "b", b"mail 4"), damaged(cluster, "b", large)]
    for name in "ab":
        assert said(cluster.nodes[name], "SCRUB") == "OK"
        cluster.nodes[name].wait_log("scrub_done 7 texts")
    assert cluster.wait_equal() == before
    assert all(path.exists() for path in paths), "under the names that they had"
    wait_until("all is told", lambda: [cluster.nodes[name].log().count("text_mended") for name in "ab"] == [1, 2])


def test_l8_a_damaged_text_reaches_no_other_node_and_what_follows_comes_when_it_is_mended(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "abc")
    cluster.start("a", "b", "c")
    mail = cluster.client("a")
    mail.create(USER, "INBOX")
    mail.check()
    cluster.nodes["c"].terminate()
    mail.append(USER, "INBOX", b"a text that goes bad")
    damaged(cluster, "a", b"a text that goes bad")
    # It has the good one, and c could ask it first.
    cluster.nodes["b"].terminate()
    cluster.start("c")
    mail.append(USER, "INBOX", b"what follows")
    cluster.nodes["c"].wait_log("text_wrong from a")
    cluster.start("b")
    assert said(cluster.nodes["a"], "SCRUB") == "OK"
    shown = cluster.wait_equal()
    assert sorted(text for _, text in shown.values()) == [b"a text that goes bad", b"what follows"]
