"""Random conversations in the words that only Valkey has, pyrepl against Valkey 9.1: DELIFEQ, and BYPOLYGON of
GEOSEARCH. Replies, numbers of changes and what is propagated are the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words

KEYS = ("a", "b", "c")
TEXTS: tuple[bytes, ...] = (b"", b"x", b"17", b"a\x00b\xff", b"y" * 300)


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("valkey91")) as duel:
        yield duel


def strings(rng: Random) -> Iterator[Words]:
    while True:
        key, text = rng.choice(KEYS), rng.choice(TEXTS)
        yield rng.choice(
            (
                ("SET", key, text),
                ("SET", key, text, "EX", 1000),
                ("RPUSH", key, text),
                *(("DELIFEQ", key, text),) * 4,
                ("DELIFEQ", key),
                ("DEL", key),
            )
        )


@pytest.mark.parametrize("seed", range(2))
def test_deletions_of_known_values(duel: Duel, seed: int) -> None:
    duel.fight(strings, seed, 800, streams=True, lookups=True)


def polygons(rng: Random) -> Iterator[Words]:
    # Valkey searches nowhere when the middle of a polygon is nearer to a pole than cells reach.
    middle = rng.uniform(-170, 170), rng.uniform(-35, 35)

    def place(spread: float) -> str:
        x, y = (around + rng.uniform(-spread, spread) for around in middle)
        return f"{max(-180.0, min(180.0, x))} {y}"

    def polygon() -> str:
        spread, count = rng.choice((0.01, 1, 8, 40)), rng.choice((3, 3, 4, 5, 9))
        claimed = rng.choice(("2", "0", "-1", "x", f"{count + 1}", f"{2**33}")) if rng.random() < 0.1 else count
        return " ".join(["BYPOLYGON", str(claimed), *(place(spread) for _ in range(count))])

    while True:
        options = " ".join(rng.choices(("ASC", "DESC", "WITHDIST", "WITHHASH", "COUNT 3", "COUNT 2 ANY"), k=2))
        if rng.random() < 0.1:
            options += rng.choice((" FROMLONLAT 1 1", " BYRADIUS 1 km", " BYBOX 1 1 km", f" {polygon()}"))
        yield rng.choice(
            (
                f"GEOADD a {place(rng.choice((0.01, 1, 8, 40)))} m{rng.randrange(80)}",
                f"GEOSEARCH a {polygon()}",
                f"GEOSEARCH a {polygon()} {options}",
                f"GEOSEARCH a {options} {polygon()}",
                f"GEOSEARCHSTORE b a {polygon()} {rng.choice(('', 'STOREDIST', 'COUNT 3', options))}",
                "ZRANGE b 0 -1",
            )
        ).split()


@pytest.mark.parametrize("seed", range(4))
def test_polygons(lab: Lab, seed: int) -> None:
    """Neither streams nor doubles are compared: Valkey writes the ZADD of a GEOADD in capitals, and other digits."""
    with Duel(lab.start("valkey91")) as duel:
        duel.fight(polygons, seed, 800)
