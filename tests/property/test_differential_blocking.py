"""Several clients that block on keys, at pyrepl and at Redis 8.2: who is served with what, and what replicas are told.

Each step is one command, or one transaction, of one client that does not wait. Afterwards both sides must agree on the
reply, on who waits, on what those got that wait no more, on the keyspace events, and on what went into the replication
stream.
"""

from __future__ import annotations

import select
from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple, TypeAlias

import pytest

from tests.peers import lab
from tests.peers.lab import Lab
from tests.peers.wire import Wire, encode
from tests.property.differential import Events, Tap, normal, read_tree, same_but_for_time

CLIENTS: Final = 6
"""The first never blocks."""
KEYS: Final = ("a", "b", "c", "d")
SHOWN: Final = 30
_LOOK_S: Final = 0.001

Argv: TypeAlias = tuple[str | int | bytes, ...]


class Step(NamedTuple):
    """One command of one client, or several, of which the first is MULTI and the last EXEC."""

    client: int
    commands: list[Argv]
    may_wait: bool = False


class Outcome(NamedTuple):
    """What a step came to."""

    replies: list[object]
    """Of the client; the last one is missing if it waits now."""
    waiting: list[int]
    answers: dict[int, object]
    """What the clients got that waited before and do not any more."""
    events: list[tuple[bytes, bytes]]
    stream: list[list[bytes]]


