"""Keyspace notifications of all classes beside a real Redis 8.2: the same messages in the same order, for the commands
of every family."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property import (
    test_differential_hashes,
    test_differential_keys,
    test_differential_lists,
    test_differential_mixed,
    test_differential_sets,
    test_differential_strings,
    test_differential_zsets,
)
from tests.property.differential import Duel, Generate, Words, command_table, words


def mixed(rng: Random) -> Iterator[Words]:
    """Commands of all families on few keys, whose values thus are of any type."""
    mixer = test_differential_mixed.Mixer(rng, command_table())
    while True:
        yield mixer.argv()


FAMILIES: dict[str, Generate] = {
    "hashes": test_differential_hashes.generate,
    "times of fields": test_differential_hashes.generate_times,
    "keys": test_differential_keys.keys,
    "values": test_differential_keys.values,
    "sorts": test_differential_keys.sorts,
    "lists": test_differential_lists.generate,
    "sets": test_differential_sets.generate,
    "strings": test_differential_strings.strings,
    "bits": test_differential_strings.bits,
    "bit operations": test_differential_strings.bit_operations,
    "zsets": test_differential_zsets.generate,
    "streams": test_differential_mixed.of_streams,
    "all": mixed,
}
COMMANDS = 400
ODD = re.compile(rb".?0x|\( | |[-+ (]*$|.* $|.*\0|-?\d{12,}")
"""Numbers that Redis 7.0, whose replies the generators know, reads otherwise than 8.2 does."""


def is_odd(argv: list[bytes]) -> bool:
    """May 8.2 do something else here, or the same in an order that means nothing (SORT of a set)? XAUTOCLAIM
    misses a key there before it reads words that are wrong."""
    name = argv[0].upper()
    return (
        any(map(ODD.match, argv))
        or b"FOO" in argv
        or (name.startswith(b"SORT") and b"set" in argv[1])
        or (name == b"XAUTOCLAIM" and (len(argv) > 6 or not argv[4].isdigit()))
    )


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", (2, 3))
def test_each_command_tells_what_redis_would(duel: Duel, family: str, seed: int) -> None:
    def generate(rng: Random) -> Iterator[Words]:
        return (line for line in map(words, FAMILIES[family](rng)) if not is_odd(line))

    duel.fight(generate, seed, COMMANDS, events=True, compare_dirty=False, replies=False)
