"""Random commands on lists: pyrepl and a real Redis 7.0 must answer alike, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.collection_words import SETTING, Writer
from tests.property.differential import Duel, Words

NAMES = (
    b"LPUSH RPUSH LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LLEN LINDEX LSET LRANGE LRANGE LINSERT LREM LTRIM LPOS LPOS "
    b"LMOVE RPOPLPUSH LMPOP"
).split()


class ListWriter(Writer):
    def command(self) -> Words:
        name = self.pick(*NAMES)
        if name in (b"LPUSH", b"RPUSH", b"LPUSHX", b"RPUSHX"):
            return name, self.key(), *self.some(self.element, 0 if self.chance(0.05) else 1, 6)
        if name in (b"LPOP", b"RPOP"):
            return name, self.key(), *self.pop_count()
        if name == b"LLEN":
            return name, self.key()
        if name == b"LINDEX":
            return name, self.key(), self.index()
        if name in (b"LRANGE", b"LTRIM"):
            return name, self.key(), self.index(), self.index()
        if name == b"LSET":
            return name, self.key(), self.index(), self.element()
        if name == b"LREM":
            return name, self.key(), self.index(), self.element()
        if name == b"LINSERT":
            side = self.pick(b"BEFORE", b"AFTER", b"BEFORE", b"AFTER", b"BESIDE")
            return name, self.key(), self.spelled(side), self.element(), self.element()
        return self.moving(name) if name != b"LPOS" else (name, self.key(), self.element(), *self.position_options())

    def position_options(self) -> list[bytes]:
        words: list[bytes] = []
        for _ in range(self.rng.randint(0, 3)):
            number = self.index()
            if number != b"-9223372036854775808":  # as a rank, Redis 7.0 negates it and overflows
                words += [self.spelled(self.pick(b"RANK", b"COUNT", b"MAXLEN")), number]
        return words + self.option(0.05, self.pick(b"RANK", b"FOO"))

    def side(self) -> bytes:
        return self.spelled(self.pick(b"LEFT", b"RIGHT", b"LEFT", b"RIGHT", b"LEFT", b"RIGHT", b"UP"))

    def moving(self, name: bytes) -> Words:
        if name == b"LMOVE":
            return name, self.key(), self.key(), self.side(), self.side()
        if name == b"RPOPLPUSH":
            return name, self.key(), self.key()
        keys = self.some(self.key, 1, 3)
        options = [*self.option(0.5, b"COUNT", self.index()), *self.option(0.03, b"COUNT")]
        return name, self.count_of(keys), *keys, self.side(), *options


def generate(rng: Random) -> Iterator[Words]:
    yield from SETTING
    writer = ListWriter(rng)
    while True:
        yield writer.command()


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(8))
def test_commands(duel: Duel, seed: int) -> None:
    duel.fight(generate, seed, commands=1200)


def generate_long(rng: Random) -> Iterator[Words]:
    """A list of many nodes, read and cut in the middle."""
    yield "RPUSH", "k", *range(5000)

    def place() -> int:
        return rng.randint(-5200, 5200)

    while True:
        start = place()
        yield "LRANGE", "k", start, start + rng.randint(-2, 200)
        yield "LINDEX", "k", place()
        yield "LSET", "k", place(), rng.randint(0, 9)
        yield "LPOS", "k", rng.randint(0, 9), "RANK", rng.choice((1, 2, -1, -2)), "COUNT", rng.randint(0, 3)
        yield "LINSERT", "k", rng.choice(("BEFORE", "AFTER")), rng.randint(0, 5000), "new"
        yield "LREM", "k", rng.randint(-3, 3), rng.randint(0, 9)
        if rng.random() < 0.1:
            yield "LTRIM", "k", rng.randint(0, 60), rng.randint(-60, -1)
            yield "LPOP", "k", rng.randint(1, 30)
            yield "RPOP", "k", rng.randint(1, 30)


def test_long_lists(duel: Duel) -> None:
    duel.fight(generate_long, 1, commands=800)
