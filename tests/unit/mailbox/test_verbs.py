"""Commands: their words, what each needs, and what a verb has no place for."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox import verbs
from pyrepl.mailbox.verbs import BY_VERB, COMMANDS, Check, Command, Lock, Save, Side, Sync, Take
from pyrepl.mailbox.words import Box, Token

INBOX = Box("INBOX")


def test_verbs_are_unique_and_some_are_of_one_side_only() -> None:
    written = {each for each in vars(verbs).values() if isinstance(each, type) and vars(each).get("VERB")}
    assert len(BY_VERB) == len(COMMANDS) and set(COMMANDS) == written, "what can be said can be read"
    mail_only = {kind.VERB for kind in COMMANDS if {Side.MAIL} == kind.SENDERS}
    assert mail_only == {"LOCK", "UNLOCK"}
    node_only = {kind.VERB for kind in COMMANDS if {Side.NODE} == kind.SENDERS}
    assert {"TAKE", "GIVE", "ROOT-SET", "ROOT-CLEAR", "MODSEQ", "ACK", "SYNC"} <= node_only


def test_positions_first_then_keys() -> None:
    take = Take(user="alice", box=INBOX, wanted_by="b", hops=1, token=Token(4, 17))
    assert take.words() == ["alice", "INBOX", "for=b", "hops=1", "token=4.17"]
    assert Take.parse(["for=b", "alice", "hops=1", "INBOX", "token=4.17"]) == take


def test_defaults_are_left_out() -> None:
    assert Lock(user="alice", box=INBOX).words() == ["alice", "INBOX"]
    assert Check().words() == [] and Check.parse([]) == Check()
    assert Sync.parse([]) == Sync()


def test_unknown_keys_are_ignored() -> None:
    assert Lock.parse(["alice", "INBOX", "later=1"]) == Lock(user="alice", box=INBOX)


@pytest.mark.parametrize(
    ("kind", "args", "why"),
    [
        (Lock, ["alice"], "LOCK needs box"),
        (Take, ["alice", "INBOX", "hops=1"], "TAKE needs token, for"),
        (Lock, ["alice", "INBOX", "more"], "LOCK has no place for the word 'more'"),
        (Lock, ["alice", "INBOX", "wait=x"], "LOCK wait: expected a number"),
        (Lock, ["alice", "INBOX", "wait=1", "wait=2"], "twice"),
        (Save, ["alice", "..", "uid=1"], "SAVE box: expected a mailbox's name"),
    ],
)
def test_what_is_wrong_is_named(kind: type[Command], args: list[str], why: str) -> None:
    with pytest.raises(PeerError, match=why):
        kind.parse(args)
