"""Two nodes that keep mail in sdbox, each by the doveadm of a Dovecot 2.4: what clients do at either is at both."""

from __future__ import annotations

import imaplib
import os
import random
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_load import subjects
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.interop.test_dovecot_apart import flags_of, has_mails, part, remembered, resynced
from tests.peers.lab import Lab, wait_until

VERSIONS: Final = {"a": "2.4", "b": "2.4"}
SDBOX: Final = {"a": "sdbox", "b": "sdbox"}
TEXT: Final = b"Subject: %s\r\n\r\nline\r\n\x00\xff end"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can enter the root of another Debian")


def mail(name: str) -> bytes:
    return TEXT % name.encode()


def folders(pair: DovecotPair, node: str, command: str = "list") -> set[str]:
    """The folders, or those that are subscribed, as a new session is told."""
    with pair.dovecots[node].imap(USER) as session:
        answers = getattr(session, command)()[1]
    found = (re.fullmatch(rb'\(.*?\) "/" "?(.*?)"?', answer) for answer in answers if isinstance(answer, bytes))
    return {match[1].decode() for match in found if match}


def wait_folders(pair: DovecotPair, node: str, names: set[str], command: str = "list") -> None:
    wait_until(
        f"{command} of {sorted(names)} on {node}",
        lambda: folders(pair, node, command) == names,
        timeout_s=60,
        every_s=0.3,
    )


def has_uids(pair: DovecotPair, node: str, folder: str, uids: list[int]) -> bool:
    """Does a folder hold just these?"""
    return list(shown(pair.imap(node, folder))) == uids


def has_flags(session: imaplib.IMAP4, wanted: dict[int, frozenset[str]]) -> bool:
    return {uid: flags for uid, (flags, _) in shown(session).items()} == wanted


def contents(session: imaplib.IMAP4) -> dict[bytes, tuple[bytes, bytes]]:
    """UID -> date and text."""
    session.noop()
    _, answers = session.uid("FETCH", "1:*", "(INTERNALDATE BODY.PEEK[])")
    found = {}
    for answer in answers:
        if isinstance(answer, tuple):
            head = re.search(rb'UID (\d+) INTERNALDATE ("[^"]*")', answer[0])
            assert head, answer
            found[head[1]] = head[2], answer[1]
    return found


@pytest.mark.parametrize("driver", ["sdbox", pytest.param("mdbox", marks=pytest.mark.matrix)])
def test_what_clients_of_either_do_is_at_both(lab: Lab, driver: str) -> None:
    with dovecot_pair(lab, versions=VERSIONS, drivers=dict.fromkeys("ab", driver)) as pair:
        a, b = pair.imap("a"), pair.imap("b")
        date = '"14-Nov-2023 22:13:20 +0000"'
        a.append("INBOX", "(\\Seen $Work)", date, mail("one"))
        wait_until("b has the first", lambda: list(shown(b)) == [1])
        assert append(b, mail("two"), "(kw)") == 2
        assert list(pair.wait_equal(a, b)) == [1, 2]
        assert contents(a) == contents(b) and b"14-Nov-2023 22:13:20 +0000" in contents(b)[b"1"][0]
        b.uid("STORE", "1", "+FLAGS", "(\\Flagged home)")
        b.uid("STORE", "1", "-FLAGS", "($Work)")
        a.uid("STORE", "2", "-FLAGS", "(kw)")
        wanted = {1: frozenset({"\\Seen", "\\Flagged", "home"}), 2: frozenset()}
        for session in (a, b):
            wait_until("flags", partial(has_flags, session, wanted))
        a.uid("COPY", "1", "INBOX")
        wait_until("a copy in its own mailbox is a message of its own", lambda: len(shown(b)) == 3)
        found = pair.wait_equal(a, b)
        assert len({guid for _, guid in found.values()}) == 3
        a.uid("STORE", "1", "+FLAGS", "(\\Deleted)")
        a.expunge()
        wait_until("it is expunged at b", lambda: len(shown(b)) == 2 and 1 not in shown(b))
        pair.wait_equal(a, b)
        moved_of_folders(pair, a, b)


