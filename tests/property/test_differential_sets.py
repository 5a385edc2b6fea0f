"""Random commands on sets: pyrepl and a real Redis 7.0 must answer alike, and hold the same after what is random."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from pyrepl.commands.collections import set_algebra, sets
from pyrepl.keyspace.values import SetValue
from tests.peers.lab import Lab
from tests.property.collection_words import KEYS, SETTING, Writer
from tests.property.differential import Duel, Words
from tests.unit.commands.desk import Desk

NAMES = (
    b"SADD SADD SADD SADD SREM SMEMBERS SISMEMBER SMISMEMBER SCARD SMOVE SMOVE SINTER SUNION SDIFF SINTERSTORE "
    b"SUNIONSTORE SDIFFSTORE SINTERCARD SSCAN SPOP SRANDMEMBER"
).split()


class SetWriter(Writer):
    def command(self) -> Words:
        name = self.pick(*NAMES)
        if name in (b"SADD", b"SREM", b"SMISMEMBER"):
            return name, self.key(), *self.some(self.element, 0 if self.chance(0.05) else 1, 6)
        if name in (b"SMEMBERS", b"SCARD"):
            return name, self.key()
        if name == b"SISMEMBER":
            return name, self.key(), self.element()
        if name == b"SMOVE":
            return name, self.key(), self.key(), self.element()
        if name == b"SINTERCARD":
            keys = self.some(self.key, 1, 3)
            return name, self.count_of(keys), *keys, *self.option(0.5, b"LIMIT", self.index()), *self.option(0.03, b"X")
        if name == b"SSCAN":
            return name, self.key(), self.pick(b"0", b"0", b"x", b""), *self.scan_options()
        if name in (b"SPOP", b"SRANDMEMBER"):
            return self.without_luck(name)
        return name, *self.some(self.key, 1, 4)

    def scan_options(self) -> list[bytes]:
        """With a COUNT that takes all at once, as places in a hash table are nobody else's."""
        words = self.option(0.4, b"MATCH", self.pick(b"*", b"[0-3]", b"a*", b"\\*"))
        words += [b"COUNT", self.pick(b"1000", b"1000", b"1000", b"0", b"-1", b"x")]
        return words + self.option(0.03, b"COUNT")

    def without_luck(self, name: bytes) -> Words:
        """A random command in a form that leaves nothing to chance: one member, a missing key, bad numbers."""
        count = self.pick(b"0", b"x", b"", b"0 1", b"1 1", b"1", b"2", b"-2").split()
        key = b"never" if name == b"SPOP" else self.lone(b"lone set")
        return name, key, *(count if self.chance(0.7) else [])


def generate(rng: Random) -> Iterator[Words]:
    yield from SETTING
    writer = SetWriter(rng)
    while True:
        yield writer.command()


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(8))
def test_commands(duel: Duel, seed: int) -> None:
    duel.fight(generate, seed, commands=1200)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_propagated_gives_the_same_sets(duel: Duel, seed: int) -> None:
    """Random pops reach a replica as what they removed: a real server fed with the stream holds the same members."""
    desk = Desk(sets, set_algebra)
    writer = SetWriter(Random(seed))
    duel.theirs.call("FLUSHALL")
    for _ in range(600):
        key = writer.pick(*KEYS)
        pop = (b"SPOP", key, *writer.option(0.5, writer.pick(b"1", b"2", b"3", b"30")))
        desk.run(*writer.pick(pop, (b"SADD", key, *writer.some(writer.element, 1, 6))))
        for argv in desk.propagated():
            duel.theirs.call(*argv)
        ours = desk.keyspace.databases[0].find_as(SetValue, key)
        members = duel.theirs.call("SMEMBERS", key)
        assert isinstance(members, list | set)
        assert set(members) == (ours.members if ours else set())
