"""Random conversations in the words that only Valkey has, pyrepl against Valkey 9.1: DELIFEQ. Replies, numbers of
changes and what is propagated are the same."""

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
