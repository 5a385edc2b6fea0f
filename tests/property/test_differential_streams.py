"""Random conversations about streams: pyrepl's commands and a real Redis 8.6 must answer alike, to the byte, and what
pyrepl propagates must lead a real Redis 8.6 and another pyrepl to the same streams, groups and consumers, and what a
real master propagates must lead pyrepl to where it leads a real replica.

Left out, with reasons: ids chosen by the server (clocks differ), `~` (node sizes differ, see `xstreams.trim`), and what
measures time: idle times are masked, and the only minimum idle times used are 0 and more than the test takes.
"""

from __future__ import annotations

import io
import re
import time
from random import Random

import pytest

from pyrepl.commands.xstreams import (
    claims as stream_claims,
)
from pyrepl.commands.xstreams import (
    groups as stream_groups,
)
from pyrepl.commands.xstreams import (
    info as stream_info,
)
from pyrepl.commands.xstreams import (
    reads as stream_reads,
)
from pyrepl.commands.xstreams import (
    references as stream_references,
)
from pyrepl.commands.xstreams import (
    streams,
)
from pyrepl.errors import CommandError
from pyrepl.keyspace.digest import keyspace_digest
from pyrepl.resp.encoder import encode_command
from tests.peers.lab import Lab, Node
from tests.peers.wire import Wire
from tests.property.differential import Tree, read_tree
from tests.unit.commands.desk import Desk

MODULES = (streams, stream_references, stream_reads, stream_groups, stream_claims, stream_info)
CONVERSATIONS = 30
COMMANDS = 150
HOUR_MS = 3_600_000


MASKED = Tree(b":", b"masked")


def masked(words: list[str], tree: Tree) -> Tree:
    """Take out what measures time: idle times, delivery times, when a consumer was seen."""
    if not isinstance(tree.content, list):
        return tree
    if words[0] == "XPENDING" and len(words) > 3:
        return Tree(tree.kind, [_without_idle(row) for row in tree.content])
    return _mask_info(tree) if words[0] == "XINFO" else tree


def _without_idle(row: Tree) -> Tree:
    assert isinstance(row.content, list)
    entry_id, consumer, _, deliveries = row.content
    return Tree(row.kind, [entry_id, consumer, MASKED, deliveries])


def _mask_info(tree: Tree) -> Tree:
    kind, content = tree
    if isinstance(content, list):
        items = [_mask_info(item) for item in content]
        for index, item in enumerate(items[:-1]):
            if item.kind == b"$" and item.content in (b"idle", b"inactive", b"radix-tree-keys", b"radix-tree-nodes"):
                items[index + 1] = MASKED
        return Tree(kind, items)
    if kind == b":" and isinstance(content, bytes) and re.fullmatch(rb"1\d{12}", content):
        return MASKED
    return tree


