"""Each command of the line protocol: its words, both ways, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.changes.tokens import MAX_TOKEN
from pyrepl.changes.verbs import (
    VERBS,
    Auth,
    ClearUserSync,
    Error,
    FederationAck,
    History,
    InvalidateCache,
    LineCommand,
    Name,
    Ping,
    Position,
    Rdata,
    RemoteServerUp,
    RemovePusher,
    Replicate,
    Server,
    Side,
    Sync,
    UserIp,
    UserSync,
)
from pyrepl.errors import PeerError

REPLID = "8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb"

BOTH_WAYS: list[tuple[LineCommand, str]] = [
    (Server("localhost:8823"), "localhost:8823"),
    (History(), ""),
    (History(REPLID), REPLID),
    (Rdata("events", 54, '["$foo1:bar.com", "x"]'), 'events 54 ["$foo1:bar.com", "x"]'),
    (Rdata("caches", None, '["a",null,1]'), 'caches batch ["a",null,1]'),
    (Rdata("orders", 7, "{}", "node-b"), "orders node-b 7 {}"),
    (Rdata("orders", None, "{}", "node-b"), "orders node-b batch {}"),
    (Rdata("keys", 5, "[]", "1" * 40), f"keys {'1' * 40} 5 []"),
    (Position("keys", 5174), "keys 5174"),
    (Position("orders", 9, "node-b", 7), "orders node-b 7 9"),
    (Error("server stopping"), "server stopping"),
    (Ping("1490197665618"), "1490197665618"),
    (Ping("hello again"), "hello again"),
    (Ping(""), ""),
    (RemoteServerUp("example.com"), "example.com"),
    (Sync("a b c"), "a b c"),
    (Name("synapse.app.appservice"), "synapse.app.appservice"),
    (Auth("", "secret"), "secret"),
    (Auth("alice", "top secret"), "alice top secret"),
    (Replicate(is_bare=True), ""),
    (Replicate(), "ALL NOW"),
    (Replicate("keys"), "keys NOW"),
    (Replicate("keys", 5021), "keys 5021"),
    (Replicate("keys", 5021, replid=REPLID), f"keys 5021 {REPLID}"),
    (Replicate("orders", 7, "node-b"), "orders node-b 7"),
    (UserSync("@a:b", True, 5), "@a:b start 5"),
    (UserSync("@a:b", False, 5), "@a:b end 5"),
    (UserSync("@a:b", True, 5, "worker-1"), "worker-1 @a:b start 5"),
    (ClearUserSync("worker-1"), "worker-1"),
    (UserIp("@a:b", '["token","10.0.0.1","a browser",null,5]'), '@a:b ["token","10.0.0.1","a browser",null,5]'),
    (FederationAck(12), "12"),
    (FederationAck(12, "worker-1"), "worker-1 12"),
    (RemovePusher("app", "key", "@a b:c"), "app key @a b:c"),
    (InvalidateCache("get_user_by_id", '["@a:b", "c"]'), 'get_user_by_id ["@a:b", "c"]'),
    (InvalidateCache("get_user_by_id", "null"), "get_user_by_id null"),
]


@pytest.mark.parametrize("command, words", BOTH_WAYS)
def test_both_ways(command: LineCommand, words: str) -> None:
    assert command.words() == words
    assert type(command).parse(words) == command


def test_every_verb_is_tried() -> None:
    assert {type(command) for command, _ in BOTH_WAYS} == set(VERBS)


REFUSED: list[tuple[type[LineCommand], str]] = [
    (Server, ""),
    (Rdata, ""),
    (Rdata, "events"),
    (Rdata, "events 5"),
    (Rdata, "events writer 5"),
    (Rdata, "events writer x []"),
    (Rdata, "events  []"),
    (Rdata, "ALL 5 []"),
    (Position, ""),
    (Position, "keys"),
    (Position, "keys NOW"),
    (Position, "keys a 1"),
    (Position, "keys a 1 x"),
    (Position, "keys 5 1 2"),
    (RemoteServerUp, ""),
    (Name, ""),
    (Auth, ""),
    (Replicate, "ALL"),
    (Replicate, "ALL 5"),
    (Replicate, "keys"),
    (Replicate, "keys -1"),
    (Replicate, "keys soon"),
    (Replicate, f"keys {MAX_TOKEN + 1}"),
    (Replicate, "all 5"),
    (Replicate, "keys batch 5"),
    (Replicate, "keys writer NOW"),
    (Replicate, "keys writer 5 more"),
    (UserSync, "a begin 5"),
    (UserSync, "a start"),
    (UserSync, "a b c start 5"),
    (ClearUserSync, ""),
    (UserIp, "@a:b"),
    (FederationAck, "x"),
    (FederationAck, "worker-1"),
    (RemovePusher, "a b"),
    (InvalidateCache, "cache"),
]


@pytest.mark.parametrize("kind, words", REFUSED)
def test_refused(kind: type[LineCommand], words: str) -> None:
    with pytest.raises(PeerError):
        kind.parse(words)


def test_who_may_send_what() -> None:
    """The published lists of commands, of all versions, and AUTH and HISTORY, which are ours."""
    server = {verb.VERB for verb in VERBS if Side.SERVER in verb.SENDERS}
    client = {verb.VERB for verb in VERBS if Side.CLIENT in verb.SENDERS}
    assert server - {"HISTORY"} == {"SERVER", "RDATA", "POSITION", "ERROR", "PING", "REMOTE_SERVER_UP", "SYNC"}
    assert client - {"AUTH", "HISTORY"} == {
        "NAME", "REPLICATE", "PING", "ERROR", "USER_SYNC", "CLEAR_USER_SYNC", "USER_IP", "FEDERATION_ACK",
        "REMOVE_PUSHER", "INVALIDATE_CACHE", "REMOTE_SERVER_UP", "SYNC",
    }  # fmt: skip


@pytest.mark.parametrize(
    "words, meant", [("keys now", Replicate("keys")), ("all now", Replicate()), ("ALL Now", Replicate())]
)
def test_now_and_all_as_a_person_types_them(words: str, meant: Replicate) -> None:
    assert Replicate.parse(words) == meant


def test_secrets_are_not_printed() -> None:
    assert "secret" not in repr(Auth("alice", "secret"))
    assert "secret" not in repr(UserIp("@a:b", '["secret"]'))


def test_each_is_described_for_who_writes_a_client() -> None:
    text = (Path(__file__).parents[3] / "docs" / "streams.md").read_text()
    for verb in VERBS:
        assert f"`{verb.VERB}" in text, verb
