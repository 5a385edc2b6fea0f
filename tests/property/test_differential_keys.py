"""Random commands on keys of every type and on databases: pyrepl against Redis 7.0; digests also against newer ones."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from random import Random

import pytest

from pyrepl.rdb.payload import encode_payload
from pyrepl.rdb.types.row import Form
from tests.peers.lab import Lab
from tests.property.differential import Duel, Generate, Words, read_tree

KEYS = ("a", "b", "c", "d", "e", "key:1", "key:22", "[x]")
PATTERNS = ("*", "a", "key:*", "key:?", "[a-c]", "[^a]", "\\[x\\]", "*:2*", "", "?")
ODD_SPANS = ("0", "-1", "x", "9223372036854775807", "-9223372036854775808", "9223372036854775")
POINTS = ("4102444800", "4102444800000", "0", "-5", "1.5")
PAYLOADS = (
    encode_payload(b"hello", Form()),
    encode_payload(deque((b"a", b"b")), Form()),
    encode_payload({b"a": 0.5}, Form()),
    encode_payload(b"hello", Form())[:-1] + b"x",
    b"",
    b"\x00\x01\x0a\x00" + bytes(8),
)
RESTORE_OPTIONS = ("REPLACE", "replace", "ABSTTL", "IDLETIME 5", "IDLETIME -1", "FREQ 9", "FREQ 256", "FREQ", "WRONG")
DATABASES = ("0", "0", "0", "1", "2", "16", "-1", "x", "99999999999")


class Writer:
    """Writes commands; few keys, so that they meet."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def key(self) -> str:
        return self.rng.choice(KEYS)

    def new_value(self) -> Words:
        rng, key = self.rng, self.key()
        number = rng.randrange(30)
        score = rng.choice((number, f"{number / 3}", f"{number}e9", "inf", "-inf", "0.1"))
        lines: list[Words] = [
            ("SET", key, number),
            ("RPUSH", key, number, "x", number + 1),
            ("SADD", key, number, f"m{number}"),
            ("HSET", key, f"f{number}", number, "g", "content"),
            ("ZADD", key, score, f"m{number}"),
            ("XADD", key, f"{rng.randrange(1, 10**9)}-1", "field", number),
        ]
        return rng.choice(lines)

    def span(self) -> str:
        """A time to live: minutes ahead in seconds as in ms, and no two so near that a busy machine could swap them."""
        return self.rng.choice((str(1_000_000 + 60_000 * self.rng.randrange(1000)), self.rng.choice(ODD_SPANS)))

    def conditions(self) -> list[str]:
        return self.rng.sample(("NX", "XX", "GT", "LT", "gt", "WRONG"), self.rng.choice((0, 0, 0, 1, 1, 2)))

    def restore_options(self) -> list[str]:
        options = self.rng.sample(RESTORE_OPTIONS, self.rng.choice((0, 0, 1, 2)))
        return [word for option in options for word in option.split()]

    def line(self) -> Words:
        rng, key, other = self.rng, self.key(), self.key()
        if rng.random() < 0.3:
            return self.new_value()
        number = rng.choice(DATABASES)
        lines: list[Words] = [
            ("DEL", key, other),
            ("UNLINK", key),
            ("EXISTS", key, other, key),
            ("TOUCH", key, other),
            ("TYPE", key),
            ("RENAME", key, other),
            ("RENAMENX", key, other),
            ("COPY", key, other, *rng.choice(((), ("REPLACE",), ("DB", number), ("DB", number, "replace"), ("DB",)))),
            ("MOVE", key, number),
            ("SELECT", rng.choice(("0", "0", "1"))),
            ("SWAPDB", number, rng.choice(DATABASES)),
            ("DBSIZE",),
            ("KEYS", rng.choice(PATTERNS)),
            ("SCAN", "0", "COUNT", "1000", *rng.choice(((), ("MATCH", rng.choice(PATTERNS)), ("TYPE", "hash")))),
            ("SCAN", rng.choice(("0", "x", "-")), "COUNT", rng.choice(("100", "0", "x"))),
            ("SCAN", "0", rng.choice(("COUNT", "FOO"))),
            ("OBJECT", "FREQ", key),
            ("EXPIRE", key, self.span(), *self.conditions()),
            ("PEXPIRE", key, self.span(), *self.conditions()),
            ("EXPIREAT", key, rng.choice(POINTS), *self.conditions()),
            ("PEXPIREAT", key, rng.choice(POINTS), *self.conditions()),
            ("TTL", key),
            ("PTTL", key),
            ("EXPIRETIME", key),
            ("PEXPIRETIME", key),
            ("PERSIST", key),
            (
                "RESTORE",
                key,
                rng.choice(("1000000", "0", "-1", "x", *POINTS)),
                rng.choice(PAYLOADS),
                *self.restore_options(),
            ),
            ("RESTORE", key, 0, rng.choice(PAYLOADS), "REPLACE"),
            ("DUMP", "nosuch"),
        ]
        if rng.random() < 0.02:
            mode = rng.choice(((), ("ASYNC",), ("sync",), ("x",), ("SYNC", "SYNC")))
            return rng.choice((("FLUSHDB", *mode), ("FLUSHALL", *mode)))
        return rng.choice(lines)