class Script:
    """A seeded writer of commands on few keys, groups, consumers and ids, so that they meet."""

    def __init__(self, seed: int, *, approximate: bool = False) -> None:
        self.random = Random(seed)
        self.exactness = ["=", "~"] if approximate else ["="]
        self.next_ms = 1

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def key(self) -> str:
        return "text" if self.chance(0.02) else self.pick("s", "s", "s", "t", "t", "u")

    def group(self) -> str:
        return self.pick("g", "g", "g", "h", "nosuch")

    def consumer(self) -> str:
        return self.pick("alice", "bob", "carol")

    def id(self) -> str:
        if self.chance(0.03):
            return self.pick(
                "x", "1-", "-1", "1-x", "", "007-01", "+5-1", "1-1-1", "18446744073709551616", "0-0", "-", "+"
            )
        if self.chance(0.02):
            return self.pick("18446744073709551615-18446744073709551615", "18446744073709551615", "0-1", "0")
        ms = self.random.randrange(self.next_ms + 2)
        return f"{ms}-{self.random.randrange(3)}" if self.chance(0.8) else str(ms)

    def ids(self) -> list[str]:
        return [self.id() for _ in range(self.random.choice((1, 1, 2, 3, 12)))]

    def bound(self) -> str:
        word = self.pick("-", "+") if self.chance(0.4) else self.id()
        return f"({word}" if self.chance(0.15) else word

    def count(self) -> list[str]:
        if self.chance(0.6):
            return []
        return [self.pick("COUNT", "count"), self.pick("1", "2", "3", "0", "-1", "100", "x")]

    def trim(self) -> list[str]:
        if self.chance(0.5):
            bound = self.pick("0", "1", "3", "10", "40", "-1", "x")
            words = ["MAXLEN", *self.random.choice(([], [self.pick(*self.exactness)])), bound]
        else:
            words = ["MINID", *self.random.choice(([], [self.pick(*self.exactness)])), self.id()]
        if self.chance(0.2):
            words.insert(0, self.policy())
        if self.chance(0.08):
            words += [self.pick("LIMIT", "MAXLEN", "MINID"), self.pick("0", "5", "-1", "x")]
        return words

    def policy(self) -> str:
        return self.pick("KEEPREF", "DELREF", "acked", "ACKED")

    def numbered_ids(self) -> list[str]:
        """The tail of XDELEX and XACKDEL."""
        ids = self.ids()
        count = self.pick("0", "x", "1", "99") if self.chance(0.1) else str(len(ids))
        words = [self.pick("IDS", "ids"), count, *ids]
        return words if self.chance(0.3) else [self.policy(), *words] if self.chance(0.7) else [*words, self.policy()]

    def xdelex(self) -> list[str]:
        return ["XDELEX", self.key(), *self.numbered_ids()]

    def xackdel(self) -> list[str]:
        return ["XACKDEL", self.key(), self.group(), *self.numbered_ids()]

    def command(self) -> list[str]:
        name = self.random.choice(NAMES)
        words: list[str] = getattr(self, name.lower())()
        if self.chance(0.02):
            words.append("extra")
        elif self.chance(0.02) and len(words) > 1:
            words.pop()
        return words

    def xadd(self) -> list[str]:
        words = ["XADD", self.key()]
        if self.chance(0.1):
            words.append("NOMKSTREAM")
        if self.chance(0.15):
            words += self.trim()
        if self.chance(0.1):
            words.append(self.id())
        else:
            self.next_ms += self.random.randrange(2)
            words.append(self.pick(f"{self.next_ms}-{self.random.randrange(3)}", f"{self.next_ms}-*"))
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            words += [self.pick("f", "name"), str(self.random.randrange(100))]
        return words

    def xlen(self) -> list[str]:
        return ["XLEN", self.key()]

    def xrange(self) -> list[str]:
        return [self.pick("XRANGE", "XREVRANGE"), self.key(), self.bound(), self.bound(), *self.count()]

    def xdel(self) -> list[str]:
        return ["XDEL", self.key(), *self.ids()]

    def xtrim(self) -> list[str]:
        return ["XTRIM", self.key(), *(self.trim() if self.chance(0.9) else ["LIMIT", "3"])]

    def xsetid(self) -> list[str]:
        words = ["XSETID", self.key(), self.id()]
        if self.chance(0.4):
            words += ["ENTRIESADDED", self.pick("0", "5", "50", "-1", "x")]
        if self.chance(0.4):
            words += ["MAXDELETEDID", self.id()]
        return words

    def _streams(self, special: str) -> list[str]:
        keys = [self.key() for _ in range(self.random.choice((1, 1, 2)))]
        ids = [special if self.chance(0.6) else self.pick(self.id(), self.id(), self.id(), ">", "$", "+") for _ in keys]
        return ["STREAMS", *keys, *ids]

    def xread(self) -> list[str]:
        return ["XREAD", *self.count(), *(["NOACK"] if self.chance(0.02) else []), *self._streams(self.id())]

    def xreadgroup(self) -> list[str]:
        group = ["GROUP", self.group(), self.consumer()] if self.chance(0.97) else ["NOACK"]
        return ["XREADGROUP", *group, *self.count(), *(["NOACK"] if self.chance(0.2) else []), *self._streams(">")]

    def xgroup_create(self) -> list[str]:
        words = ["XGROUP", "CREATE", self.key(), self.pick("g", "h"), self.pick("0", "$", self.id())]
        if self.chance(0.3):
            words.append("MKSTREAM")
        if self.chance(0.2):
            words += ["ENTRIESREAD", self.pick("0", "2", "-1", "-2", "x")]
        return words

    def xgroup_other(self) -> list[str]:
        key, group = self.key(), self.group()
        return self.random.choice(
            (
                [
                    "XGROUP",
                    "SETID",
                    key,
                    group,
                    self.pick("0", "$", self.id()),
                    *self.pick("", "ENTRIESREAD 3").split(),
                ],
                ["XGROUP", "DESTROY", key, group],
                ["XGROUP", "CREATECONSUMER", key, group, self.consumer()],
                ["XGROUP", "DELCONSUMER", key, group, self.consumer()],
                ["XGROUP", self.pick("HELP", "NOSUCH")],
            )
        )

    def xack(self) -> list[str]:
        return ["XACK", self.key(), self.group(), *self.ids()]

    def xpending(self) -> list[str]:
        words = ["XPENDING", self.key(), self.group()]
        if self.chance(0.3):
            return words
        if self.chance(0.3):
            words += ["IDLE", self.pick("0", str(HOUR_MS), "x")]
        words += [self.bound(), self.bound(), self.pick("1", "10", "0", "-1", "x")]
        if self.chance(0.3):
            words.append(self.consumer())
        return words

    def xclaim(self) -> list[str]:
        words = ["XCLAIM", self.key(), self.group(), self.consumer(), self.pick("0", "0", str(HOUR_MS), "-1", "x")]
        words += self.ids()
        options = (
            ["FORCE"], ["JUSTID"], ["IDLE", str(2 * HOUR_MS)], ["RETRYCOUNT", self.pick("0", "7", "-1", "x")],
            ["LASTID", self.id()], ["NOSUCH"], ["TIME", "5"], ["TIME", "-1"],
        )  # fmt: skip
        weights = (8, 5, 4, 3, 3, 1, 2, 1)
        for option in self.random.choices(options, weights, k=self.random.choice((0, 1, 1, 2))):
            words += option
        return words

    def xautoclaim(self) -> list[str]:
        words = ["XAUTOCLAIM", self.key(), self.group(), self.consumer(), self.pick("0", "0", str(HOUR_MS), "x")]
        words.append(self.bound())
        if self.chance(0.5):
            words += ["COUNT", self.pick("1", "2", "0", "x", "100")]
        if self.chance(0.3):
            words.append("JUSTID")
        return words

    def xinfo(self) -> list[str]:
        key = self.key()
        full = self.random.choice(
            ([], ["FULL"], ["full", "COUNT", self.pick("0", "1", "-3", "x")], ["FULL", "COUNT"], ["x"])
        )
        return self.random.choice(
            (
                ["XINFO", "STREAM", key, *full],
                ["XINFO", "STREAM", key, "FULL", "COUNT", "0"],
                ["XINFO", "GROUPS", key],
                ["XINFO", "CONSUMERS", key, self.group()],
                ["XINFO", self.pick("HELP", "NOSUCH")],
            )
        )


