"""A node that was away for longer than the others' journals reach: it takes what differs, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

from pyrepl.mailbox.client import Message
from tests.fault.mailbox_cluster import USER, MailboxCluster
from tests.peers.lab import Lab, wait_until
from tests.peers.proxy import Proxy

BEFORE: Final = 500
NEW: Final = 300
GONE: Final = 100
CHANGES: Final = 50_000


def _messages(what: str, count: int) -> list[Message]:
    return [Message(b"%s %d\r\n" % (what.encode(), number)) for number in range(count)]


def _put_aside(maildir: Path) -> dict[Path, Path]:
    """Take all texts out of the Maildir: where each was, and where it is."""
    places = {path: maildir / f"aside.{path.name}" for path in (maildir / "cur").iterdir()}
    for path, place in places.items():
        path.rename(place)
    return places


def test_away_for_fifty_thousand_changes(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b", **{"mailbox-journal-size": "1mb"})
    here = cluster.client("a")
    for folder in ("INBOX", "Quiet"):
        here.create(USER, folder)
    old = [each.uid for each in here.append_all(USER, "INBOX", _messages("old", BEFORE))]
    here.append_all(USER, "Quiet", _messages("quiet", 20))
    here.check()
    shown = cluster.wait_equal()
    cluster.nodes["b"].kill()
    for number in range(CHANGES // BEFORE):
        add, remove = (["\\Flagged"], []) if number % 2 == 0 else ([], ["\\Flagged"])
        here.store(USER, "INBOX", old, add=add, remove=remove)
    here.expunge(USER, "INBOX", old[:GONE])
    here.store(USER, "INBOX", old[GONE:], add=["\\Seen"])
    here.check()
    # Texts that b has must not be asked for: they are not to be had before it has done all.
    aside = _put_aside(cluster.folder("a") / "mail" / USER)
    here.append_all(USER, "INBOX", _messages("new", NEW))
    with Proxy(cluster.ports["a"], keeps=True) as proxy:
        members = cluster.members.replace(f":{cluster.ports['a']}", f":{proxy.port}")
        cluster.start("b", **{"mailbox-journal-size": "1mb", "mailbox-members": members})
        cluster.nodes["b"].wait_log("resync_by_state_done a")
        here.check()
        for path, place in aside.items():
            place.rename(path)
        assert "text_missing" not in cluster.nodes["a"].log() + cluster.nodes["b"].log()
        after = cluster.wait_equal()
        assert _texts(proxy) == Counter(each.text for each in _messages("new", NEW)), "each new text once, no old one"
        _goes_on(cluster, after, shown, old)


def test_what_a_member_whose_maildir_is_missing_cannot_send_is_not_taken_for_expunged(lab: Lab) -> None:
    cluster = MailboxCluster(lab, "ab")
    cluster.start("a", "b", **{"mailbox-journal-size": "1mb"})
    here = cluster.client("a")
    here.create(USER, "INBOX")
    old = [each.uid for each in here.append_all(USER, "INBOX", _messages("old", BEFORE))]
    here.check()
    cluster.nodes["b"].kill()
    for number in range(100):
        add, remove = (["\\Flagged"], []) if number % 2 == 0 else ([], ["\\Flagged"])
        here.store(USER, "INBOX", old, add=add, remove=remove)
    new = [each.uid for each in here.append_all(USER, "INBOX", _messages("new", 20))]
    here.check()
    home = cluster.folder("a") / "mail" / USER
    home.rename(home.with_name("away"))
    with Proxy(cluster.ports["a"], keeps=True) as proxy:
        members = cluster.members.replace(f":{cluster.ports['a']}", f":{proxy.port}")
        cluster.start("b", **{"mailbox-journal-size": "1mb", "mailbox-members": members})
        cluster.nodes["b"].wait_log("resync_by_state a")
        wait_until(
            "a has said that it cannot read", lambda: any(b" NO FAILED" in said for said in proxy.kept("down")), 30
        )
        cluster.nodes["b"].kill()
    home.with_name("away").rename(home)
    cluster.start("b", **{"mailbox-journal-size": "1mb"})
    after = cluster.wait_equal()
    assert sorted(after) == [*old, *new], "b has all, and a has lost nothing"


def _texts(proxy: Proxy) -> Counter[bytes]:
    """The texts that a has sent to b by this proxy, and how often. They stand on the wire as they are."""
    return Counter(text for said in proxy.kept("down") for text in re.findall(rb"(?:old|quiet|new) [0-9]+\r\n", said))


def _goes_on(
    cluster: MailboxCluster, after: dict[int, tuple[str, bytes]], shown: dict[int, tuple[str, bytes]], old: list[int]
) -> None:
    """All is as it was done on a, and what is done on b comes to a."""
    assert len(after) == BEFORE - GONE + NEW and len(cluster.wait_equal(".Quiet")) == 20
    assert [uid for uid in shown if uid in after] == old[GONE:], "no message has another UID than it had"
    assert {letters for uid, (letters, _) in after.items() if uid in shown} == {"S"}
    there = cluster.client("b")
    there.store(USER, "INBOX", [min(after)], add=["\\Draft"])
    there.check()
    assert cluster.wait_equal()[min(after)][0] == "DS"
