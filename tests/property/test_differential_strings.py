"""Random commands on strings, pyrepl against Redis 7.0: replies, numbers of changes and digests are the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words

KEYS = ("a", "b", "c", "d", "e")
TEXTS: tuple[bytes, ...] = (
    b"",
    b"x",
    b"hello world",
    b"foobar",
    b"a\x00b\xff",
    b"\xff\xff\xff",
    b"\x00\x00",
    b"xyzzy" * 20,
    b"mynewtext and some more",
)
NUMBERS: tuple[bytes, ...] = (
    b"0",
    b"1",
    b"-1",
    b"10",
    b"-7",
    b"100",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"01",
    b"+1",
    b" 1",
    b"1 ",
    b"1.5",
    b"-0",
    b"",
    b"abc",
    b"1e3",
)
FLOATS: tuple[bytes, ...] = (
    b"0.1",
    b"1.5",
    b"-2.25",
    b"1e3",
    b"3.0e-5",
    b"5.0e3",
    b"1e400",
    b"1e4000",
    b"1e-20",
    b"inf",
    b"-inf",
    b"nan",
    b"0x10",
    b"12345678901234567890.5",
    b"0.00000000000000001",
    b"x",
    b"",
    b" 1",
    b"1 ",
)
SPANS: tuple[bytes, ...] = (b"1000000", b"5000000", b"0", b"-1", b"x", b"9223372036854775807", b"9223372036854775")
POINTS: tuple[bytes, ...] = (b"4102444800", b"4102444800000", b"0", b"-5", b"1.5")


class Writer:
    """Writes commands; few keys, so that they meet."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def key(self) -> str:
        return "list" if self.rng.random() < 0.03 else self.rng.choice(KEYS)

    def value(self) -> bytes:
        return self.rng.choice(self.rng.choice((TEXTS, NUMBERS, FLOATS)))

    def number(self) -> bytes:
        if self.rng.random() < 0.5:
            return b"%d" % self.rng.randrange(-20, 40)
        return self.rng.choice(NUMBERS)

    def word(self, *choices: str) -> str:
        word = self.rng.choice(choices)
        return word.lower() if self.rng.random() < 0.2 else word

    def set_options(self) -> list[str | bytes]:
        options: list[str | bytes] = []
        while self.rng.random() < 0.45:
            option = self.word("NX", "XX", "GET", "KEEPTTL", "EX", "PX", "EXAT", "PXAT", "PERSIST", "WRONG")
            options.append(option)
            if option.upper() in ("EX", "PX"):
                options.append(self.rng.choice(SPANS))
            elif option.upper() in ("EXAT", "PXAT"):
                options.append(self.rng.choice(POINTS))
        return options

    def getex_options(self) -> list[str | bytes]:
        choice = self.rng.randrange(6)
        if choice == 0:
            return [self.word("EX", "PX"), self.rng.choice(SPANS)]
        if choice == 1:
            return [self.word("EXAT", "PXAT"), self.rng.choice(POINTS)]
        if choice == 2:
            return [self.word("PERSIST")]
        return self.set_options() if choice == 3 else []

    def line(self) -> Words:
        rng, key, value = self.rng, self.key(), self.value()
        lines: list[Words] = [
            ("SET", key, value),
            ("SET", key, value, *self.set_options()),
            ("GET", key),
            ("SETNX", key, value),
            ("SETEX", key, rng.choice(SPANS), value),
            ("PSETEX", key, rng.choice((*SPANS, b"9223372036854775807")), value),
            ("GETSET", key, value),
            ("GETDEL", key),
            ("GETEX", key, *self.getex_options()),
            ("MGET", key, self.key(), "nosuch"),
            ("MSET", key, value, self.key(), self.value()),
            ("MSET", key, value, self.key()),
            ("MSETNX", key, value, self.key(), self.value()),
            ("INCR", key),
            ("DECR", key),
            ("INCRBY", key, self.number()),
            ("DECRBY", key, self.number()),
            ("INCRBYFLOAT", key, rng.choice(FLOATS)),
            ("APPEND", key, value),
            ("STRLEN", key),
            ("GETRANGE", key, self.number(), self.number()),
            ("SUBSTR", key, self.number(), self.number()),
            ("SETRANGE", key, self.number(), value),
            ("LCS", key, self.key(), *rng.sample(("LEN", "IDX", "WITHMATCHLEN", "x"), rng.choice((0, 0, 1, 1, 2)))),
            ("LCS", key, self.key(), "IDX", "MINMATCHLEN", self.number(), "WITHMATCHLEN"),
            ("PEXPIRETIME", key),
            ("TTL", key),
            ("EXPIRE", key, 1000),
            ("DEL", key),
            ("TYPE", key),
        ]
        return rng.choice(lines)


