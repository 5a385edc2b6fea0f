"""A client with a cache (QRESYNC) that goes from node to node sees every change after one resync. Requirement M5."""

from __future__ import annotations

import imaplib
import random
import re
import time
from typing import Final

import pytest

from tests.fault.mailbox_cluster import USER
from tests.interop.dovecot_pair import DovecotPair, append, dovecot_pair, shown
from tests.peers.lab import Lab, wait_until

MOVES: Final = 1000
MOST_MAILS: Final = 20
_UID: Final = re.compile(rb"UID (\d+)")
_FLAGS: Final = re.compile(rb"FLAGS \((.*?)\)")
_MODSEQ: Final = re.compile(rb"MODSEQ \((\d+)\)")
FLAGS: Final = ("\\Seen", "\\Flagged", "\\Draft", "one", "two")
Flags = dict[int, frozenset[str]]


class Roamer:
    """The client. `cache`: UID -> flags, as it believes."""

    def __init__(self, pair: DovecotPair) -> None:
        self.pair = pair
        self.cache: Flags = {}
        self.uidvalidity = 0
        self.modseq = 0
        self.session: imaplib.IMAP4 | None = None

    def visit(self, node: str) -> tuple[Flags, Flags]:
        """Log in there and resync once; what it believes then, and what the server has."""
        self.leave()
        session = self.session = self.pair.dovecots[node].imap(USER)
        session.enable("QRESYNC")
        session.untagged_responses.clear()
        known = f"(QRESYNC ({self.uidvalidity} {self.modseq}))" if self.uidvalidity else "(CONDSTORE)"
        session._simple_command("SELECT", "INBOX", known)
        session.state = "SELECTED"
        if not self.uidvalidity:
            self.cache = _fetched(session)
        self.uidvalidity = max(_numbers(session, "UIDVALIDITY"))
        self.modseq = max(_numbers(session, "HIGHESTMODSEQ"))
        self._take()
        return dict(self.cache), _fetched(session)

    def leave(self) -> None:
        """Learn what is new, and go."""
        if self.session is not None:
            self.session.noop()
            self._take()
            self.session.logout()

    def _take(self) -> None:
        """What the session was told unasked."""
        assert self.session is not None
        for answer in _said(self.session, "FETCH"):
            uid, flags, modseq = _UID.search(answer), _FLAGS.search(answer), _MODSEQ.search(answer)
            if uid and flags:
                self.cache[int(uid[1])] = _set_of(flags[1])
            if modseq:
                self.modseq = max(self.modseq, int(modseq[1]))
        for answer in _said(self.session, "VANISHED"):
            for first, last in re.findall(rb"(\d+)(?::(\d+))?", answer):
                for gone in range(int(first), int(last or first) + 1):
                    self.cache.pop(gone, None)
        self.modseq = max([self.modseq, *_numbers(self.session, "HIGHESTMODSEQ")])
        self.session.untagged_responses.clear()


def _set_of(flags: bytes) -> frozenset[str]:
    return frozenset({*flags.decode().split()} - {"\\Recent"})


def _said(session: imaplib.IMAP4, kind: str) -> list[bytes]:
    return [answer for answer in session.untagged_responses.get(kind, []) if isinstance(answer, bytes)]


def _numbers(session: imaplib.IMAP4, kind: str) -> list[int]:
    return [int(answer) for answer in _said(session, kind)]


def _fetched(session: imaplib.IMAP4) -> Flags:
    """All that the session's view has; what comes behind it is told unasked, and newer."""
    _, answers = session.uid("FETCH", "1:*", "(UID FLAGS)")
    found: Flags = {}
    for answer in answers:
        uid, flags = (_UID.search(answer), _FLAGS.search(answer)) if isinstance(answer, bytes) else (None, None)
        if uid and flags and int(uid[1]) not in found:
            found[int(uid[1])] = _set_of(flags[1])
    return found


def change(session: imaplib.IMAP4, chance: random.Random) -> None:
    """Somebody flags, expunges, or saves a message."""
    session.noop()
    uids = list(shown(session))
    what = chance.random()
    if len(uids) < 3 or (what < 0.2 and len(uids) < MOST_MAILS):
        append(session, b"Subject: x\r\n\r\nx\r\n")
        return
    uid = str(chance.choice(uids))
    if what < 0.4:
        session.uid("STORE", uid, "+FLAGS", "(\\Deleted)")
        session.uid("EXPUNGE", uid)
    else:
        session.uid("STORE", uid, chance.choice("+-") + "FLAGS", f"({chance.choice(FLAGS)})")


def roam(pair: DovecotPair, moves: int) -> None:
    """Move after move, while others change what they see at either node, at any moment."""
    chance = random.Random(15)
    others = {node: pair.imap(node) for node in "ab"}
    for _ in range(6):
        append(others["a"], b"Subject: x\r\n\r\nx\r\n")
    # Most of the changes are at a, so that its Dovecot counts faster.
    for number in range(40):
        others["a"].uid("STORE", "1", "+-"[number % 2] + "FLAGS", "(\\Flagged)")
    roamer = Roamer(pair)
    for move in range(moves):
        for _ in range(chance.randrange(4)):
            change(others[chance.choice("aaab")], chance)
        if roamer.session is not None and chance.random() < 0.5:
            change(roamer.session, chance)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 0.05))
        roamer.leave()
        roamer.session = None
        for _ in range(chance.randrange(3)):
            change(others[chance.choice("ab")], chance)
        believed, true = roamer.visit("ab"[move % 2])
        assert believed == true, f"move {move}"
    assert len(pair.wait_equal(*others.values())) > 0
    assert not any("not_aligned" in node.log() for node in pair.cluster.nodes.values())


