"""Disks and Maildirs that fail beside real Dovecots with gates: nothing is expunged elsewhere, no UID names two
messages, the log says what to do, and when all is back both show the same.

tests/fault/test_mailbox_disk.py has the same without a Dovecot.
"""

from __future__ import annotations

import imaplib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.uidlist_lock import GATE_S
from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair
from tests.peers.lab import Lab, LabError, Node, pyrepl_command, wait_until

STANDS = f"The mailboxes of {USER} stand still here: "
LOCK = "dovecot-uidlist.lock"
GOES = f"The mailboxes of {USER} go on"
UNMOUNTED = "is the disk of the Maildirs mounted?"
Mails = dict[int, tuple[frozenset[str], bytes]]
"""UID -> flags and text."""


def text(number: int) -> bytes:
    return b"Subject: mail %d\r\n\r\n%b\r\n" % (number, b"line of it " * number)


def mails(pair: DovecotPair, node: str, folder: str = "INBOX") -> Mails:
    """What a client that comes now is shown."""
    session = pair.imap(node, folder)
    _, answers = session.uid("FETCH", "1:*", "(FLAGS BODY.PEEK[])")
    session.logout()
    found: Mails = {}
    for answer in answers:
        if isinstance(answer, tuple):
            head = answer[0].decode()
            flags = head.partition("FLAGS (")[2].partition(")")[0].split()
            found[int(head.partition("UID ")[2].split()[0])] = frozenset({*flags} - {"\\Recent"}), answer[1]
    return found


def texts(found: Mails) -> set[bytes]:
    return {each for _, each in found.values()}


def wait_same(pair: DovecotPair, count: int, folder: str = "INBOX") -> Mails:
    """Wait until both nodes show the same mails, so many; which these are."""

    def are_same() -> bool:
        try:
            both.update({node: mails(pair, node, folder) for node in "ab"})
        except (imaplib.IMAP4.error, AssertionError):
            return False
        return both["a"] == both["b"] and len(both["a"]) == count

    both: dict[str, Mails] = {}
    try:
        wait_until(f"both show the same {count} mails", are_same, every_s=0.1)
    except AssertionError as error:
        shown = {node: {uid: flags for uid, (flags, _) in found.items()} for node, found in both.items()}
        raise AssertionError(f"{error}: {shown}") from None
    assert len(texts(both["a"])) == count, "no mail is there twice"
    return both["a"]


def is_kept(lock: Path) -> bool:
    """By the gate. It is not read: who does that is taken for a Dovecot that waits."""
    with suppress(FileNotFoundError):
        return lock.stat().st_mtime == GATE_S
    return False


def fill(pair: DovecotPair, last: str = "a", count: int = 6) -> Mails:
    """So many mails in INBOX from clients of both, the last one of `last`: its gate is open then, and the other's shut,
    so that the other Dovecot has to ask."""
    for number in range(count - 1):
        session = pair.imap("ab"[number % 2])
        append(session, text(number), "(\\Seen kw)" if number % 3 else "")
        session.logout()
    wait_same(pair, count - 1)
    found = mails(pair, last)
    session = pair.imap(last)
    found[append(session, text(count), "(\\Flagged)")] = frozenset({"\\Flagged"}), text(count)
    session.logout()
    other = pair.dovecots["b" if last == "a" else "a"].mail(USER)
    wait_until("the other has all", lambda: len(os.listdir(other / "cur")) == count)
    wait_until("the other gate is shut", partial(is_kept, other / LOCK))
    return found


def go_on(pair: DovecotPair, before: Mails) -> None:
    """Clients of both save and flag, as ever."""
    for place, node in enumerate("abba"):
        session = pair.imap(node)
        uid = append(session, text(1000 + place))
        assert uid > max(before, default=0)
        session.uid("STORE", str(uid), "+FLAGS", "(\\Flagged)")
        session.logout()
    found = wait_same(pair, len(before) + 4)
    assert {uid: found[uid] for uid in before} == before, "what was there before stays"
    for each in pair.cluster.nodes.values():
        assert each.info("mailboxes")["mailbox_burned"] == "0"


