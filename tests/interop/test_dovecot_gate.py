"""Two nodes, a real Dovecot on each that knows nothing of them: what clients of either do, those of both see."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

from pyrepl.daemon.mailbox.uidlist_lock import GATE_S
from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import append, dovecot_pair, shown
from tests.interop.test_dovecot_apart import has_mails
from tests.peers.lab import Lab, adopting, wait_until

TEXT = b"Subject: one\r\n\r\nline\r\n"


def test_both_append_and_both_see_it(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        first = append(one, TEXT, "(\\Seen kw)")
        wait_until("b's client sees it", lambda: first in shown(two))
        second = append(two, TEXT)
        assert second > first
        third = append(one, TEXT)
        assert third > second
        found = pair.wait_equal(one, two)
        assert list(found) == [first, second, third] and found[first][0] == {"\\Seen", "kw"}


def test_flags_and_expunges_of_either_side(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        uids = [append(one, TEXT) for _ in range(4)]
        wait_until("b's client sees them", lambda: list(shown(two)) == uids)
        two.uid("STORE", str(uids[0]), "+FLAGS", "(\\Flagged work)")
        one.uid("STORE", str(uids[1]), "+FLAGS", "(\\Answered)")
        wait_until("a sees the flag", lambda: shown(one)[uids[0]][0] == {"\\Flagged", "work"})
        one.uid("STORE", str(uids[0]), "-FLAGS", "(work)")
        two.uid("STORE", str(uids[2]), "+FLAGS", "(\\Deleted)")
        two.expunge()
        wait_until("a sees what went", lambda: uids[2] not in shown(one))
        found = pair.wait_equal(one, two)
        assert {uid: flags for uid, (flags, _) in found.items()} == {
            uids[0]: {"\\Flagged"},
            uids[1]: {"\\Answered"},
            uids[3]: frozenset(),
        }


def test_clients_of_a_daemon_that_is_killed_wait_for_the_next(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        first = append(one, TEXT)
        wait_until("b's client sees it", lambda: first in shown(two))
        pair.cluster.nodes["a"].kill()
        given: list[int] = []
        waiting = threading.Thread(target=lambda: given.append(append(one, TEXT)))
        waiting.start()
        waiting.join(2)
        assert waiting.is_alive(), "a gate that was open is shut by the keeper"
        pair.start("a")
        waiting.join(60)
        assert given == [first + 1]
        wait_until("b's client sees it", lambda: given[0] in shown(two))
        assert append(two, TEXT) == first + 2
        pair.wait_equal(one, two)


def test_both_append_at_the_same_time(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        given: dict[str, list[int]] = {"a": [], "b": []}

        def write(name: str) -> None:
            session = pair.imap(name)
            for number in range(20):
                given[name].append(append(session, f"Subject: {name} {number}\r\n\r\nx\r\n".encode()))

        threads = [threading.Thread(target=write, args=(name,)) for name in given]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert sorted(given["a"] + given["b"]) == list(found), "every APPENDUID is true"
        for name, uids in given.items():
            session = pair.imap(name)
            for number, uid in enumerate(uids):
                _, [(_, head), _] = session.uid("FETCH", str(uid), "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])")
                assert f"Subject: {name} {number}".encode() in head


def owners_of_kept(lock: Path) -> list[int]:
    """The pid in a lock file that a gate keeps; none of one that is a Dovecot's for a moment, or goes."""
    with suppress(FileNotFoundError):
        pid, found = lock.read_text().partition(":")[0], lock.stat()
        return [int(pid)] if found.st_mtime == GATE_S and pid else []
    return []


def test_a_daemon_that_is_killed_with_its_keeper_loses_nothing(lab: Lab) -> None:
    """Its Dovecot goes on alone then: it may give out UIDs that the other side gives out too, and those are burned."""
    with dovecot_pair(lab) as pair:
        one, two = pair.imap("a"), pair.imap("b")
        first = append(two, b"Subject: first\r\n\r\nx\r\n")
        wait_until("a's client sees it", lambda: first in shown(one))
        lock = pair.dovecots["a"].mail(USER) / "dovecot-uidlist.lock"
        keepers: set[int] = set()

        def is_shut() -> bool:
            keepers.update(owners_of_kept(lock))
            return bool(keepers)

        wait_until("the gate of a is shut", is_shut)
        with adopting():
            pair.cluster.nodes["a"].kill()
            for keeper in keepers:
                os.kill(keeper, signal.SIGKILL)
                os.waitpid(keeper, 0)
        mails = {"first"}
        for number in range(3):
            for session, node in ((one, "a"), (two, "b")):
                append(session, f"Subject: {node}-{number}\r\n\r\nx\r\n".encode())
                mails.add(f"{node}-{number}")
        pair.start("a")
        for node in "ab":
            wait_until(f"{node} has all", partial(has_mails, pair, node, mails))
        found = pair.wait_equal(pair.imap("a"), pair.imap("b"))
        assert len(found) == 7 and first in found
        assert append(pair.imap("a"), TEXT) == max(found) + 1


def test_a_lock_file_that_somebody_removes_and_a_maildir_that_is_put_back_are_shut_again(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        one = pair.imap("a")
        append(one, TEXT)
        one.create("Work")
        append(one, TEXT, folder="Work")
        pair.cluster.client("a").check()
        home = pair.dovecots["b"].mail(USER)
        locks = [folder / "dovecot-uidlist.lock" for folder in (home, home / ".Work")]

        def are_shut() -> bool:
            return all(map(owners_of_kept, locks))

        wait_until("the gates of b are shut", are_shut)
        for lock in locks:
            lock.unlink()
        wait_until("they are shut again", are_shut)
        pair.cluster.nodes["b"].wait_log("gate_lost")
        shutil.copytree(home, home.with_name("copy"), ignore=shutil.ignore_patterns("*.lock"))
        home.rename(home.with_name("aside"))
        home.with_name("copy").rename(home)
        wait_until("those of the copy too", are_shut)
        for folder in ("INBOX", "Work"):
            two = pair.imap("b", folder)
            given = [
                append(two, TEXT, folder=folder),
                append(one, TEXT, folder=folder),
                append(two, TEXT, folder=folder),
            ]
            assert list(pair.wait_equal(pair.imap("a", folder), two)) == [1, *given]
