"""The commands of all families, each called by a script: pyrepl against Redis 7.0, and what is newer against 8.2.

Replies and errors as Lua turns them into replies, numbers of changes and what goes to the replicas are the same. What a
script may not call is among them. Left out is what `test_differential_mixed` leaves out, and what has no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import pytest

from tests.peers.lab import Lab
from tests.property import test_differential_geo as geo
from tests.property import test_differential_hyperloglogs as hyperloglogs
from tests.property import test_differential_vectors as vectors
from tests.property.differential import Duel, Words, command_table, words
from tests.property.test_differential_mixed import NOT_IN_EXEC, Mixer

CALLS: Final = (
    "return redis.call(unpack(ARGV))",
    "return redis.call(unpack(ARGV))",
    "local reply = redis.pcall(unpack(ARGV)) return reply",
    "redis.setresp(3) local reply = redis.call(unpack(ARGV)) return reply",
    "redis.pcall(unpack(ARGV)) return redis.call('DBSIZE')",
)


def of_all(rng: Random) -> Iterator[Words]:
    mixer = Mixer(rng, command_table())
    while True:
        argv = mixer.argv()
        if argv[0].upper() not in NOT_IN_EXEC and b"HELP" not in argv:
            yield argv


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
        yield duel


def in_scripts(source: Callable[[Random], Iterator[Words]]) -> Callable[[Random], Iterator[Words]]:
    def generate(rng: Random) -> Iterator[Words]:
        for said in source(rng):
            argv = words(said)
            yield ("EVAL", rng.choice(CALLS), "0", *argv)

    return generate


@pytest.mark.parametrize("seed", range(4))
def test_all_families(older: Duel, seed: int) -> None:
    older.fight(in_scripts(of_all), seed, commands=1500, streams=True)


@pytest.mark.parametrize("source", [geo.geo, hyperloglogs.few, vectors.generate])
@pytest.mark.parametrize("seed", range(2))
def test_newer_families(duel: Duel, source: Callable[[Random], Iterator[Words]], seed: int) -> None:
    duel.fight(in_scripts(source), seed, commands=600, streams=True)