def test_a_users_maildir_that_is_moved_away_while_somebody_waits_at_its_gate(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        before = fill(pair)
        home = pair.dovecots["b"].mail(USER)
        away = home.rename(home.with_name("away"))
        session = pair.imap("a")
        append(session, text(10))
        pair.cluster.nodes["b"].wait_log(STANDS)
        # As a Dovecot that waits: a gate that cannot be opened is not to keep the mailbox from the other node.
        (away / LOCK).read_bytes()
        for number in range(11, 14):
            append(session, text(number))
        session.uid("STORE", "1", "+FLAGS", "(\\Answered)")
        assert len(mails(pair, "a")) == 10 and {*before} < {*mails(pair, "a")}
        away.rename(home)
        pair.cluster.nodes["b"].wait_log(GOES)
        found = wait_same(pair, 10)
        assert "\\Answered" in found[1][0] and {*before} < {*found}
        go_on(pair, found)
        assert "mastership_lost" not in pair.cluster.nodes["a"].log(), "whose clients never waited"


def known(node: Node) -> set[int]:
    """The UIDs that a node knows of, whatever its Maildir has."""
    rows = node.call("MAILBOX", "MESSAGES", USER, "INBOX", "0", "99")
    return {row[row.index(b"uid") + 1] for row in rows}


def test_a_users_maildir_that_was_moved_away_and_made_anew_by_a_client(lab: Lab) -> None:
    """What the others do to INBOX meanwhile is owed, as long as another one is in its place."""
    with dovecot_pair(lab) as pair:
        before = fill(pair)
        home = pair.dovecots["b"].mail(USER)
        away = home.rename(home.with_name("away"))
        assert mails(pair, "b") == {}, "its Dovecot makes an empty one"
        append(pair.imap("b"), text(50))
        pair.cluster.nodes["b"].wait_log("folders_guard alice")
        session = pair.imap("a")
        uids = {*before} - {2} | {append(session, text(10))}
        session.uid("STORE", "1", "+FLAGS", "(\\Answered)")
        session.uid("STORE", "2", "+FLAGS", "(\\Deleted)")
        session.expunge()
        node = pair.cluster.nodes["b"]
        wait_until("b has heard of all", lambda: 2 not in known(node))
        assert {*mails(pair, "a")} == uids
        home.rename(home.with_name("made"))
        away.rename(home)
        found = wait_same(pair, 6)
        assert {*found} == uids and "\\Answered" in found[1][0]
        go_on(pair, found)


def test_a_disk_of_all_maildirs_that_is_not_mounted(lab: Lab) -> None:
    """b gives out the UIDs when it goes: the others wait for some seconds, then they do without b."""
    with dovecot_pair(lab) as pair:
        before = fill(pair, "b")
        root, node = pair.dovecots["b"].maildirs, pair.cluster.nodes["b"]
        unmounted = root.rename(root.with_name("unmounted"))
        root.mkdir()
        session = pair.imap("a")
        append(session, text(10))
        node.wait_log(UNMOUNTED)
        assert mails(pair, "b") == {}
        append(pair.imap("b"), text(50))
        append(session, text(11))
        assert {*before} < {*mails(pair, "a")}
        shutil.rmtree(root)
        unmounted.rename(root)
        go_on(pair, wait_same(pair, 8))


def test_a_restart_without_the_disk(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        before = fill(pair, "a")
        root = pair.dovecots["b"].maildirs
        pair.cluster.nodes["b"].terminate()
        root.rename(root.with_name("unmounted"))
        root.mkdir()
        session = pair.imap("a")
        append(session, text(10))
        pair.programs["b"] = pyrepl_command()
        with suppress(LabError):
            pair.start("b")
        assert pair.cluster.nodes["b"].process.wait(60) != 0
        assert UNMOUNTED in pair.cluster.nodes["b"].log()
        assert list(root.iterdir()) == [], "nothing is made there"
        assert {*before} < {*mails(pair, "a")}
        root.rmdir()
        root.with_name("unmounted").rename(root)
        pair.start("b")
        go_on(pair, wait_same(pair, 7))


def test_more_messages_than_the_guard_are_missing(lab: Lab) -> None:
    with dovecot_pair(lab, more={"mailbox-expunge-guard": "5"}) as pair:
        before = fill(pair, count=8)
        node, cur = pair.cluster.nodes["b"], pair.dovecots["b"].mail(USER) / "cur"
        cur.rename(cur.with_name("lost+found"))
        session = pair.imap("a")
        append(session, text(20))
        node.wait_log(STANDS)
        assert {*before} < {*mails(pair, "a")}
        cur.mkdir()
        node.wait_log(GOES)
        assert texts(mails(pair, "b")) == {text(20)}, "its clients see what is there"
        node.wait_log("expunge_guard alice INBOX 8: so many messages are missing")
        assert "Put their files back, or say MAILBOX ALLOW" in node.log()
        append(session, text(21))
        assert len(mails(pair, "a")) == 10
        for path in cur.with_name("lost+found").iterdir():
            path.rename(cur / path.name)
        found = wait_same(pair, 10)
        assert texts(before) < texts(found)
        go_on(pair, found)
        wait_until("all are written", lambda: len(os.listdir(cur)) == 14)
        for path in cur.iterdir():
            path.unlink()
        assert mails(pair, "b") == {}, "its clients see that they are gone"
        node.wait_log("expunge_guard alice INBOX 14: ")
        assert len(mails(pair, "a")) == 14
        assert node.call("MAILBOX", "ALLOW", USER, "INBOX") == "OK"
        wait_same(pair, 0)
        go_on(pair, {})


def cut_in_half(path: Path) -> int:
    """In the middle of a line; how many lines are left, the first one aside."""
    data = path.read_bytes()
    end = data.rindex(b"\n", 0, len(data) // 2) + 9
    path.write_bytes(data[:end])
    return data[:end].count(b"\n") - 1


def check_same(before: Mails, after: Mails) -> None:
    """Messages may have got other UIDs, and lost nothing; no UID names another message than before."""
    flags = {text: flags for flags, text in after.values()}
    assert {text: flags[text] for _, text in before.values()} == {text: flags for flags, text in before.values()}
    assert all(after[uid] == before[uid] for uid in before.keys() & after.keys())


def test_a_list_that_is_cut_in_half_while_the_gate_is_shut(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        before = fill(pair, count=12)
        left = cut_in_half(pair.dovecots["b"].mail(USER) / "dovecot-uidlist")
        assert 2 < left < 10
        append(pair.imap("a"), text(20))
        found = wait_same(pair, 13)
        check_same(before, found)
        pair.cluster.nodes["b"].wait_log(f"uids_anew alice INBOX {12 - left}: so many messages have another UID")
        go_on(pair, found)


def test_a_list_that_is_cut_in_half_while_the_daemon_is_off(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        before = fill(pair, count=12)
        pair.cluster.nodes["b"].terminate()
        left = cut_in_half(pair.dovecots["b"].mail(USER) / "dovecot-uidlist")
        assert 2 < left < 10
        append(pair.imap("a"), text(20))
        pair.start("b")
        found = wait_same(pair, 13)
        check_same(before, found)
        pair.cluster.nodes["b"].wait_log(f"mail_missing alice INBOX {12 - left}: ")
        go_on(pair, found)


DEAD = 2**22 + 1
"""No process has this pid: it is above the greatest one that Linux gives."""


@pytest.mark.parametrize(
    "owner",
    [f"{DEAD}:{socket.gethostname()}", "", f"{DEAD}:the-name-of-before"],
    ids=["of a dead process", "empty", "of another host"],
)
def test_a_lock_that_nobody_gives_back(lab: Lab, owner: str) -> None:
    """b gives out the UIDs, and cannot shut its gate before the lock is taken away from who is dead."""
    with dovecot_pair(lab) as pair:
        before = fill(pair, "b")
        lock = pair.dovecots["b"].mail(USER) / LOCK
        wait_until("it is free", lambda: not lock.exists())
        lock.write_text(owner)
        assert append(pair.imap("a"), text(20)) > max(before)
        go_on(pair, wait_same(pair, 7))


def test_a_maildir_that_may_not_be_written(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        before = fill(pair)
        pair.cluster.nodes["b"].terminate()
        # Modes mean nothing to a root who has this capability.
        bound = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--"] if os.geteuid() == 0 else []
        pair.programs["b"] = [*bound, *pyrepl_command()]
        pair.start("b")
        home = pair.dovecots["b"].mail(USER)
        wait_until("its gate is shut", partial(is_kept, home / LOCK))
        folders = home, home / "cur", home / "new", home / "tmp"
        for folder in folders:
            folder.chmod(0o500)
        session = pair.imap("a")
        append(session, text(20))
        session.uid("STORE", "1", "+FLAGS", "(\\Answered)")
        pair.cluster.nodes["b"].wait_log(STANDS)
        append(session, text(21))
        assert {*before} < {*mails(pair, "a")}
        for folder in folders:
            folder.chmod(0o700)
        pair.cluster.nodes["b"].wait_log(GOES)
        found = wait_same(pair, 8)
        assert "\\Answered" in found[1][0]
        go_on(pair, found)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A disk of its own, with what the folder holds."""
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    options = f"size={size},uid={os.geteuid()},gid={os.getegid()},mode=755"
    before = folder.rename(folder.with_name("before"))
    folder.mkdir()
    subprocess.run([*as_root, "mount", "-t", "tmpfs", "-o", options, "pyrepl-test", str(folder)], check=True)
    try:
        shutil.copytree(before, folder, dirs_exist_ok=True)
        yield
    finally:
        # Dovecots have files open there.
        subprocess.run([*as_root, "umount", "--lazy", str(folder)], check=True)


def test_a_full_disk(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        before = fill(pair)
        pair.cluster.nodes["b"].terminate()
        root = pair.dovecots["b"].maildirs
        with small_disk(root, "2m"):
            pair.start("b")
            wait_until("its gate is shut", partial(is_kept, root / USER / LOCK))
            ballast = root / "ballast"
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            session = pair.imap("a")
            for number in range(20, 23):
                append(session, text(number) * 20)
            session.uid("STORE", "1", "+FLAGS", "(\\Answered)")
            pair.cluster.nodes["b"].wait_log("is the disk of the Maildirs full, or not mounted?")
            assert {*before} < {*mails(pair, "a")}
            ballast.unlink()
            found = wait_same(pair, 9)
            assert "\\Answered" in found[1][0]
            go_on(pair, found)
            for name in "ab":
                pair.cluster.nodes[name].terminate()
