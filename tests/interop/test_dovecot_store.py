"""The Maildir store beside a real Dovecot: both write the same Maildirs, and a session that is open sees it."""

from __future__ import annotations

import imaplib
import os
import re
import socket
import time
from collections.abc import Iterator

import pytest

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.store import (
    AddMessage,
    MakeBox,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    SetFlags,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import Dot
from tests.peers.dovecot import Dovecot, as_owner, owner
from tests.peers.lab import wait_until

BOX, SUB = f"{1:032x}", f"{2:032x}"
TEXT = b"Subject: one\r\n\r\nline\r\n"
Seen = dict[int, tuple[set[str], str]]


class Pair:
    """A Dovecot and a store on one Maildir."""

    def __init__(self, dovecot: Dovecot) -> None:
        self.dovecot = dovecot
        files = DiskFiles()
        self.place = MaildirsPlace(files, f"{dovecot.maildirs}/%u", owner().pw_uid)
        lock = UidlistLock(files, socket.gethostname().encode(), time.sleep)
        self.store = MaildirStore(files, self.place, LAYOUTS[dovecot.layout], lock, "a", time.sleep)
        self.separator = LAYOUTS[dovecot.layout].separator
        with as_owner():
            self.store.prepare(is_new=True)
        self.tell(MakeBox("alice", BOX, "INBOX", 77, 5))

    def tell(self, *works: Work) -> None:
        with as_owner():
            results = self.store.perform(works)
        assert {result.outcome for result in results} == {Outcome.DONE}, results

    def add(self, guid: str, uid: int, *flags: str, box: str = BOX) -> AddMessage:
        with as_owner():
            coming = self.store.drop.begin(Dot("b", uid), guid)
            coming.write(TEXT)
            coming.finish(1_700_000_000, len(TEXT), ())
        return AddMessage("alice", box, guid, uid, flags, 1_700_000_000, len(TEXT), coming.name)

    def listed(self, box: str = BOX) -> Seen:
        with as_owner():
            listing = self.store.listing("alice", box)
        assert listing.unlisted == frozenset()
        return {each.uid: (set(each.flags), each.guid.decode()) for each in listing.messages}


@pytest.fixture(params=list(LAYOUTS))
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with Dovecot(layout=request.param) as dovecot:
        yield Pair(dovecot)
        assert "Corrupted" not in dovecot.log() and "Error" not in dovecot.log(), dovecot.log()


def _fetch(imap: imaplib.IMAP4) -> Seen:
    """What a session sees: UID -> flags, GUID."""
    imap.noop()
    _, answers = imap.uid("FETCH", "1:*", "(FLAGS X-GUID)")
    found: Seen = {}
    for answer in answers:
        if isinstance(answer, bytes):
            # Others are what the session is told unasked.
            said = re.search(rb"UID (\d+) FLAGS \((.*?)\) X-GUID \"?([^\" )]+)", answer)
            if said:
                found[int(said[1])] = ({*said[2].decode().split()} - {"\\Recent"}, said[3].decode())
    return found


def _lists(imap: imaplib.IMAP4, name: bytes) -> bool:
    return any(isinstance(line, bytes) and name in line for line in imap.list()[1])


def test_an_open_session_sees_what_the_store_does(pair: Pair) -> None:
    imap = pair.dovecot.imap()
    imap.select("INBOX")
    assert imap.response("UIDVALIDITY")[1] == [b"77"] and imap.response("UIDNEXT")[1] == [b"5"]
    pair.tell(pair.add("G1", 5, "\\Seen", "kw"), pair.add("G:2", 9))
    assert _fetch(imap) == pair.listed() == {5: ({"\\Seen", "kw"}, "G1"), 9: (set(), "G:2")}
    pair.tell(SetFlags("alice", BOX, "G1", ("\\Flagged", "other")), MoveMessage("alice", BOX, "G:2", 20))
    assert _fetch(imap) == pair.listed() == {5: ({"\\Flagged", "other"}, "G1"), 20: (set(), "G:2")}
    pair.tell(RemoveMessage("alice", BOX, "G1"), RaiseNext("alice", BOX, 100))
    assert _fetch(imap) == pair.listed() == {20: (set(), "G:2")}
    _, [appended] = imap.append("INBOX", "(kw)", "", TEXT)
    assert b"APPENDUID 77 100]" in appended
    _, [(head, body), _] = imap.uid("FETCH", "20", "(INTERNALDATE BODY.PEEK[])")
    assert body == TEXT and b"14-Nov-2023" in head


def test_both_write_in_turns(pair: Pair) -> None:
    imap = pair.dovecot.imap()
    imap.select("INBOX")
    for turn in range(10):
        pair.tell(pair.add(f"G{turn}", 10 * turn + 10, "kw", f"k{turn}"))
        imap.append("INBOX", f"(kw d{turn})", "", TEXT)
        imap.noop()
        imap.uid("STORE", str(10 * turn + 10), "+FLAGS", "(\\Answered)")
        imap.uid("STORE", str(10 * turn + 10), "+FLAGS", f"(d{turn})")
    # A session that stores into a message which has just come sees its other keywords at a later look.
    wait_until("Dovecot and we see the same", lambda: _fetch(imap) == pair.listed())
    assert len(pair.listed()) == 20 and pair.listed()[20][0] == {"\\Answered", "kw", "k1", "d1"}
    assert sorted(pair.listed()) == sorted(uid for turn in range(1, 11) for uid in (10 * turn, 10 * turn + 1))


def test_folders_and_subscriptions(pair: Pair) -> None:
    imap = pair.dovecot.imap()
    pair.tell(MakeBox("alice", SUB, "Bücher/Neu", 5, 9), SubscribeBox("alice", SUB, "Bücher/Neu", True))
    pair.tell(pair.add("G1", 9, "kw", box=SUB))
    wire = f'"B&APw-cher{pair.separator}Neu"'
    assert any(b"B&APw-cher" in line and b"Neu" in line for line in imap.lsub()[1] if isinstance(line, bytes))
    imap.select(wire)
    assert _fetch(imap) == {9: ({"kw"}, "G1")}
    imap.close()
    pair.tell(RenameBox("alice", SUB, "Alt"))
    imap = pair.dovecot.imap()
    assert imap.select("Alt")[0] == "OK" and _fetch(imap) == {9: ({"kw"}, "G1")}
    imap.rename("Alt", f"Weg{pair.separator}Da")
    assert imap.subscribe(f"Weg{pair.separator}Da")[0] == "OK"
    with as_owner():
        assert [place.name for place in pair.store.boxes("alice")] == ["INBOX", "Weg/Da"]
        assert pair.store.subscribed("alice") == ("Bücher/Neu", "Weg/Da")
    assert pair.listed(SUB) == {9: ({"kw"}, "G1")}
    pair.tell(RemoveBox("alice", SUB))
    assert not _lists(pair.dovecot.imap(), b"Da")


def test_dovecot_waits_while_we_hold_the_lock(pair: Pair) -> None:
    files = DiskFiles()
    lock = UidlistLock(files, socket.gethostname().encode(), time.sleep)
    folder = os.fsencode(pair.dovecot.mail())
    imap = pair.dovecot.imap()
    imap.select("INBOX")
    with as_owner():
        lock.take(folder)
        imap.send(b"x APPEND INBOX {22}\r\n")
        assert imap.readline().startswith(b"+")
        imap.send(TEXT + b"\r\n")
        imap.sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            imap.sock.recv(1)
        lock.release(folder)
    imap.sock.settimeout(30)
    assert b"APPENDUID 77 5]" in imap.sock.recv(1000)