def moved_of_folders(pair: DovecotPair, a: imaplib.IMAP4, b: imaplib.IMAP4) -> None:
    a.create("Work/Sub")
    b.create("Old")
    a.subscribe("Work/Sub")
    for node in "ab":
        wait_folders(pair, node, {"INBOX", "Old", "Work", "Work/Sub"})
    wait_folders(pair, "b", {"Work/Sub"}, "lsub")
    b.uid("COPY", "2", "Work/Sub")
    b.uid("MOVE", "2", "Old")
    for name in ("Work/Sub", "Old"):
        wait_until(f"a has it in {name}", partial(has_uids, pair, "a", name, [1]))
        assert contents(pair.imap("a", name)) == contents(pair.imap("b", name))
    wait_until("a has not got it in INBOX", lambda: 2 not in shown(a))
    a.rename("Old", "New")
    wait_folders(pair, "b", {"INBOX", "New", "Work", "Work/Sub"})
    b.delete("Work/Sub")
    wait_until("it is deleted at a", lambda: "Work/Sub" not in folders(pair, "a"))
    assert list(pair.wait_equal(pair.imap("a", "New"), pair.imap("b", "New"))) == [1]


def has_own_uids(pair: DovecotPair, node: str) -> bool:
    _, [said] = pair.dovecots[node].imap(USER).status("INBOX", "(UIDNEXT)")
    return int(re.findall(rb"UIDNEXT (\d+)", said)[0]) > 1000


@pytest.mark.matrix
def test_half_a_minute_apart_with_sdbox(lab: Lab) -> None:
    mails = 50
    with dovecot_pair(lab, versions=VERSIONS, drivers=SDBOX) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        kept, flagged, gone = (append(one, mail(name)) for name in ("kept", "flagged", "gone"))
        one.create("Work")
        wait_until("b has them", lambda: list(shown(two)) == [kept, flagged, gone])
        wait_folders(pair, "b", {"INBOX", "Work"})
        part(pair)
        for node in "ab":
            wait_until(f"{node} gives out UIDs of its own", partial(has_own_uids, pair, node))
        end = time.monotonic() + 30
        given: dict[str, dict[int, str]] = {"a": {}, "b": {}}
        for number in range(mails):
            for node, session in (("a", one), ("b", two)):
                given[node][append(session, mail(f"{node}-{number}"))] = f"{node}-{number}"
        one.uid("STORE", str(flagged), "+FLAGS", "(\\Flagged)")
        two.uid("STORE", str(flagged), "+FLAGS", "(work)")
        two.uid("STORE", str(gone), "+FLAGS", "(\\Deleted)")
        two.expunge()
        two.rename("Work", "Play")
        time.sleep(max(0.0, end - time.monotonic()))
        caches = {node: remembered(pair, node) for node in "ab"}
        pair.proxy.heal()
        everything = {"kept", "flagged", *(f"{node}-{number}" for node in "ab" for number in range(mails))}
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, everything), timeout_s=60)
            wait_folders(pair, node, {"INBOX", "Play"})
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert len(found) == len(everything) and found[flagged][0] == {"\\Flagged", "work"}
        now = subjects(pair.imap("a"))
        assert now == subjects(pair.imap("b"))
        assert any(given[node].items() <= now.items() for node in "ab"), "one side's UIDs stay"
        for node in "ab":
            assert resynced(pair, node, caches[node]) == flags_of(found), f"a client of {node} with a cache"