def lagging(pair: DovecotPair) -> tuple[Roamer, int]:
    """A client that was at a, whose Dovecot has counted further, and a message which it knows with no flags; b's has
    flags by now."""
    one, two = pair.imap("a"), pair.imap("b")
    uids = [append(one, b"Subject: x\r\n\r\nx\r\n") for _ in range(3)]
    for number in range(40):
        one.uid("STORE", str(uids[0]), "+-"[number % 2] + "FLAGS", "(\\Flagged)")
    roamer = Roamer(pair)
    pair.cluster.client("a").check()
    roamer.visit("a")
    roamer.leave()
    roamer.session = None
    wait_until("b has them", lambda: list(shown(two)) == uids)
    two.uid("STORE", str(uids[1]), "+FLAGS", "(\\Seen)")
    two.uid("STORE", str(uids[2]), "+FLAGS", "(\\Deleted)")
    two.expunge()
    return roamer, uids[1]


def test_a_change_that_was_numbered_lower_is_missed_without_the_check(lab: Lab) -> None:
    with dovecot_pair(lab) as pair:
        roamer, uid = lagging(pair)
        believed, true = roamer.visit("b")
        assert believed != true and believed[uid] == frozenset() and true[uid] == {"\\Seen"}


def test_m5_a_change_that_was_numbered_lower_is_seen_after_the_check(lab: Lab) -> None:
    with dovecot_pair(lab, checked=True) as pair:
        roamer, uid = lagging(pair)
        believed, true = roamer.visit("b")
        assert believed == true and believed[uid] == {"\\Seen"}


def test_m5_so_it_is_when_the_node_where_the_client_was_is_dead(lab: Lab) -> None:
    with dovecot_pair(lab, checked=True) as pair:
        roamer, uid = lagging(pair)
        pair.cluster.nodes["a"].kill()
        believed, true = roamer.visit("b")
        assert believed == true and believed[uid] == {"\\Seen"}
        pair.start("a")


def test_m5_a_client_that_roams_sees_every_change_after_one_resync(lab: Lab) -> None:
    with dovecot_pair(lab, checked=True) as pair:
        roam(pair, 20)


@pytest.mark.matrix
@pytest.mark.timeout(3600)
def test_m5_a_client_that_roams_a_thousand_times_sees_every_change(lab: Lab) -> None:
    with dovecot_pair(lab, checked=True) as pair:
        roam(pair, MOVES)


def flags_in(pair: DovecotPair, node: str, folder: str) -> list[frozenset[str]]:
    """Of its messages, as a client sees them who has just logged in."""
    return [flags for flags, _ in shown(pair.imap(node, folder)).values()]


def test_other_mailboxes_are_left_alone_whatever_a_name_means_to_doveadm(lab: Lab) -> None:
    with dovecot_pair(lab, checked=True) as pair:
        one = pair.imap("a")
        for name in ('"W*"', "Workshop"):
            one.create(name)
            append(one, b"Subject: x\r\n\r\nx\r\n", "(\\Draft)" if name == "Workshop" else "", name)
        for _ in range(2):
            wait_until("b has both", lambda: flags_in(pair, "b", "Workshop") and flags_in(pair, "b", '"W*"'))
            one.select('"W*"')
            one.uid("STORE", "1", "+FLAGS", "(\\Flagged)")
            pair.cluster.client("a").check()
        for node in "ab":
            assert flags_in(pair, node, "Workshop") == [frozenset({"\\Draft"})], node
            assert flags_in(pair, node, '"W*"') == [frozenset({"\\Flagged"})], node
        assert not any("not_aligned" in node.log() for node in pair.cluster.nodes.values())


@pytest.mark.parametrize("settings", ["separator = /", "prefix = INBOX."])
def test_a_folder_is_aligned_whatever_its_dovecot_calls_it(lab: Lab, settings: str) -> None:
    with dovecot_pair(lab, checked=True, settings=f"namespace inbox {{\n inbox = yes\n {settings}\n}}\n") as pair:
        own = "Work/New" if "separator" in settings else "INBOX.Work.New"
        one = pair.imap("a")
        one.create(own)
        append(one, b"Subject: x\r\n\r\nx\r\n", "", own)
        one.select(own)
        one.uid("STORE", "1", "+FLAGS", "(\\Flagged)")
        wait_until("b has it", lambda: flags_in(pair, "b", own) == [frozenset({"\\Flagged"})])
        assert flags_in(pair, "a", own) == [frozenset({"\\Flagged"})]
        assert not any("not_aligned" in node.log() for node in pair.cluster.nodes.values())
