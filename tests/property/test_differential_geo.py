"""Geo commands beside Redis 8.2: replies to the last digit, scores, stored sets, changes and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words

KEYS = ("a", "b", "c")
EDGES = (0, 180, -180, 85.05112878, -85.05112878, 90, 66, -66.1, 80.1)
BAD = ("x", "nan", "inf", "181", "-85.06", "", "1e400")
UNITS = ("m", "km", "KM", "ft", "mi", "Mi", "x")


class Writer:
    """Writes geo commands around a few centres, where most of the members are."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.centres = [(rng.uniform(-180, 180), rng.uniform(-85, 85)) for _ in range(3)]

    def key(self) -> str:
        return self.rng.choice(KEYS) if self.rng.random() < 0.93 else self.rng.choice(("list", "nosuch", "z"))

    def member(self) -> str:
        return f"m{self.rng.randrange(60)}"

    def place(self) -> tuple[object, object]:
        rng = self.rng
        if rng.random() < 0.03:
            return rng.choice(BAD), rng.choice((*BAD, "1"))
        if rng.random() < 0.1:
            return rng.choice(EDGES), rng.choice((*EDGES[3:5], 0, 66, 80.1))
        x, y = rng.choice(self.centres)
        spread = rng.choice((0.001, 0.1, 5))
        x, y = x + rng.uniform(-spread, spread), y + rng.uniform(-spread, spread)
        return max(-180.0, min(180.0, x)), max(-85.05, min(85.05, y))

    def unit(self) -> str:
        return self.rng.choice(UNITS) if self.rng.random() < 0.1 else self.rng.choice(UNITS[:6])

    def size(self) -> object:
        rng = self.rng
        if rng.random() < 0.05:
            return rng.choice(("-1", "x", "inf", "0", "1e300", "1e-300"))
        return rng.choice((0.5, 100, 1000, 20000.5)) * rng.uniform(0.5, 2)

    def area(self) -> list[object]:
        if self.rng.random() < 0.6:
            return ["BYRADIUS", self.size(), self.unit()]
        return ["bybox", self.size(), self.size(), self.unit()]

    def center(self) -> list[object]:
        if self.rng.random() < 0.5:
            return ["FROMMEMBER", self.member()]
        return ["FROMLONLAT", *self.place()]

    def options(self, *more: str) -> list[object]:
        rng = self.rng
        found: list[object] = []
        for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
            word = rng.choice(("WITHDIST", "withcoord", "WITHHASH", "ASC", "DESC", "COUNT", "COUNT ANY", *more))
            found += (
                word.split() if "COUNT" not in word else ["COUNT", rng.choice((1, 2, 5, 20, 0, "x")), *word.split()[1:]]
            )
            if word in ("STORE", "STOREDIST") and rng.random() < 0.95:
                found.append(rng.choice(("stored", "a")))
        return found

    def search(self) -> list[object]:
        parts: list[list[object]] = [self.center(), self.area(), self.options()]
        if self.rng.random() < 0.05:
            more: list[list[object]] = [self.center(), self.area(), ["STORE", "x"], ["x"]]
            parts.append(self.rng.choice(more))
        if self.rng.random() < 0.03:
            parts.pop(0)
        self.rng.shuffle(parts)
        return [word for part in parts for word in part]

    def line(self) -> Words:
        rng = self.rng
        store = self.options("STORE", "STOREDIST") if rng.random() < 0.5 else ["STORE", "stored"]
        lines: list[list[object]] = [
            ["GEOADD", self.key(), *self.place(), self.member()],
            ["GEOADD", self.key(), *self.place(), self.member(), *self.place(), self.member()],
            [
                "GEOADD",
                self.key(),
                *rng.sample(("NX", "XX", "ch", "GT"), rng.randrange(3)),
                *self.place(),
                self.member(),
            ],
            ["GEOPOS", self.key(), self.member(), self.member()],
            ["GEOPOS", self.key()],
            ["GEOHASH", self.key(), self.member(), "nosuch"],
            ["GEODIST", self.key(), self.member(), self.member()],
            ["GEODIST", self.key(), self.member(), self.member(), self.unit(), *["x"][: rng.random() < 0.1]],
            ["GEOSEARCH", self.key(), *self.search()],
            ["GeoSearch", self.key(), *self.search()],
            ["GEOSEARCH", self.key(), *self.search()],
            [
                "GEOSEARCHSTORE",
                rng.choice(("stored", "a")),
                self.key(),
                *self.search(),
                *["STOREDIST"][: rng.randrange(2)],
            ],
            ["GEORADIUS", self.key(), *self.place(), self.size(), self.unit(), *store],
            ["GEORADIUSBYMEMBER", self.key(), self.member(), self.size(), self.unit(), *store],
            ["GEORADIUS_RO", self.key(), *self.place(), self.size(), self.unit(), *self.options("STORE")],
            ["GEORADIUSBYMEMBER_RO", self.key(), self.member(), self.size(), self.unit(), *self.options()],
            ["ZRANGE", rng.choice(("stored", *KEYS)), 0, -1, "WITHSCORES"],
            ["ZREM", self.key(), self.member()],
        ]
        return [word if isinstance(word, str) else str(word) for word in rng.choice(lines)]


def geo(rng: Random) -> Iterator[Words]:
    writer = Writer(rng)
    yield "RPUSH", "list", "a"
    # Scores that are no places of GEOADD.
    yield "ZADD", "z", "-1", "m1", "1.5", "m2", "1e300", "m3", "-1e300", "m4", "inf", "m5", "4503599627370497", "m6"
    for _ in range(60):
        yield ["GEOADD", writer.key(), *map(str, writer.place()), writer.member()]
    while True:
        yield writer.line()


def large(rng: Random) -> Iterator[Words]:
    """Many members, and many of them at the same place: whose turn comes first among equals."""
    writer = Writer(rng)
    places = [writer.place() for _ in range(40)]
    for number in range(30):
        words = [str(word) for at in range(20) for word in (*rng.choice(places), f"n{number}-{at}")]
        yield ["GEOADD", "a", *words]
    while True:
        line = rng.choice(
            (
                ["GEOSEARCH", "a", "FROMLONLAT", *writer.place(), *writer.area(), *writer.options()],
                ["GEOSEARCHSTORE", "stored", "a", "FROMLONLAT", *writer.place(), *writer.area(), "COUNT", 25],
                ["ZRANGE", "stored", 0, -1, "WITHSCORES"],
            )
        )
        yield [word if isinstance(word, str) else str(word) for word in line]


def transactions(rng: Random) -> Iterator[Words]:
    writer = Writer(rng)
    while True:
        yield ("MULTI",)
        for _ in range(rng.randrange(5)):
            yield writer.line()
        yield rng.choice((("EXEC",), ("EXEC",), ("DISCARD",)))


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("generate", [geo, transactions])
def test_geo(duel: Duel, generate: Callable[[Random], Iterator[Words]], seed: int) -> None:
    duel.fight(generate, seed, commands=700, streams=True, lookups=True)


@pytest.mark.parametrize("seed", range(2))
def test_many_members(duel: Duel, seed: int) -> None:
    duel.fight(large, seed, commands=200, streams=True)
