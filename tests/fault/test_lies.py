"""A replica that lies: what it cannot hold is not believed, and harms neither it nor others."""

from __future__ import annotations

import pytest

from tests.fault.follower import Follower, units
from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply, Wire, encode

FUTURE = 10**12
LIES = (str(FUTURE), str(2**63 - 1), str(2**64), "-1", "0", "x", "")


@pytest.fixture
def master(lab: Lab) -> Node:
    node = lab.start("pyrepl", directives={"shutdown-timeout": "0"})
    node.call("SET", "a", "1")
    return node


def acked(master: Node) -> int:
    """What the master believes its one replica to hold."""
    return int(dict(pair.split("=") for pair in master.info("replication")["slave0"].split(","))["offset"])


def end(master: Node) -> int:
    return int(master.info("replication")["master_repl_offset"])


def test_acknowledgements_of_what_was_never_sent(master: Node) -> None:
    """WAIT counts the truth alone, whatever was said before and after it."""
    follower = Follower(master)
    master.wait_online()
    for lie in LIES:
        follower.say("REPLCONF", "ACK", lie, "FACK", lie)
    with master.connect() as client:
        client.call("SET", "a", "2")
        assert client.call("WAIT", 1, 200) == 0
        assert acked(master) <= follower.start
        wait_until("it has the write", lambda: follower.held == end(master))
        follower.say("REPLCONF", "ACK", follower.held)
        assert client.call("WAIT", 1, 10_000) == 1
    truth = acked(master)
    for lie in LIES:
        follower.say("REPLCONF", "ACK", lie)
    master.call("SET", "a", "3")
    wait_until("the stream goes on", lambda: follower.held == end(master))
    assert acked(master) == truth
    assert master.info("replication")["connected_slaves"] == "1"


def test_positions_from_the_future(master: Node) -> None:
    """A request above the master's own offset: a full resync, counted under its own name, and a line in the log."""
    follower = Follower(master)
    for held in (end(master) + 1000, 2**62):
        with Wire(master.port) as wire:
            wire.call("REPLCONF", "listening-port", 2)
            wire.call("REPLCONF", "capa", "eof", "capa", "psync2")
            assert str(wire.call("PSYNC", follower.replid, held + 1)).startswith("FULLRESYNC")
    assert master.stat("sync_full_above_offset") == 2
    assert "above_offset" in master.log()
    assert master.call("SET", "a", "2") == "OK"


ANSWERED = {
    "ping": ("PING",),
    "<unknown>": ("FROBNICATE", "a"),
    "get": ("GET", "a"),
    "select": ("SELECT", "1"),
    "client|list": ("CLIENT", "LIST"),
    "replconf": ("REPLCONF", "listening-port", "1"),
    "slowlog|get": ("SLOWLOG", "GET"),
    "subscribe": ("SUBSCRIBE", "a"),
    "wait": ("WAIT", "5", "1"),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_command_that_is_answered_ends_the_replica(master: Node, name: str) -> None:
    """No answer gets into the stream; Redis 8.2's line in the log. The replica's own word is not lost to others."""
    follower = Follower(master)
    master.wait_online()
    follower.say(*ANSWERED[name])
    follower.end()
    assert units(bytes(follower.stream)) == 0
    master.wait_log(f"Replica generated a reply to command '{name}', disconnecting it: id=")
    assert master.info("replication")["connected_slaves"] == "0"


def test_a_command_that_is_answered_before_the_snapshot_came(master: Node) -> None:
    master.call("CONFIG", "SET", "repl-diskless-sync-delay", "1000")
    for words in (("SYNC",), ("PSYNC", "?", "-1")):
        with Wire(master.port) as wire:
            wire.call("REPLCONF", "capa", "eof")
            wire.send(encode(words) + encode(("PING",)))
            assert b"PONG" not in wire.file.read()
    assert master.log().count("Replica generated a reply to command 'ping'") == 2


def test_silenced_commands_of_a_replica_harm_nobody(master: Node) -> None:
    """CLIENT REPLY OFF leaves nothing to be answered, as in Redis."""
    follower = Follower(master, silent=True)
    master.wait_online()
    follower.say("PING")
    master.call("SET", "a", "2")
    wait_until("it has the write", lambda: follower.held == end(master))
    assert master.info("replication")["connected_slaves"] == "1"


def test_an_offset_that_is_no_number(master: Node) -> None:
    with Wire(master.port) as wire, pytest.raises(ErrorReply, match="ERR value is not an integer or out of range"):
        wire.call("PSYNC", "?", "many")
    master.wait_log("127.0.0.1:<unknown-replica-port> asks for synchronization but with a wrong offset")


@pytest.mark.parametrize("words", [("SET", "a", "9"), ("PSYNC", "?", "-1"), ("REPLCONF", "listening-port", "x")])
def test_commands_that_no_replica_sends(master: Node, words: tuple[str, ...]) -> None:
    """They change nothing; at worst the replica is cut."""
    follower = Follower(master)
    follower.say(*words)
    follower.say("REPLCONF", "ACK", "0")
    assert master.call("GET", "a") == b"1"
    assert master.stat("sync_full") == 1
