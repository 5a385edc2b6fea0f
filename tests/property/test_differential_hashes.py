"""Random commands on hashes against a real Redis 7.0, and on the times to live of their fields against Redis 8.2."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.collection_words import SETTING, Writer
from tests.property.differential import Duel, Words

FIELDS = (b"f1", b"f2", b"f3", b"f4", b"f5", b"", b"12")
CONTENTS = (
    b"1", b"5", b"-3", b"abc", b"1.5", b"0.1", b"", b"9223372036854775807", b"-9223372036854775808", b"3.0e3", b"10 ",
    b"inf", b"nan", b"+5", b"0x10", b"1e400", b"1e-400",
)  # fmt: skip
NAMES = (
    b"HSET HSET HSET HMSET HSETNX HGET HMGET HGETALL HDEL HLEN HEXISTS HKEYS HVALS HSTRLEN HINCRBY HINCRBY "
    b"HINCRBYFLOAT HINCRBYFLOAT HRANDFIELD HSCAN"
).split()
TIMES = (
    b"HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HEXPIREAT HPEXPIREAT HTTL HPTTL HEXPIRETIME HPEXPIRETIME HPERSIST HGETDEL "
    b"HGETEX HGETEX HSETEX HSETEX"
).split()
UNITS = (b"EX", b"PX", b"EXAT", b"PXAT", b"EXAT", b"PXAT")
ODD_TIMES = (b"0", b"-1", b"x", b"", b"9223372036854775807", b"70368744177664", b"70368744178", b"281474976710656")


class HashWriter(Writer):
    def field(self) -> bytes:
        return self.pick(*FIELDS)

    def content(self) -> bytes:
        return self.pick(*CONTENTS)

    def pairs(self) -> list[bytes]:
        words = [word for _ in range(self.rng.randint(1, 4)) for word in (self.field(), self.content())]
        return words[:-1] if self.chance(0.04) else words

    def command(self) -> Words:
        name = self.pick(*NAMES)
        if name in (b"HSET", b"HMSET"):
            return name, self.key(), *self.pairs()
        if name == b"HSETNX":
            return name, self.key(), self.field(), self.content()
        if name in (b"HGETALL", b"HLEN", b"HKEYS", b"HVALS"):
            return name, self.key()
        if name in (b"HMGET", b"HDEL"):
            return name, self.key(), *self.some(self.field)
        if name == b"HINCRBY":
            return name, self.key(), self.field(), self.index()
        if name == b"HINCRBYFLOAT":
            return name, self.key(), self.field(), self.content()
        if name == b"HSCAN":
            return (
                name,
                self.key(),
                self.pick(b"0", b"0", b"x"),
                b"COUNT",
                b"100",
                *self.option(0.4, b"MATCH", b"f[1-3]"),
            )
        if name == b"HRANDFIELD":
            return self.without_luck()
        return name, self.key(), self.field()

    def without_luck(self) -> Words:
        """A random command in a form that leaves nothing to chance: missing keys, bad numbers, one field."""
        count = [self.pick(b"0", b"1", b"2", b"-1", b"-3", b"x", b"")]
        values = [*self.option(0.4, b"WITHVALUES"), *self.option(0.1, b"EXTRA")]
        return b"HRANDFIELD", self.lone(b"lone hash"), *([*count, *values] if self.chance(0.8) else [])


class TimeWriter(HashWriter):
    def when(self, unit: bytes) -> bytes:
        """A number for EX, PX, EXAT or PXAT: far ahead, or odd."""
        if self.chance(0.12):
            return self.pick(*ODD_TIMES)
        scale = 1000 if unit.startswith(b"P") else 1
        if unit.endswith(b"AT"):
            return b"%d" % (self.rng.randint(1_900_000_000, 1_900_000_999) * scale)
        return b"%d" % (self.rng.randint(5000, 9000) * scale)

    def fields(self) -> list[bytes]:
        """FIELDS n field ..."""
        names = self.some(self.field, 0 if self.chance(0.03) else 1)
        return [self.head(), self.count_of(names), *names]

    def head(self) -> bytes:
        return self.spelled(b"FIELDS") if self.chance(0.96) else b"FOO"

    def command(self) -> Words:
        if self.chance(0.4):
            return super().command()
        name = self.pick(*TIMES)
        if name in (b"HEXPIRE", b"HPEXPIRE", b"HEXPIREAT", b"HPEXPIREAT"):
            unit = (b"P" if name.startswith(b"HP") else b"E") + (b"XAT" if name.endswith(b"AT") else b"X")
            conditions = [self.spelled(self.pick(b"NX", b"XX", b"GT", b"LT")) for _ in range(self.pick(0, 0, 1, 1, 2))]
            return name, self.key(), self.when(unit), *conditions, *self.fields()
        if name == b"HGETEX":
            return name, self.key(), *self.times(b"PERSIST"), *self.fields()
        if name == b"HSETEX":
            return self.set_with_times()
        return name, self.key(), *self.fields()

    def times(self, other: bytes) -> list[bytes]:
        """None, one or two options that say when; `other` is the one without a number."""
        words: list[bytes] = []
        for _ in range(self.pick(0, 1, 1, 1, 1, 2)):
            unit = self.pick(*UNITS, other)
            words += [self.spelled(unit)] if unit == other else [self.spelled(unit), self.when(unit)]
        return words

    def set_with_times(self) -> Words:
        condition = self.option(0.4, self.pick(b"FNX", b"FXX"))
        options = [*self.times(b"KEEPTTL"), *condition] if self.chance(0.5) else [*condition, *self.times(b"KEEPTTL")]
        names = self.some(self.field, 0 if self.chance(0.03) else 1)
        pairs = [word for name in names for word in (name, self.content())]
        return b"HSETEX", self.key(), *options, self.head(), self.count_of(names), *pairs, *self.option(0.03, b"X")


def generate(rng: Random) -> Iterator[Words]:
    yield from SETTING
    writer = HashWriter(rng)
    while True:
        yield writer.command()


def generate_times(rng: Random) -> Iterator[Words]:
    yield from SETTING
    writer = TimeWriter(rng)
    while True:
        yield writer.command()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="module")
def duel(lab: Lab) -> Iterator[Duel]:
    with Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.fixture(scope="module")
def newer_duel(lab: Lab) -> Iterator[Duel]:
    with Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(8))
def test_commands(duel: Duel, seed: int) -> None:
    duel.fight(generate, seed, commands=1200)


@pytest.mark.parametrize("seed", range(8))
def test_times_to_live_of_fields(newer_duel: Duel, seed: int) -> None:
    newer_duel.fight(generate_times, seed, commands=1200, compare_dirty=False)