class Side:
    """A server with its clients and a replica that listens."""

    def __init__(self, node: lab.Node) -> None:
        self._node = node
        self._asker = node.connect()
        self._asker.call("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        self._tap = Tap(node)
        self._events = Events(node)
        self._asker.call("RPUSH", "dumped", "x")
        self.dumped: bytes = self._asker.call("DUMP", "dumped")
        self.wires: list[Wire] = []
        self.ids: list[int] = []
        self.waiting: list[int] = []

    def begin(self, proto: int) -> None:
        """New clients and no data."""
        for wire in self.wires:
            wire.close()
        lab.wait_until("the clients are gone", lambda: self._waiting_ids() == set())
        self._asker.call("FLUSHALL")
        self.wires = [self._node.connect() for _ in range(CLIENTS)]
        self.ids = []
        for wire in self.wires:
            wire.call("HELLO", proto)
            self.ids.append(wire.call("CLIENT", "ID"))
        self.waiting = []
        self._events.take()
        self._tap.take()

    def take(self, step: Step) -> Outcome:
        wire = self.wires[step.client]
        replies: list[object] = []
        for argv in step.commands:
            words = [self.ids[int(word[1:])] if isinstance(word, str) and word[:1] == "#" else word for word in argv]
            wire.send(encode(words))
            # Redis 8.2 calls a client blocked too while FLUSHALL frees memory: only those that may wait are looked at.
            if not step.may_wait or self._is_answered(step.client):
                replies.append(normal([str(argv[0]).encode()], read_tree(wire.file)))
        ids = self._waiting_ids()
        before, self.waiting = self.waiting, [number for number in range(CLIENTS) if self.ids[number] in ids]
        told = [number for number in before if number not in self.waiting]
        answers = {number: normal([b"BLPOP"], read_tree(self.wires[number].file)) for number in told}
        return Outcome(replies, self.waiting, answers, self._events.take(), self._tap.take())

    def state(self) -> tuple[object, ...]:
        """What must be equal at the end."""
        clients = self._node.info("clients")
        return self._asker.call("DEBUG", "DIGEST"), clients["total_blocking_keys"], clients["blocked_clients"]

    def close(self) -> None:
        for wire in (*self.wires, self._asker):
            wire.close()
        self._tap.close()
        self._events.close()

    def _is_answered(self, number: int) -> bool:
        """Has the client got a reply? False when it waits for one."""
        while not select.select([self.wires[number].sock], [], [], _LOOK_S)[0]:
            if self.ids[number] in self._waiting_ids():
                return False
        return True

    def _waiting_ids(self) -> set[int]:
        lines = self._asker.call("CLIENT", "LIST").decode().splitlines()
        fields = [dict(word.split("=", 1) for word in line.split()) for line in lines]
        return {int(line["id"]) for line in fields if "b" in line["flags"]}


class Writer:
    """Invents steps."""

    def __init__(self, seed: int, dumped: bytes) -> None:
        self.random = Random(seed)
        self.dumped = dumped
        """A list, as DUMP gives it."""
        self.entry = 0

    def step(self, waiting: list[int]) -> Step:
        random = self.random
        free = [number for number in range(CLIENTS) if number not in waiting]
        client = random.choice(free)
        if client and random.random() < 0.55:
            return Step(client, [self.blocking(client)], may_wait=True)
        if random.random() < 0.05:
            return Step(client, [("MULTI",), *self.stored(), ("EXEC",)])
        if random.random() < 0.15:
            return Step(client, [("MULTI",), *self.group(), ("EXEC",)])
        if random.random() < 0.2:
            inside = [self.change() for _ in range(random.randint(1, 4))]
            if random.random() < 0.3:
                inside.append(self.blocking(client))
            return Step(client, [("MULTI",), *inside, ("EXEC",)])
        if waiting and random.random() < 0.1:
            return Step(
                client, [("CLIENT", "UNBLOCK", f"#{random.choice(waiting)}", random.choice(("ERROR", "TIMEOUT")))]
            )
        return Step(client, [self.change()])

    def key(self) -> str:
        return self.random.choice(KEYS)

    def keys(self) -> list[str]:
        return self.random.choices(KEYS, k=self.random.randint(1, 3))

    def side(self) -> str:
        return self.random.choice(("LEFT", "RIGHT"))

    def blocking(self, client: int) -> Argv:
        """A command that waits if there is nothing."""
        random = self.random
        keys = self.keys()
        starts = [random.choice(("$", "$", "0", "+")) for _ in keys]
        count = ("COUNT", random.randint(1, 3)) if random.random() < 0.4 else ()
        group = ("XREADGROUP", "GROUP", random.choice("gh"), f"consumer{client}")
        forms: list[Argv] = [
            (random.choice(("BLPOP", "BRPOP")), *keys, 0),
            ("BLMOVE", self.key(), self.key(), self.side(), self.side(), 0),
            ("BRPOPLPUSH", self.key(), self.key(), 0),
            ("BLMPOP", 0, len(keys), *keys, self.side(), *count),
            (random.choice(("BZPOPMIN", "BZPOPMAX")), *keys, 0),
            ("BZMPOP", 0, len(keys), *keys, random.choice(("MIN", "MAX")), *count),
            ("XREAD", *count, "BLOCK", 0, "STREAMS", *keys, *starts),
            (*group, *count, "BLOCK", 0, "STREAMS", *keys, *[">" for _ in keys]),
            (*group, *count, "BLOCK", 0, *random.choice(((), ("NOACK",))), "STREAMS", self.key(), ">"),
        ]
        return random.choice(forms)

    def group(self) -> list[Argv]:
        """A group with all its consumers. Of a consumer that only asks for entries Redis tells its replicas nothing,
        and we do; so nobody ever is a new one."""
        key, name = self.key(), self.random.choice("gh")
        consumers = [("XGROUP", "CREATECONSUMER", key, name, f"consumer{number}") for number in range(CLIENTS)]
        return [("XGROUP", "CREATE", key, name, self.random.choice("0$"), "MKSTREAM"), *consumers]

    def stored(self) -> list[Argv]:
        """A list or a sorted set made of another key. Where a key of another type is overwritten, Redis leaves clients
        waiting that could be served, and we do not: so the key is deleted first."""
        source, target = self.random.sample(KEYS, 2)
        forms: list[Argv] = [("SORT", source, "ALPHA", "STORE", target), ("ZUNIONSTORE", target, 1, source)]
        return [("DEL", target), self.random.choice(forms)]

    def change(self) -> Argv:
        """A command that may make a key ready."""
        random = self.random
        self.entry += 1
        entry = f"{self.entry}-0"
        some = [f"{self.entry}.{number}" for number in range(random.randint(1, 3))]
        forms: list[Argv] = [
            *[(random.choice(("RPUSH", "LPUSH")), self.key(), *some)] * 4,
            *[("ZADD", self.key(), *[word for number, member in enumerate(some) for word in (number, member)])] * 3,
            *[("XADD", self.key(), entry, "f", self.entry)] * 5,
            *[("DEL", *self.keys())] * 4,
            ("XGROUP", "DESTROY", self.key(), random.choice("gh")),
            ("XGROUP", "SETID", self.key(), random.choice("gh"), random.choice("0$")),
            ("XTRIM", self.key(), "MAXLEN", random.randint(0, 2)),
            ("XADD", self.key(), "MAXLEN", 0, entry, "f", self.entry),
            ("RENAME", self.key(), self.key()),
            ("COPY", self.key(), self.key(), "REPLACE"),
            ("LMOVE", self.key(), self.key(), self.side(), self.side()),
            ("SET", self.key(), "text"),
            ("MOVE", self.key(), random.randint(0, 1)),
            ("SWAPDB", 0, 1),
            ("SELECT", random.choice((0, 0, 0, 1))),
            ("PEXPIREAT", self.key(), 1),
            ("RESTORE", self.key(), 0, self.dumped, "REPLACE"),
            (random.choice(("FLUSHALL", "FLUSHDB")),),
        ]
        return random.choice(forms)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    with Lab(tmp_path_factory.mktemp("lab")) as servers:
        pair = Side(servers.start("pyrepl")), Side(servers.start("redis8"))
        yield pair
        for side in pair:
            side.close()


def fight(sides: tuple[Side, Side], seed: int, steps: int) -> None:
    """Raises AssertionError with the last steps before the first difference."""
    ours, theirs = sides
    for side in sides:
        side.begin(proto=3 if seed % 2 else 2)
    writer = Writer(seed, theirs.dumped)
    done: list[Step] = []
    for _ in range(steps):
        done.append(writer.step(theirs.waiting))
        mine, others = ours.take(done[-1]), theirs.take(done[-1])
        same_stream = len(mine.stream) == len(others.stream) and all(map(same_but_for_time, mine.stream, others.stream))
        if mine[:-1] != others[:-1] or not same_stream:
            shown = "\n".join(f"  {step.client}: {step.commands}" for step in done[-SHOWN:])
            raise AssertionError(f"seed {seed} after\n{shown}\n ours   {mine}\n theirs {others}")
    assert ours.state() == theirs.state(), f"seed {seed}"


@pytest.mark.parametrize("seed", range(4))
def test_who_is_served_with_what(sides: tuple[Side, Side], seed: int) -> None:
    fight(sides, seed, steps=250)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(100, 160))
def test_who_is_served_with_what_at_length(sides: tuple[Side, Side], seed: int) -> None:
    fight(sides, seed, steps=400)