@pytest.mark.matrix
def test_what_was_there_before_and_what_clients_did_while_a_node_was_down(lab: Lab) -> None:
    with dovecot_pair(lab, versions=VERSIONS, drivers=SDBOX, is_new=False) as pair:
        one = pair.imap("a")
        one.create("Work")
        uids = [append(one, mail(name), "(\\Seen kw)", folder) for name, folder in (("one", "INBOX"), ("two", "Work"))]
        assert pair.cluster.nodes["a"].call("MAILBOX", "JOIN", USER) == "OK"
        wait_folders(pair, "b", {"INBOX", "Work"})
        for folder, uid in zip(("INBOX", "Work"), uids, strict=True):
            wait_until("b has it", partial(has_uids, pair, "b", folder, [uid]))
            assert contents(pair.imap("a", folder)) == contents(pair.imap("b", folder))
        pair.cluster.nodes["a"].terminate()
        one.rename("Work", "Play")
        append(one, mail("three"))
        one.uid("STORE", "1", "-FLAGS", "(kw)")
        assert append(pair.imap("b"), mail("four")) == 2, "of which a's client knew nothing"
        pair.start("a")
        everything = {"one", "three", "four"}
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, everything))
            wait_folders(pair, node, {"INBOX", "Play"})
        assert pair.wait_equal(pair.imap("a"), pair.imap("b"))[1][0] == {"\\Seen"}


def put_back(home: Path) -> bool:
    """Mail that was moved away, in place of what was made there since. A doveadm that is under way may make more."""
    if home.exists():
        home.rename(home.with_name(f"made-{time.monotonic_ns()}"))
    try:
        home.with_name("unmounted").rename(home)
    except OSError:
        return False
    return True


@pytest.mark.matrix
def test_mail_that_is_missing_deletes_nothing_elsewhere(lab: Lab) -> None:
    with dovecot_pair(lab, versions=VERSIONS, drivers=SDBOX) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        one.create("Work")
        uid = append(one, mail("one"), "", "Work")
        wait_folders(pair, "b", {"INBOX", "Work"})
        wait_until("b has the mail", lambda: list(shown(pair.imap("b", "Work"))) == [uid])
        one.shutdown()
        pair.dovecots["a"].stop()
        home = pair.dovecots["a"].mail(USER)
        home.rename(home.with_name("unmounted"))
        pair.dovecots["a"].start()
        assert shown(pair.imap("a")) == {}, "Dovecot has made an INBOX"
        log = pair.cluster.nodes["a"].log
        wait_until("it is told", lambda: "folders_guard" in log() or "is the disk of its mail mounted" in log())
        assert folders(pair, "b") == {"INBOX", "Work"} and list(shown(pair.imap("b", "Work"))) == [uid]
        pair.dovecots["a"].stop()
        wait_until("it is back", partial(put_back, home))
        pair.dovecots["a"].start()
        assert append(two, mail("two"), "", "Work") == uid + 1
        wait_until("a has it", lambda: list(shown(pair.imap("a", "Work"))) == [uid, uid + 1])


@pytest.mark.matrix
def test_clients_of_both_append_at_once(lab: Lab) -> None:
    """No gate keeps a Dovecot from giving out a UID that the other gives out too: then messages get others."""
    mails = 12
    with dovecot_pair(lab, versions=VERSIONS, drivers=SDBOX) as pair:

        def write(node: str) -> None:
            session = pair.imap(node)
            for number in range(mails):
                append(session, mail(f"{node}-{number}"), "(kw)" if number % 2 else "")

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(write, "ab"))
        everything = {f"{node}-{number}" for node in "ab" for number in range(mails)}
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, everything), timeout_s=120)
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert len(found) == len({guid for _, guid in found.values()}) == 2 * mails
        a = pair.imap("a")
        flags = {subject: found[uid][0] for uid, subject in subjects(a).items()}
        assert flags == {name: frozenset({"kw"} if int(name[2:]) % 2 else ()) for name in everything}
        assert contents(a) == contents(pair.imap("b"))


