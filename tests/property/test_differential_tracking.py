"""Client-side caching beside a real Redis 8.2: each of several clients must hear what it hears there.

`@n` in a command stands for the id of client n, which is another one on either side. Left out: CLIENT TRACKING inside
MULTI; there Redis tells what was changed before it in the new mode, pyrepl in the mode of that moment.
"""

from __future__ import annotations

from random import Random

import pytest

from pyrepl.commands.collections import lists
from pyrepl.commands.keys import expiry, keys
from pyrepl.commands.node import databases
from pyrepl.commands.session import client_admin, connection, pubsub, tracking, transactions
from pyrepl.commands.strings import strings
from tests.peers.lab import Lab, Node
from tests.property import test_differential_sessions
from tests.unit.commands.desk import Desk

MODULES = (strings, lists, keys, expiry, databases, connection, client_admin, tracking, transactions, pubsub)
CLIENTS = test_differential_sessions.CLIENTS
HEARER = CLIENTS - 1
"""Hears for others under RESP2, and says nothing."""
STEPS = 150
SESSIONS = 8


class Sessions(test_differential_sessions.Sessions):
    """The same clients on both sides, some of which track."""

    def __init__(self, node: Node, proto: int) -> None:
        super().__init__(node, proto, Desk(*MODULES))
        self.node = node
        self.their_ids = [self._id(number) for number in range(CLIENTS)]
        self.step(HEARER, ["SUBSCRIBE", "__redis__:invalidate"])

    def _id(self, number: int) -> str:
        wire = self.theirs[number]
        wire.sock.setblocking(True)
        found = wire.call("CLIENT", "ID")
        wire.sock.setblocking(False)
        return str(found)

    def step(self, speaker: int, words: list[str]) -> tuple[list[list[str]], list[list[str]]]:
        def said(ids: list[str]) -> list[bytes]:
            return [(ids[int(word[1:])] if word.startswith("@") else word).encode() for word in words]

        ours = [str(client.id) for client in self.ours]
        return self._ours(speaker, said(ours)), self._theirs(speaker, said(self.their_ids))

    def counts(self) -> tuple[list[int], list[int]]:
        """How many clients track, and how many prefixes they gave: ours and theirs."""
        mine = self.desk.node.tracking
        clients, stats = self.node.info("clients"), self.node.info("stats")
        theirs = [int(clients["tracking_clients"]), int(stats["tracking_total_prefixes"])]
        return [mine.clients_count, mine.prefixes_count], theirs


def command(random: Random) -> list[str]:
    key, other = random.choice(("a", "b", "ab", "c")), random.choice("abc")
    options = random.choice(
        (
            [],
            [],
            ["NOLOOP"],
            ["OPTIN"],
            ["OPTOUT"],
            ["BCAST"],
            ["BCAST", "NOLOOP"],
            ["BCAST", "PREFIX", random.choice("abc")],
            ["BCAST", "PREFIX", "a", "PREFIX", random.choice(("b", "ab"))],
            ["PREFIX", "a"],
            ["OPTIN", "OPTOUT"],
            ["BCAST", "OPTIN"],
            ["NOSUCH"],
            ["REDIRECT", "999999"],
            ["REDIRECT", f"@{HEARER}"],
            ["REDIRECT", f"@{HEARER}", "NOLOOP"],
            ["BCAST", "REDIRECT", f"@{HEARER}"],
            ["REDIRECT", f"@{HEARER}", "REDIRECT", "1"],
        )
    )
    return random.choice(
        (
            ["CLIENT", "TRACKING", "ON", *options],
            ["CLIENT", "TRACKING", "ON", *options],
            ["CLIENT", "TRACKING", random.choice(("OFF", "OFF", "maybe"))],
            ["CLIENT", "CACHING", random.choice(("YES", "NO", "maybe"))],
            ["CLIENT", "CACHING", random.choice(("YES", "NO"))],
            ["GET", key],
            ["GET", key],
            ["MGET", key, other],
            ["EXISTS", key],
            ["SET", key, random.choice("12")],
            ["SET", key, "1"],
            ["MSET", key, "1", other, "2"],
            ["INCR", key],
            ["DEL", key, other],
            ["RENAME", key, other],
            ["EXPIRE", key, "100"],
            ["RPUSH", "l", "x"],
            ["LRANGE", "l", "0", "-1"],
            ["LPOP", "l"],
            # Redis 8.2 answers a plain FLUSHDB when its thread is done, perhaps behind what others are told.
            ["FLUSHDB", "ASYNC"],
            ["SELECT", random.choice("01")],
            ["MULTI"],
            ["EXEC"],
            ["EXEC"],
        )
    )


@pytest.mark.parametrize("proto", [2, 3])
def test_each_client_hears_what_redis_would_tell_it(lab: Lab, proto: int) -> None:
    node = lab.start("redis8")
    for seed in range(SESSIONS):
        random = Random(seed)
        sessions = Sessions(node, proto)
        said: list[str] = []
        for _ in range(STEPS):
            speaker, words = random.randrange(HEARER), command(random)
            if words[:2] == ["CLIENT", "TRACKING"] and sessions.ours[speaker].queue is not None:
                continue
            said.append(f"{speaker}: {' '.join(words)}")
            ours, theirs = sessions.step(speaker, words)
            assert ours == theirs, "\n".join([f"seed {seed}, RESP{proto}", *said[-40:], f"{ours}", f"{theirs}"])
        ours_count, theirs_count = sessions.counts()
        assert ours_count == theirs_count, said
        sessions.close()
