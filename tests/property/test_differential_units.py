"""What one command or one EXEC sends to the replicas: the frame around it, where SELECT stands, what expired before it.

Beside Redis 8.2, whose 7.0 put the first SELECT before MULTI.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


def units(rng: Random) -> Iterator[Words]:
    while True:
        if rng.random() < 0.3:
            yield "SELECT", rng.randrange(4)
        if rng.random() < 0.4:
            yield ("MULTI",)
            for _ in range(rng.randrange(4)):
                yield command(rng)
            yield (rng.choice(("EXEC", "EXEC", "EXEC", "DISCARD")),)
        else:
            yield command(rng)


def command(rng: Random) -> Words:
    """Times to live are over already: a key has expired as soon as it is written."""
    key, other = rng.choices("abc", k=2)
    return rng.choice(
        (
            ("SELECT", rng.randrange(4)),
            ("SWAPDB", rng.randrange(4), rng.randrange(4)),
            ("SET", key, "1"),
            ("SET", key, "1", "PXAT", 1),
            ("MSET", key, "1", other, "2"),
            ("MGET", key, other),
            ("GET", key),
            ("INCR", key),
            ("SET", key, "2", "KEEPTTL"),
            ("DEL", key, other),
            ("RENAME", key, other),
            ("COPY", key, other, "REPLACE"),
            ("MOVE", key, rng.randrange(4)),
            ("EXPIRE", key, -1),
            ("PUBLISH", "x", "y"),
            ("SINTERSTORE", key, "nosuch", other),
            ("ZRANGESTORE", key, "nosuch", 0, -1),
            ("ZUNIONSTORE", key, 1, "nosuch"),
            ("SORT", "nosuch", "STORE", key),
            ("BITOP", "AND", key, "nosuch"),
            ("FLUSHDB",),
            ("DBSIZE",),
        )
    )


@pytest.mark.parametrize("seed", range(4))
def test_units(duel: Duel, seed: int) -> None:
    duel.fight(units, seed, commands=2000, streams=True, lookups=True)