def keys(rng: Random) -> Iterator[Words]:
    writer = Writer(rng)
    while True:
        yield writer.line()


def values(rng: Random) -> Iterator[Words]:
    """Values with times to live, for digests."""
    writer = Writer(rng)
    while True:
        yield writer.new_value()
        if rng.random() < 0.2:
            yield "EXPIRE", writer.key(), 5000
        if rng.random() < 0.1:
            yield "SELECT", rng.randrange(3)


def fields(rng: Random) -> Iterator[Words]:
    """`values` with times to live of fields, which Redis 7.0 and Valkey 8.0 do not know."""
    writer = Writer(rng)
    for line in values(rng):
        yield line
        if rng.random() < 0.3:
            yield "HEXPIRE", writer.key(), 5000, "FIELDS", 2, "g", f"f{rng.randrange(30)}"


def sorts(rng: Random) -> Iterator[Words]:
    """SORT of small collections, by themselves and by other keys. A set's own order means nothing, so it is sorted."""
    elements = ("1", "2", "10", "-3", "2.5", "1e2", "inf", " 7", "0x10", "", "abc", "a\0b", "z")
    numbers = elements[:8]
    sources = ("list", "words", "set", "zset", "wset", "nosuch", "string")
    yield "SET", "string", "x"
    while True:
        element, number = rng.choice(elements), rng.choice(numbers)
        patterns = ("w_*", "h_*->f", "h_*->", "w_*->f", "*", "#", "none_*", "constant")
        options: list[str | int] = []
        choices: list[list[str | int]]
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            choices = [
                ["ASC"],
                ["desc"],
                ["ALPHA"],
                ["LIMIT", rng.randrange(-2, 5), rng.randrange(-2, 5)],
                ["LIMIT", "x", 1],
                ["GET", rng.choice(patterns)],
                ["get", "#"],
                ["BY", rng.choice(("w_*", "h_*->f", "none_*"))],
                ["STORE", rng.choice(("target", "list"))],
                ["WRONG"],
            ]
            options += rng.choice(choices)
        if rng.random() < 0.03:
            options.append(rng.choice(("BY", "GET", "LIMIT", "STORE")))
        source = rng.choice(sources)
        lines: list[Words] = [
            ("RPUSH", "list", number, rng.choice(numbers)),
            ("RPUSH", "words", element),
            ("SADD", "set", number),
            ("SADD", "wset", element),
            ("ZADD", "zset", rng.randrange(9), number),
            ("SET", f"w_{element}", rng.choice(numbers)),
            ("HSET", f"h_{element}", "f", rng.choice(numbers)),
            ("DEL", rng.choice((*sources[:5], f"w_{element}", f"h_{element}"))),
            ("LRANGE", "target", 0, -1),
        ]
        if rng.random() < 0.4:
            yield rng.choice(lines)
        elif "BY" in options and "ALPHA" in options:
            # Redis leaves the order of elements with equal texts open: one element is enough to compare.
            yield "SORT", rng.choice(("nosuch", "string")), *options
        elif rng.random() < 0.2:
            yield rng.choice(("SORT", "SORT_RO")), rng.choice(("list", "words", "zset")), "BY", "constant", *options
        else:
            yield rng.choice(("SORT", "SORT", "SORT_RO")), source, *options


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="module")
def duel(lab: Lab) -> Iterator[Duel]:
    with Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(6))
def test_keys(duel: Duel, seed: int) -> None:
    duel.fight(keys, seed, commands=2500, streams=True, lookups=True)


@pytest.mark.parametrize("seed", range(6))
def test_sort(duel: Duel, seed: int) -> None:
    duel.fight(sorts, seed, commands=2000, streams=True, lookups=True)


@pytest.mark.parametrize("kind", ["redis7", "redis8", "valkey8"])
def test_dumps_are_understood_by_either_side(lab: Lab, kind: str) -> None:
    with Duel(lab.start(kind)) as duel:
        generate = fields if kind == "redis8" else values
        duel.fight(generate, 1, commands=300)
        for key in KEYS:
            argv = [b"DUMP", key.encode()]
            ours, theirs = read_tree(io.BytesIO(duel.ours.run(argv))).content, duel.theirs.call(*argv)
            for name, payload in (("from us", ours), ("from them", theirs)):
                if isinstance(payload, bytes):
                    restore = [b"RESTORE", f"{name} {key}".encode(), b"0", payload]
                    assert duel.ours.run(restore) == b"+OK\r\n", (name, key, payload)
                    assert duel.theirs.call(*restore) == "OK"
        ours_digest, theirs_digest = duel.digests()
        assert ours_digest == theirs_digest
        assert len(duel.ours.call.db.store.values) > len(KEYS)


@pytest.mark.parametrize(("kind", "generate"), [("redis8", fields), ("valkey8", values)])
def test_digests(lab: Lab, kind: str, generate: Generate) -> None:
    """Many short conversations, since a difference shows only at the end of one."""
    with Duel(lab.start(kind)) as duel:
        for seed in range(20):
            duel.fight(generate, seed, commands=60)
