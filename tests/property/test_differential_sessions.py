"""Several clients with transactions, watched keys and subscriptions: each must hear from pyrepl's commands what it
hears from a real Redis 7.0, and from 8.2.

Left out (`Sessions.why_not`): what 7.0 orders otherwise (a message to oneself comes before PUBLISH's reply there and
after it since 7.2; UNSUBSCRIBE without names goes through them in no order), a key written with a time to live that is
over already while somebody watches it as expired (7.0 calls that a change, here the key was and is not there), and
EXEC where it is refused before it runs.
"""

from __future__ import annotations

import io
from random import Random

import pytest

from pyrepl.commands.keys import expiry, keys
from pyrepl.commands.node import databases
from pyrepl.commands.session import pubsub, transactions
from pyrepl.commands.session.transactions import MissingKeyWatch
from pyrepl.commands.strings import strings
from pyrepl.node.client import Client
from pyrepl.resp.encoder import encode_command, encode_reply
from tests.peers.lab import Lab, Node
from tests.peers.wire import Wire
from tests.property.differential import Tree, read_tree
from tests.unit.commands.desk import Desk

MODULES = (strings, keys, expiry, databases, transactions, pubsub)
CLIENTS = 3
STEPS = 200
SESSIONS = 15
PAST = 1


class Sessions:
    """The same clients on both sides."""

    def __init__(self, node: Node, proto: int, desk: Desk | None = None) -> None:
        self.desk = desk or Desk(*MODULES)
        self.control = node.connect()
        self.control.call("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        self.control.call("FLUSHALL")
        self.ours: list[Client] = []
        self.theirs: list[Wire] = []
        for _ in range(CLIENTS):
            wire = node.connect()
            if proto == 3:
                wire.call("HELLO", 3)
            wire.sock.setblocking(False)
            self.theirs.append(wire)
            self.ours.append(self.desk.connect(proto=proto))

    def close(self) -> None:
        for wire in (self.control, *self.theirs):
            wire.close()

    def why_not(self, speaker: int, words: list[str]) -> str | None:
        """Why this may be answered otherwise, or None."""
        client = self.ours[speaker]
        in_transaction = client.queue is not None
        if words[0] in ("PUBLISH", "SPUBLISH") and (in_transaction or client.proto == 3):
            return "the order of a message to oneself"
        if words in (["UNSUBSCRIBE"], ["PUNSUBSCRIBE"], ["SUNSUBSCRIBE"]) and in_transaction:
            return "the order in which subscriptions end"
        if words == ["EXEC"] and client.proto == 2 and client.subscribed:
            return "refused"
        watchers = self.desk.keyspace.databases[0].watchers.get(words[1].encode(), ()) if "PXAT" in words else ()
        if any(isinstance(watcher, MissingKeyWatch) and watcher.is_stale for watcher in watchers) or (
            "PXAT" in words and in_transaction
        ):
            return "written as expired, watched as expired"
        return None

    def step(self, speaker: int, words: list[str]) -> tuple[list[list[str]], list[list[str]]]:
        """What each client hears on either side, ours first."""
        argv = [word.encode() for word in words]
        return self._ours(speaker, argv), self._theirs(speaker, argv)

    def _ours(self, speaker: int, argv: list[bytes]) -> list[list[str]]:
        heard = [b""] * CLIENTS
        heard[speaker] = self.desk.served(*argv, client=self.ours[speaker])
        self.desk.node.tracking.tell_prefixes()
        for client_id, reply in self.desk.node.deliveries:
            index = next(i for i, client in enumerate(self.ours) if client.id == client_id)
            heard[index] += encode_reply(reply, self.ours[index].proto)
        self.desk.node.deliveries.clear()
        return [_replies(data) for data in heard]

    def _theirs(self, speaker: int, argv: list[bytes]) -> list[list[str]]:
        """The speaker's reply first; after another client's PING is answered all that belongs to it has been sent."""
        wire = self.theirs[speaker]
        wire.sock.setblocking(True)
        wire.send(encode_command(argv))
        first = wire.sock.recv(1 << 20)
        wire.sock.setblocking(False)
        self.control.call("PING")
        heard = [_waiting(other) for other in self.theirs]
        heard[speaker] = first + heard[speaker]
        return [_replies(data) for data in heard]


def _waiting(wire: Wire) -> bytes:
    data = b""
    while True:
        try:
            data += wire.sock.recv(1 << 20)
        except BlockingIOError:
            return data


def _replies(data: bytes) -> list[str]:
    file = io.BytesIO(data)
    replies: list[Tree] = []
    while file.tell() < len(data):
        replies.append(_without_order(read_tree(file)))
    return sorted(map(repr, replies))


def _without_order(tree: Tree) -> Tree:
    """Without the number of subscriptions left, where it hangs on the order in which they end."""
    if not isinstance(tree.content, list):
        return tree
    items = [_without_order(item) for item in tree.content]
    if items and items[0].content in (b"unsubscribe", b"punsubscribe", b"sunsubscribe"):
        items[-1] = Tree(b":", b"some")
    return Tree(tree.kind, items)


def command(random: Random) -> list[str]:
    key = random.choice("abc")
    channel = random.choice(("news", "nets", "x"))
    pattern = random.choice(("n*", "?ews", "*", "[mn]e[wt]s"))
    return random.choice(
        (
            ["MULTI"],
            ["MULTI"],
            ["EXEC"],
            ["EXEC"],
            ["EXEC"],
            ["DISCARD"],
            ["WATCH", key],
            ["WATCH", key, random.choice("abc")],
            ["UNWATCH"],
            ["SET", key, random.choice("12")],
            ["GET", key],
            ["INCR", key],
            ["DEL", key, "nosuch"],
            ["SET", key, "1", "PXAT", str(PAST)],
            ["PEXPIREAT", key, str(PAST)],
            ["PERSIST", key],
            ["FLUSHDB"],
            ["SWAPDB", "0", random.choice("123")],
            ["NOSUCH", key],
            ["GET"],
            ["SUBSCRIBE", channel],
            ["SUBSCRIBE", channel, "x"],
            ["UNSUBSCRIBE", *random.choice(([], [channel], [channel, "y"]))],
            ["PSUBSCRIBE", pattern],
            ["PUNSUBSCRIBE", *random.choice(([], [], [pattern]))],
            ["PUNSUBSCRIBE"],
            ["UNSUBSCRIBE"],
            ["PUBLISH", channel, "hello"],
            ["PUBLISH", channel, "hello"],
            ["PUBSUB", "NUMSUB", "news", "x"],
            ["PUBSUB", "NUMPAT"],
            ["SSUBSCRIBE", channel, "x"],
            ["SUNSUBSCRIBE", *random.choice(([], [channel], [channel, "y"]))],
            ["SPUBLISH", channel, "hello"],
            ["PUBSUB", "SHARDNUMSUB", "news", "x"],
        )
    )


@pytest.mark.parametrize("kind", ["redis7", "redis8"])
@pytest.mark.parametrize("proto", [2, 3])
def test_each_client_hears_what_redis_would_tell_it(lab: Lab, proto: int, kind: str) -> None:
    node = lab.start(kind)
    for seed in range(SESSIONS):
        random = Random(seed)
        sessions = Sessions(node, proto)
        said: list[str] = []
        for _ in range(STEPS):
            speaker = random.randrange(CLIENTS)
            words = command(random)
            if sessions.why_not(speaker, words) is not None:
                continue
            said.append(f"{speaker}: {' '.join(words)}")
            ours, theirs = sessions.step(speaker, words)
            assert ours == theirs, "\n".join([f"seed {seed}, RESP{proto}", *said[-40:], f"{ours}", f"{theirs}"])
        sessions.close()
