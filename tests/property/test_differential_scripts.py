"""Scripts on pyrepl and on Redis 8.2: replies, changes, data and the replication stream must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.corpus import corpus
from tests.property.differential import Duel, Words

SHARED = "return redis.call('INCR', KEYS[1])"
SHA = "61636018f4e6b5817b89791bbed242f93fa089e3"


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


def scripts(rng: Random) -> Iterator[Words]:
    """All scripts, each by itself."""
    yield from corpus()


def in_transactions(rng: Random) -> Iterator[Words]:
    """Scripts in MULTI, some at a time, but for those that draw random numbers."""
    chosen = [line for line in corpus() if "random" not in line[1]]
    for start in range(0, len(chosen), 7):
        yield ("MULTI",)
        yield from chosen[start : start + 7]
        yield ("EXEC",)


def commands(rng: Random) -> Iterator[Words]:
    """The commands around scripts, and what they refuse."""
    yield "SCRIPT", "FLUSH"
    yield "SCRIPT", "LOAD", SHARED
    yield "SCRIPT", "LOAD", "no lua"
    yield "SCRIPT", "LOAD", "#!lua flags=what\nreturn 1"
    yield "EVAL", SHARED, 1, "n"
    yield "EVALSHA", SHA, 0
    yield "EVALSHA", "short", 0
    yield "EVAL_RO", SHARED, 1, "n"
    yield "EVAL_RO", "return redis.call('GET', KEYS[1])", 1, "n"
    yield "EVAL_RO", "#!lua\nreturn 1", 0
    yield "EVAL", SHARED, 2, "n"
    yield "EVAL", SHARED, -1
    yield "EVAL", SHARED, "x"
    yield "EVAL", SHARED, "1.5"
    yield "SCRIPT", "EXISTS", SHA, "x", SHA.upper()
    yield "SCRIPT", "KILL"
    yield "SCRIPT", "DEBUG", "NO"
    yield "SCRIPT", "FLUSH", "ASYNC"
    yield "SCRIPT", "FLUSH", "WRONG"
    yield "SCRIPT", "FLUSH", "SYNC", "SYNC"


@pytest.mark.parametrize("proto", [2, 3])
def test_the_corpus(duel: Duel, proto: int) -> None:
    assert len(corpus()) > 150
    duel.fight(scripts, proto, len(corpus()), streams=True)


@pytest.mark.parametrize("proto", [2, 3])
def test_the_corpus_in_transactions(duel: Duel, proto: int) -> None:
    duel.fight(in_transactions, proto, 2 * len(corpus()), streams=True)


@pytest.mark.parametrize("proto", [2, 3])
def test_commands_on_scripts(duel: Duel, proto: int) -> None:
    duel.fight(commands, proto, 40, streams=True)
