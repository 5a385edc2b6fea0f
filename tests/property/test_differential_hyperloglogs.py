"""HyperLogLog commands beside Redis 8.2: replies, bytes of the strings, changes and streams."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words

KEYS = ("a", "b", "c", "dense", "nosuch")
HEADER = b"HYLL\x01" + bytes(11)
EMPTY = HEADER + b"\x7f\xff"
DENSE_BYTES = 12304
UNSOUND = (
    HEADER,
    HEADER + b"\x7f\xfe",
    EMPTY + b"\x80",
    HEADER + b"\xff" * 4095,
    HEADER + b"\xff" * 5000,
    HEADER + b"\x3f" * 256 + b"\xff",
    HEADER + b"\x7f\xff" * 1000,
)
NO_HYPERLOGLOGS = (
    b"",
    b"HYLL",
    b"12345",
    b"HYLL\x02" + bytes(11) + b"\x7f\xff",
    b"HYLL\x00" + bytes(11) + b"\x7f\xff",
    b"HYLM" + EMPTY[4:],
)


class Writer:
    """Writes commands on HyperLogLogs; `most` is how many elements there may be."""

    def __init__(self, rng: Random, most: int) -> None:
        self.rng = rng
        self.most = most

    def key(self) -> str:
        return self.rng.choice(KEYS[:4]) if self.rng.random() < 0.95 else self.rng.choice(("list", "nosuch"))

    def elements(self) -> list[bytes]:
        rng = self.rng
        count = rng.choice((0, 1, 1, 2, 3, 20))
        return [b"%d" % rng.randrange(self.most) + b"x" * rng.choice((0, 0, 3, 12, 40)) for _ in range(count)]

    def line(self) -> Words:
        rng = self.rng
        lines: list[Words] = [
            ("PFADD", self.key(), *self.elements()),
            ("PFADD", self.key(), *self.elements()),
            ("PFADD", self.key(), *self.elements()),
            ("PFADD", self.key(), *self.elements()),
            ("PFCOUNT", self.key()),
            ("PFCOUNT", self.key(), *[self.key() for _ in range(rng.randrange(3))]),
            ("PFMERGE", self.key(), *[self.key() for _ in range(rng.randrange(3))]),
            ("PFDEBUG", rng.choice(("ENCODING", "decode", "DECODE", "nosuch")), self.key()),
            ("GET", self.key()),
            ("STRLEN", self.key()),
        ]
        if rng.random() < 0.03:
            return "PFDEBUG", rng.choice(("TODENSE", "GETREG")), self.key()
        if rng.random() < 0.02:
            return rng.choice(("DEL", "EXPIRE")), self.key(), *([1000] if rng.random() < 0.5 else [])
        return rng.choice(lines)


def few(rng: Random) -> Iterator[Words]:
    writer = Writer(rng, 200)
    yield "RPUSH", "list", "a"
    while True:
        yield writer.line()


def many(rng: Random) -> Iterator[Words]:
    """Strings that become dense, at different sizes."""
    writer = Writer(rng, 10**6)
    while True:
        yield "CONFIG", "SET", "hll-sparse-max-bytes", rng.choice((0, 18, 30, 100, 1000, 3000, 20000))
        for _ in range(60):
            yield writer.line()
        key = writer.key()
        for _ in range(10):
            yield "PFADD", key, *[b"%d" % rng.randrange(10**6) for _ in range(rng.choice((5, 100)))]
        yield "DEL", *rng.sample(KEYS, 2)


def transactions(rng: Random) -> Iterator[Words]:
    writer = Writer(rng, 1000)
    while True:
        yield "WATCH", writer.key()
        yield writer.line()
        yield ("MULTI",)
        for _ in range(rng.randrange(4)):
            yield writer.line()
        yield rng.choice((("EXEC",), ("EXEC",), ("DISCARD",)))


def unsound(rng: Random) -> Iterator[Words]:
    """Strings that clients have written themselves."""
    writer = Writer(rng, 100)
    while True:
        for key in KEYS[:3]:
            yield "SET", key, rng.choice((*UNSOUND, *NO_HYPERLOGLOGS, EMPTY))
        yield "PFDEBUG", rng.choice(("TODENSE", "GETREG", "DECODE", "ENCODING")), rng.choice(KEYS[:3])
        yield "PFCOUNT", rng.choice(KEYS[:3])
        yield "PFCOUNT", rng.choice(KEYS[:3]), rng.choice(KEYS)
        yield "PFMERGE", rng.choice(KEYS), rng.choice(KEYS[:3])
        # What Redis has added before it met a run that is wrong stays there: one element is added at once.
        yield "PFADD", rng.choice(KEYS[:3]), b"%d" % rng.randrange(100)
        yield "PFADD", "dense", *writer.elements()
        yield "PFDEBUG", "TODENSE", "dense"
        yield "SETRANGE", "dense", rng.randrange(8, DENSE_BYTES - 8), bytes(rng.choices(range(256), k=8))
        yield "PFCOUNT", "dense"
        yield "SETRANGE", "dense", rng.randrange(5, 8), b"\xff"
        yield "PFCOUNT", "dense"


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("generate", [few, transactions, unsound])
def test_hyperloglogs(duel: Duel, generate: object, seed: int) -> None:
    assert callable(generate)
    duel.fight(generate, seed, commands=600, streams=True, lookups=True)


@pytest.mark.parametrize("seed", range(2))
def test_becoming_dense(duel: Duel, seed: int) -> None:
    duel.fight(many, seed, commands=500, streams=True)