def strings(rng: Random) -> Iterator[Words]:
    writer = Writer(rng)
    yield "RPUSH", "list", "a"
    while True:
        yield writer.line()


class BitWriter(Writer):
    """Writes commands on bits."""

    def offset(self) -> bytes:
        if self.rng.random() < 0.9:
            return b"%d" % self.rng.randrange(0, 200)
        return self.rng.choice((b"-1", b"x", b"4294967296", b"9223372036854775807", b"#1", b"01"))

    def kind(self) -> str:
        if self.rng.random() < 0.1:
            return self.rng.choice(("u64", "i65", "u0", "i0", "x8", "u", "i-1", "U8", "i08"))
        return self.rng.choice(("u1", "u8", "u63", "i64", "i1", "i5", "u5", "i8", "u32", "i16", "u13"))

    def at(self) -> bytes:
        mark = b"#" if self.rng.random() < 0.4 else b""
        return mark + (self.offset() if self.rng.random() < 0.3 else b"%d" % self.rng.randrange(10))

    def operation(self) -> list[str | bytes]:
        amount = self.number() if self.rng.random() < 0.2 else b"%d" % self.rng.randrange(-300, 300)
        operations: tuple[list[str | bytes], ...] = (
            [self.word("GET"), self.kind(), self.at()],
            [self.word("SET"), self.kind(), self.at(), amount],
            [self.word("INCRBY"), self.kind(), self.at(), amount],
            [self.word("OVERFLOW"), self.word("WRAP", "SAT", "FAIL", "FAIL", "SAT", "NONE")],
        )
        return self.rng.choice(operations)

    def operations(self) -> list[str | bytes]:
        return [word for _ in range(self.rng.randrange(4)) for word in self.operation()]

    def line(self) -> Words:
        rng, key = self.rng, self.key()
        unit = rng.choice(([], ["BYTE"], ["BIT"], ["bit"], ["x"]))
        lines: list[Words] = [
            ("SETBIT", key, self.offset(), rng.choice(("0", "1", "1", "1", "2", "x"))),
            ("SETBIT", key, rng.randrange(64), rng.choice("01")),
            ("GETBIT", key, self.offset()),
            ("BITCOUNT", key),
            ("BITCOUNT", key, self.number(), self.number(), *unit),
            ("BITCOUNT", key, self.number()),
            ("BITPOS", key, rng.choice(("0", "1", "1", "2", "x"))),
            ("BITPOS", key, rng.choice("01"), self.number()),
            ("BITPOS", key, rng.choice("01"), self.number(), self.number(), *unit),
            (
                "BITOP",
                self.word("AND", "OR", "XOR", "NOT", "x"),
                key,
                *[self.key() for _ in range(rng.choice((1, 1, 2, 3)))],
            ),
            ("BITFIELD", key, *self.operations()),
            ("BITFIELD", key, *self.operations()),
            ("BITFIELD_RO", key, *self.operations()),
            ("BITFIELD_RO", key, "GET", self.kind(), self.at()),
            ("SET", key, self.value()),
            ("DEL", key),
            ("GET", key),
        ]
        return rng.choice(lines)


def bits(rng: Random) -> Iterator[Words]:
    writer = BitWriter(rng)
    yield "RPUSH", "list", "a"
    while True:
        yield writer.line()


def bit_operations(rng: Random) -> Iterator[Words]:
    """Those of Redis 8.2 too."""
    writer = BitWriter(rng)
    words = ("AND", "OR", "XOR", "NOT", "DIFF", "diff1", "ANDOR", "ONE")
    while True:
        if rng.random() < 0.3:
            yield "SET", rng.choice(KEYS), writer.value()
        else:
            yield "BITOP", rng.choice(words), rng.choice(KEYS), *rng.choices(KEYS, k=rng.randrange(1, 5))


@pytest.fixture(scope="module")
def newer_duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(6))
def test_strings(duel: Duel, seed: int) -> None:
    duel.fight(strings, seed, commands=2500, streams=True, lookups=True)


@pytest.mark.parametrize("seed", range(6))
def test_bits(newer_duel: Duel, seed: int) -> None:
    """Redis 8.2: it looks at the arguments before the key, where 7.0 answers 0 for a missing key whatever they are."""
    newer_duel.fight(bits, seed, commands=2500, streams=True, lookups=True)


@pytest.mark.parametrize("seed", range(4))
def test_bit_operations_of_redis_8(newer_duel: Duel, seed: int) -> None:
    newer_duel.fight(bit_operations, seed, commands=800, streams=True)