NAMES = (
    "XADD", "XADD", "XADD", "XADD", "XADD", "XADD", "XLEN", "XRANGE", "XRANGE", "XDEL", "XDEL", "XTRIM", "XSETID",
    "XREAD", "XREADGROUP", "XREADGROUP", "XREADGROUP", "XREADGROUP", "XGROUP_CREATE", "XGROUP_CREATE", "XGROUP_OTHER",
    "XDELEX", "XACKDEL",
    "XACK", "XACK", "XPENDING", "XPENDING", "XCLAIM", "XCLAIM", "XAUTOCLAIM", "XAUTOCLAIM", "XINFO", "XINFO", "XINFO",
)  # fmt: skip


def converse(wire: Wire, seed: int, proto: int) -> None:
    """One conversation from empty databases; fails at the first difference, showing what led to it.

    Compared are replies, by how much the number of changes grew, and the digests at the end.
    """
    desk = Desk(*MODULES)
    desk.client.speak(proto)
    desk.keyspace.databases[0].put(b"text", b"no stream")
    script = Script(seed)
    wire.call("FLUSHALL")
    wire.call("SET", "text", "no stream")
    said: list[str] = []
    changes = _their_changes(wire)
    for _ in range(COMMANDS):
        words = script.command()
        argv = [word.encode() for word in words]
        said.append(" ".join(word or '""' for word in words))
        desk.keyspace.now_ms = time.time_ns() // 1_000_000
        wire.send(encode_command(argv))
        theirs = masked(words, read_tree(wire.file))
        before, dirty = changes, desk.keyspace.dirty
        changes = _their_changes(wire)
        ours = masked(words, read_tree(io.BytesIO(desk.encoded(*argv))))
        where = "\n".join([f"seed {seed}, RESP{proto}", *said])
        assert ours == theirs, f"{where}\nours   {ours}\ntheirs {theirs}"
        assert desk.keyspace.dirty - dirty == changes - before, f"{where}\nthe number of changes"
    assert keyspace_digest(desk.keyspace) == wire.call("DEBUG", "DIGEST"), where


