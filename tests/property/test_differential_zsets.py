"""Random commands on sorted sets: pyrepl and a real Redis 7.0 must answer alike, to the byte.

Scores are ones that Redis 7.0 and 8.2 print alike. Ranges by member are asked of a set with equal scores, as their
meaning is open otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.collection_words import SETTING, Writer
from tests.property.differential import Duel, Words

SCORES = (b"0", b"1", b"2", b"3", b"-1", b"1.5", b"2.5")
ODD_SCORES = (
    b"inf", b"-inf", b"+inf", b"1e3", b"-0", b"x", b"nan", b"", b" 1", b"1 ", b"0x10", b"1e400", b"1e-400", b"1_0",
)  # fmt: skip
NAMES = (
    b"ZADD ZADD ZADD ZADD ZADDLEX ZADDLEX ZINCRBY ZREM ZCARD ZSCORE ZMSCORE ZRANK ZREVRANK ZCOUNT ZLEXCOUNT ZRANGE "
    b"ZRANGE ZRANGE ZRANGEBYSCORE ZRANGEBYLEX ZREVRANGE ZREVRANGEBYSCORE ZREVRANGEBYLEX ZRANGESTORE ZREMRANGEBYRANK "
    b"ZREMRANGEBYSCORE ZREMRANGEBYLEX ZPOPMIN ZPOPMAX ZMPOP ZUNION ZINTER ZDIFF ZUNIONSTORE ZINTERSTORE ZDIFFSTORE "
    b"ZINTERCARD ZRANDMEMBER ZSCAN"
).split()


class ZsetWriter(Writer):
    def score(self) -> bytes:
        return self.pick(*SCORES) if self.chance(0.8) else self.pick(*ODD_SCORES)

    def bound(self) -> bytes:
        text = self.score() if self.chance(0.7) else self.pick(b"-inf", b"+inf")
        return b"(" + text if self.chance(0.3) else text

    def lex(self) -> bytes:
        if self.chance(0.04):
            return self.pick(b"x", b"", b"-1")
        return self.pick(b"-", b"+", b"[" + self.element(), b"(" + self.element())

    def lex_key(self) -> bytes:
        return b"lex" if self.chance(0.93) else self.pick(b"a set", b"never")

    def limit(self, share: float = 0.35) -> list[bytes]:
        return self.option(share, b"LIMIT", self.index(), self.index())

    def stray(self) -> list[bytes]:
        """Rarely a word that does not belong here."""
        return self.option(0.03, self.pick(b"LIMIT", b"FOO", b"WITHSCORES", b"REV", b"BYLEX"))

    def command(self) -> Words:
        name = self.pick(*NAMES)
        if name == b"ZADDLEX":
            pairs = [word for _ in range(self.rng.randint(1, 4)) for word in (b"0", self.element())]
            return b"ZADD", b"lex", *pairs
        if name == b"ZADD":
            return self.add()
        if name == b"ZINCRBY":
            return name, self.key(), self.score(), self.element()
        if name in (b"ZREM", b"ZMSCORE"):
            return name, self.key(), *self.some(self.element)
        if name == b"ZCARD":
            return name, self.key()
        if name in (b"ZSCORE", b"ZRANK", b"ZREVRANK"):
            return name, self.key(), self.element()
        if name in (b"ZPOPMIN", b"ZPOPMAX"):
            return name, self.key(), *self.pop_count()
        if name == b"ZMPOP":
            return self.pop_first()
        if name == b"ZRANDMEMBER":
            return self.without_luck()
        if name == b"ZSCAN":
            return (
                name,
                self.key(),
                self.pick(b"0", b"0", b"x"),
                b"COUNT",
                b"100",
                *self.option(0.3, b"MATCH", b"[0-3]"),
            )
        return self.combination(name) if b"RANGE" not in name and b"COUNT" not in name else self.ranged(name)

    def add(self) -> Words:
        options: list[bytes] = []
        for word in (b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"):
            options += self.option(0.15, word)
        single = b"INCR" in b" ".join(options).upper() and self.chance(0.9)
        pairs = [
            word for _ in range(1 if single else self.rng.randint(1, 4)) for word in (self.score(), self.element())
        ]
        return b"ZADD", self.key(), *options, *(pairs[:-1] if self.chance(0.03) else pairs)

    def pop_first(self) -> Words:
        keys = self.some(self.key, 1, 3)
        side = self.spelled(self.pick(b"MIN", b"MAX", b"MIN", b"MAX", b"LEFT"))
        options = [*self.option(0.5, b"COUNT", self.index()), *self.option(0.03, b"COUNT")]
        return b"ZMPOP", self.count_of(keys), *keys, side, *options

    def without_luck(self) -> Words:
        """A random command in a form that leaves nothing to chance: one member, a missing key, bad numbers."""
        words = [self.pick(b"0", b"1", b"2", b"-1", b"-2", b"x")] if self.chance(0.7) else []
        if words:
            words += self.option(0.5, b"WITHSCORES") + self.option(0.05, b"FOO")
        return b"ZRANDMEMBER", self.lone(b"lone zset"), *words

    def ranged(self, name: bytes) -> Words:
        if name in (b"ZCOUNT", b"ZREMRANGEBYSCORE"):
            return name, self.key(), self.bound(), self.bound()
        if name in (b"ZLEXCOUNT", b"ZREMRANGEBYLEX"):
            return name, self.lex_key(), self.lex(), self.lex()
        if name == b"ZREMRANGEBYRANK":
            return name, self.key(), self.index(), self.index()
        scores = self.option(0.35, b"WITHSCORES")
        if name in (b"ZRANGEBYSCORE", b"ZREVRANGEBYSCORE"):
            return name, self.key(), self.bound(), self.bound(), *scores, *self.limit(), *self.stray()
        if name in (b"ZRANGEBYLEX", b"ZREVRANGEBYLEX"):
            return name, self.lex_key(), self.lex(), self.lex(), *self.limit(), *self.stray()
        if name == b"ZREVRANGE":
            return name, self.key(), self.index(), self.index(), *scores, *self.stray()
        return self.general_range(name, scores)

    def general_range(self, name: bytes, scores: list[bytes]) -> Words:
        """ZRANGE and ZRANGESTORE."""
        head = [name]
        if name == b"ZRANGESTORE":
            head.append(self.pick(b"k1", b"k2", b"stored", b"text"))
            scores = []
        options = [*self.option(0.35, b"REV"), *scores, *self.stray()]
        kind = self.pick(b"", b"BYSCORE", b"BYLEX")
        if kind == b"BYSCORE":
            return *head, self.key(), self.bound(), self.bound(), self.spelled(kind), *options, *self.limit()
        if kind == b"BYLEX":
            return *head, self.lex_key(), self.lex(), self.lex(), self.spelled(kind), *options, *self.limit()
        return *head, self.key(), self.index(), self.index(), *options, *self.limit(0.05)

    def source(self) -> bytes:
        return self.key() if self.chance(0.85) else b"a set"

    def combination(self, name: bytes) -> Words:
        """Unions and their like."""
        keys = self.some(self.source, 1, 3)
        stores = name.endswith(b"STORE")
        head = [name, self.pick(b"k1", b"k2", b"stored", b"text")] if stores else [name]
        options: list[bytes] = []
        if name == b"ZINTERCARD":
            options += self.option(0.5, b"LIMIT", self.index())
        if not name.startswith((b"ZDIFF", b"ZINTERCARD")) or self.chance(0.1):
            options += self.option(0.4, b"WEIGHTS", *[self.score() for _ in keys])
            kind = self.pick(b"SUM", b"MIN", b"MAX", b"SUM", b"MIN", b"MAX", b"AVG")
            options += self.option(0.4, b"AGGREGATE", self.spelled(kind))
        options += self.option(0.03 if stores else 0.4, b"WITHSCORES")
        return *head, self.count_of(keys), *keys, *options


def generate(rng: Random) -> Iterator[Words]:
    yield from SETTING
    writer = ZsetWriter(rng)
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


@pytest.mark.parametrize("seed", range(10))
def test_commands(duel: Duel, seed: int) -> None:
    duel.fight(generate, seed, commands=1200)


def generate_large(rng: Random) -> Iterator[Words]:
    """A set beyond the compact encoding, with any doubles for scores and the ranks that only Redis 7.2 tells."""

    def score() -> str:
        return repr(
            rng.choice((rng.random(), rng.uniform(-1e9, 1e9), float(rng.randint(-5, 5)), 10.0 ** rng.randint(-20, 20)))
        )

    def member() -> str:
        return f"m{rng.randint(0, 400)}"

    def bounds() -> list[str]:
        return [rng.choice(("", "(")) + score(), rng.choice(("", "(")) + score()]

    while True:
        yield "ZADD", "k", *[word for _ in range(5) for word in (score(), member())]
        yield "ZINCRBY", "k", score(), member()
        yield "ZRANGE", "k", rng.randint(-300, 300), rng.randint(-300, 300), "WITHSCORES"
        yield "ZRANK", "k", member(), "WITHSCORE"
        yield "ZREVRANK", "k", member(), rng.choice(("WITHSCORE", "WITHSCORES"))
        yield "ZRANGE", "k", *bounds(), "BYSCORE", "LIMIT", rng.randint(0, 5), rng.randint(-1, 20)
        yield "ZRANGE", "k", *bounds(), "BYSCORE", "REV", "LIMIT", rng.randint(0, 5), rng.randint(-1, 20)
        yield "ZCOUNT", "k", *bounds()
        yield "ZREM", "k", member()
        yield "ZADD", "k", rng.choice(("GT", "LT", "NX", "XX")), "CH", score(), member(), score(), member()
        if rng.random() < 0.1:
            yield "ZREMRANGEBYRANK", "k", rng.randint(0, 50), rng.randint(50, 60)
            yield "ZPOPMAX", "k", rng.randint(1, 20)
            yield "ZUNIONSTORE", "other", "2", "k", "other", "WEIGHTS", "0.5", "0.25"


@pytest.mark.parametrize("seed", range(2))
def test_large_sets(newer_duel: Duel, seed: int) -> None:
    newer_duel.fight(generate_large, seed, commands=1500)


def generate_unequal(rng: Random) -> Iterator[Words]:
    """Ranges by member of small sets whose scores differ: they have no sense, and Redis's answer."""

    def bound() -> str:
        return rng.choice(("-", "+", "[" + rng.choice("abcdefgh"), "(" + rng.choice("abcdefgh")))

    while True:
        yield "DEL", "z"
        yield (
            "ZADD",
            "z",
            *[word for member in "abcdefgh" if rng.random() < 0.7 for word in (rng.randrange(4), member)],
            2,
            "x",
        )
        for _ in range(6):
            limit = rng.choice(((), (), ("LIMIT", rng.randrange(3), rng.randrange(-1, 3))))
            yield rng.choice(("ZRANGEBYLEX", "ZREVRANGEBYLEX")), "z", bound(), bound(), *limit
            yield "ZRANGE", "z", bound(), bound(), "BYLEX", *rng.choice(((), ("REV",))), *limit
            yield "ZRANGESTORE", "stored", "z", bound(), bound(), "BYLEX", *rng.choice(((), ("REV",))), *limit
            yield "ZLEXCOUNT", "z", bound(), bound()
        yield "ZREMRANGEBYLEX", "z", bound(), bound()
        yield "ZRANGE", "z", 0, -1


@pytest.mark.parametrize("seed", range(4))
def test_ranges_by_member_over_unequal_scores(newer_duel: Duel, seed: int) -> None:
    newer_duel.fight(generate_unequal, seed, commands=1500)