@pytest.mark.matrix
@pytest.mark.parametrize("driver", ["sdbox", "mdbox"])
def test_a_node_that_is_killed_in_a_batch_has_everything_once(lab: Lab, driver: str) -> None:
    """Whatever doveadm was doing when its node died."""
    chance, kills, mails = random.Random(21), 8, 40
    with dovecot_pair(lab, versions=VERSIONS, drivers={"a": "sdbox", "b": driver}) as pair:
        is_over = threading.Event()

        def write() -> None:
            session = pair.imap("a")
            for number in range(mails):
                uid = append(session, mail(f"a-{number}"), "(\\Seen kw)")
                session.uid("STORE", str(uid), "+FLAGS", "(\\Flagged)")
                if number % 4 == 3:
                    session.uid("STORE", str(uid), "+FLAGS", "(\\Deleted)")
                    session.expunge()
            is_over.set()

        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(write)
            for _ in range(kills):
                time.sleep(chance.uniform(0.3, 3))
                pair.cluster.nodes["b"].kill()
                pair.start("b")
            writing.result()
        assert is_over.is_set()
        everything = {f"a-{number}" for number in range(mails) if number % 4 != 3}
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, everything), timeout_s=120)
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert len(found) == len(everything) == len({guid for _, guid in found.values()})
        assert {flags for flags, _ in found.values()} == {frozenset({"\\Seen", "\\Flagged", "kw"})}
        assert contents(pair.imap("a")) == contents(pair.imap("b"))


@pytest.mark.matrix
@pytest.mark.timeout(600)
def test_a_doveadm_that_is_slower_than_the_lease_costs_nobody_the_mastership(lab: Lab) -> None:
    times = {"mailbox-lease": "2000", "mailbox-root-timeout": "1000"}
    with dovecot_pair(lab, versions={"b": "2.4"}, drivers={"b": "sdbox"}, more=times) as pair:
        a, nodes = pair.imap("a"), pair.cluster.nodes
        append(a, mail("one"))
        wait_until("b has it", partial(has_mails, pair, "b", {"one"}))
        nodes["b"].terminate()
        pair.delays_s["b"] = 2.5
        pair.start("b")
        pair.cluster.client("b").check()
        wait_until(
            "there is a majority", lambda: {node.info("mailboxes")["mailbox_apart"] for node in nodes.values()} == {"0"}
        )
        before = nodes["a"].info("mailboxes")["mailbox_epoch"]
        append(pair.imap("b"), mail("two"))
        append(a, mail("three"))
        a.uid("STORE", "1", "+FLAGS", "(\\Flagged)")

        def are_equal() -> bool:
            assert [node.info("mailboxes")["mailbox_apart"] for node in nodes.values()] == ["0", "0"]
            one, two = shown(pair.imap("a")), shown(pair.imap("b"))
            return len(one) == 3 and one == two and "\\Flagged" in one[1][0]

        wait_until("both have all, and the flag", are_equal, timeout_s=400, every_s=0.2)
        assert nodes["a"].info("mailboxes")["mailbox_epoch"] == before, "each call took longer than a lease lasts"


@pytest.mark.matrix
def test_maildirs_behind_a_gate_on_the_other_node(lab: Lab) -> None:
    with dovecot_pair(lab, versions={"b": "2.4"}, drivers={"b": "sdbox"}) as pair:
        a, b = pair.imap("a"), pair.imap("b")
        assert append(a, mail("one"), "(\\Seen kw)") == 1
        wait_until("b has it", lambda: list(shown(b)) == [1])
        assert append(b, mail("two")) == 2
        b.uid("STORE", "1", "+FLAGS", "(\\Flagged)")
        pair.wait_equal(a, b)
        a.create("Work")
        a.uid("MOVE", "2", "Work")
        b.create("Play/Sub")
        wait_folders(pair, "b", {"INBOX", "Work", "Play", "Play/Sub"})
        wait_until("b has it in Work", partial(has_uids, pair, "b", "Work", [1]))
        wait_until("a has the folder", lambda: a.select("Play.Sub")[0] == "OK")
        a.select()
        assert {uid: flags for uid, (flags, _) in pair.wait_equal(a, b).items()} == {1: {"\\Seen", "\\Flagged", "kw"}}
        assert contents(a) == contents(b)
