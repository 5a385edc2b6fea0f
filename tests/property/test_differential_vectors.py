"""Vector sets beside Redis 8.2: stored bits (by digests), replies, scores, errors, changes and streams.

The links between elements are no part of it: Redis draws layers at random. Neither are scores of vectors of floats,
whose last bits depend on Redis's processor, nor the order of elements that are equally far.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words

DIM = 12
FORMS = {"q8": ("Q8",), "f32": ("NOQUANT",), "bin": ("bin", "M", "5")}
ATTRIBUTES = (
    '{"year":1984,"name":"The Matrix","ok":true}',
    '{"year":1999,"tags":["a",2],"ok":false}',
    '{"year":"2001","nul":null}',
    "{}",
    "no json",
)
FILTERS = (
    ".year > 1980 and .year < 1990",
    ".year >= 1999 or .name == 'x'",
    '"a" in .tags',
    "not .ok",
    ".nul == null",
    "(.year - 4) * 2 == 3960",
    "2 ** 3 ** 2 == 512",
    ".year in [1984, '2001']",
    "1 +",
    "(.year",
    "é",
)
BAD_VECTORS = (("VALUES", "0"), ("VALUES", "2", "1", "x"), ("FP32", "abc"), ("XX", "1"), ("VALUES", "x", "1"))


class Writer:
    """Writes commands on three sets, one in each form, and on one that makes vectors shorter."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.count = 0

    def floats(self, dim: int = DIM) -> list[float]:
        rng = self.rng
        if rng.random() < 0.03:
            return [rng.choice((0.0, -0.0, 1.0))] * dim
        scale = 10 ** rng.uniform(-3, 3)
        return [rng.gauss(0, scale) for _ in range(dim)]

    def vector(self, other_dim: int = 3) -> list[str | bytes | int]:
        floats = self.floats(self.rng.choice((*[DIM] * 8, other_dim)))
        if self.rng.random() < 0.03:
            return list(self.rng.choice(BAD_VECTORS))
        if self.rng.random() < 0.5:
            return ["FP32", struct.pack(f"<{len(floats)}f", *floats)]
        return ["values", len(floats), *map(repr, floats)]

    def known(self) -> str:
        return f"e{self.rng.randrange(max(1, self.count) + 2)}"

    def fresh(self) -> str:
        self.count += 1
        return f"e{self.count}"

    def options(self) -> list[str | bytes | int]:
        rng = self.rng
        found: list[str | bytes | int] = []
        if rng.random() < 0.5:
            found += ["SETATTR", rng.choice((*ATTRIBUTES, ""))]
        if rng.random() < 0.1:
            more: list[list[str | bytes | int]] = [["EF", 50], ["EF", 0], ["x"], ["SETATTR"], ["M", 3], ["Q8"], ["CAS"]]
            found += rng.choice(more)
        return found

    def addition(self) -> Words:
        form = self.rng.choice(tuple(FORMS))
        if self.rng.random() < 0.25:
            reduce = self.rng.choice((5, 5, 5, 5, 0, "x"))
            # Redis 8.2 takes vectors that are shorter than what they are to be made; 8.6 refuses them, and so do we.
            return ["VADD", "short", "REDUCE", reduce, *self.vector(8), self.fresh(), *self.options()]
        return ["VADD", form, *self.vector(), self.fresh(), *FORMS[form], *self.options()]

    def key(self) -> str:
        return self.rng.choice((*FORMS, "short", "q8", "string", "nosuch"))

    def search(self) -> Words:
        rng = self.rng
        key = rng.choice(("q8", "short", "f32", "string", "nosuch"))
        query = ["ELE", self.known()] if rng.random() < 0.5 else self.vector()
        found: list[str | bytes | int] = ["TRUTH", "COUNT", rng.choice((1, 5, 200, 0))]
        for _ in range(rng.randrange(3)):
            more: list[list[str | bytes | int]] = [
                ["FILTER", rng.choice(FILTERS)],
                ["FILTER", rng.choice(FILTERS)],
                ["EPSILON", rng.choice(("0.3", "0.6", "0", "x"))],
                ["WITHATTRIBS"],
                ["EF", 10],
                ["NOTHREAD"],
                ["FILTER-EF", 1000],
                ["x"],
            ]
            found += rng.choice(more)
        return ["VSIM", key, *query, *found, *(["WITHSCORES"] if key != "f32" else [])]

    def line(self) -> Words:
        rng = self.rng
        key, name = self.key(), self.known()
        lines: list[Words] = [
            ["VREM", key, name],
            ["VSETATTR", key, name, rng.choice((*ATTRIBUTES, ""))],
            ["VGETATTR", key, name],
            ["VCARD", key],
            ["VDIM", key],
            ["VISMEMBER", key, name],
            ["VEMB", key, name],
            ["VEMB", key, name, rng.choice(("raw", "RAW", "x"))],
            ["VLINKS", key, "nosuch"],
            ["VRANDMEMBER", "nosuch", rng.choice((3, 0, "x"))],
            ["TYPE", key],
            ["OBJECT", "ENCODING", key],
            ["COPY", key, "copy"],
            ["SET", "string", "x"],
            ["DEBUG", "DIGEST-VALUE", key],
        ]
        return rng.choice([self.addition(), self.addition(), self.search(), rng.choice(lines)])


def generate(rng: Random) -> Iterator[Words]:
    writer = Writer(rng)
    while True:
        if rng.random() < 0.02:
            yield ["MULTI"]
            yield from (writer.line() for _ in range(3))
            yield ["EXEC"]
        yield writer.line()


def generate_updates(rng: Random) -> Iterator[Words]:
    """Elements that get other vectors and attributes."""
    writer = Writer(rng)
    for _ in range(40):
        yield writer.addition()
    while True:
        form = rng.choice(tuple(FORMS))
        yield ["VADD", form, *writer.vector(), writer.known(), *FORMS[form], *writer.options()]
        yield ["VGETATTR", form, writer.known()]


def generate_ranges(rng: Random) -> Iterator[Words]:
    """VRANGE, which Redis 8.2 has not."""
    names = [rng.choice(("a", "ab", "b", "", "zz")) + str(rng.randrange(9)) for _ in range(30)]
    for name in dict.fromkeys(names):
        yield ["VADD", "k", "VALUES", 1, 1, name]
    ends = ("-", "+", "[", "(", "", "x", "[a", "(ab1", "[b3", "(zz", *(f"({name}" for name in names))
    while True:
        count = rng.choice(([], [], [0], [3], [-1], [100], ["x"], [1, 2]))
        yield ["VRANGE", rng.choice(("k", "k", "k", "nosuch")), rng.choice(ends), rng.choice(ends), *count]


@pytest.fixture(scope="module", params=["redis8", "redis86"])
def duel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start(request.param)) as duel:
        yield duel


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    """A duel that compares no streams."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis86")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(4))
def test_commands(duel: Duel, seed: int) -> None:
    duel.fight(generate, seed, commands=1000, streams=True)


@pytest.mark.parametrize("seed", range(4))
def test_updates(newer: Duel, seed: int) -> None:
    """Redis counts no change for them and sends nothing to its replicas; pyrepl does both."""
    newer.fight(generate_updates, seed, commands=400, compare_dirty=False)


@pytest.mark.parametrize("seed", range(2))
def test_ranges(newer: Duel, seed: int) -> None:
    newer.fight(generate_ranges, seed, commands=300)