def _their_changes(wire: Wire) -> int:
    _, _, rest = wire.call("INFO", "persistence").partition(b"rdb_changes_since_last_save:")
    return int(rest.split(b"\r\n")[0])


def outline(tree: Tree) -> Tree:
    """XINFO STREAM FULL without what reading the history of a consumer changes unsaid: times and delivery counts."""
    if not isinstance(tree.content, list):
        return tree
    items = [outline(item) for item in tree.content]
    kinds = b"".join(item.kind for item in items)
    if kinds in (b"$::", b"$$::"):
        items[-2:] = [MASKED, MASKED]
    return Tree(tree.kind, items)


def follow(wire: Wire, seed: int) -> None:
    """A conversation with a master, whose stream is applied to a pyrepl replica and a real server."""
    master, replica = Desk(*MODULES), Desk(*MODULES)
    replica.client.become_master_link()
    script = Script(seed, approximate=True)
    for _ in range(COMMANDS):
        words = script.command()
        if "LIMIT" not in words:
            master.run(*words)
        master.pass_ms(1)
        replica.pass_ms(1)
    wire.call("FLUSHALL")
    for argv in master.propagated():
        wire.call(*argv)
        replica.run(*argv)
    for key in ("s", "t", "u"):
        question = ["XINFO", "STREAM", key, "FULL", "COUNT", "0"]
        expected = outline(_mask_info(read_tree(io.BytesIO(master.encoded(*question)))))
        assert outline(_mask_info(read_tree(io.BytesIO(replica.encoded(*question))))) == expected, f"seed {seed}, {key}"
        wire.send(encode_command([word.encode() for word in question]))
        assert outline(_mask_info(read_tree(wire.file))) == expected, f"seed {seed}, {key} on the real server"


def test_what_is_propagated_leads_to_the_same_streams(lab: Lab) -> None:
    with lab.start("redis86").connect() as wire:
        for seed in range(CONVERSATIONS):
            follow(wire, seed)


def stream_of(master: Node) -> Wire:
    """A connection that the master feeds as a replica; it stands behind the snapshot."""
    wire = master.connect()
    wire.send(b"SYNC\r\n")
    line = b"\n"
    while line == b"\n":
        line = wire.file.readline()
    wire.file.read(int(line[1:]))
    return wire


def overhear(stream: Wire, desk: Desk) -> None:
    """Apply what comes until `SET text <seed>`, the end of a conversation."""
    while True:
        tree = read_tree(stream.file)
        assert isinstance(tree.content, list)
        argv = [word.content for word in tree.content if isinstance(word.content, bytes)]
        if argv[:2] == [b"SET", b"text"]:
            return
        if argv[0].upper().startswith(b"X"):
            desk.keyspace.now_ms = time.time_ns() // 1_000_000
            assert not isinstance(desk.run(*argv), CommandError), argv


def test_as_a_replica_of_a_real_master_we_are_where_a_real_replica_is(lab: Lab) -> None:
    master = lab.start("redis86")
    replica = lab.start("redis86", master)
    replica.wait_link_up()
    with master.connect() as client, replica.connect() as theirs, stream_of(master) as stream:
        for seed in range(CONVERSATIONS):
            client.call("FLUSHALL")
            script = Script(seed, approximate=True)
            client.pipeline([script.command() for _ in range(COMMANDS)])
            client.call("SET", "text", seed)
            ours = Desk(*MODULES)
            ours.client.become_master_link()
            overhear(stream, ours)
            assert client.call("WAIT", 1, 10_000) >= 1
            for key in ("s", "t", "u"):
                question = ["XINFO", "STREAM", key, "FULL", "COUNT", "0"]
                theirs.send(encode_command([word.encode() for word in question]))
                expected = _mask_info(read_tree(theirs.file))
                mine = _mask_info(read_tree(io.BytesIO(ours.encoded(*question))))
                assert mine == expected, f"seed {seed}, {key}"


@pytest.mark.parametrize("proto", [2, 3])
def test_streams_answer_as_redis_does(lab: Lab, proto: int) -> None:
    with lab.start("redis86").connect() as wire:
        wire.call("HELLO", proto)
        for seed in range(CONVERSATIONS):
            converse(wire, seed, proto)
