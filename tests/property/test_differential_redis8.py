"""The families that are compared with Redis 7.0, beside Redis 8.2 too. Left out is what the two read otherwise: pyrepl
takes what any master may send, so it is as lenient as 7.0.

| what | 7.0 and pyrepl | 8.2 |
|---|---|---|
| ` 7` and `0x10` as scores, bounds and weights of SORT | numbers | errors |
| the utmost integers as places in lists | out of range | an error for LREM; LSET writes somewhere |
| an empty cursor | 0 | an error |
| HINCRBYFLOAT in the stream | HSET | HSETEX, which no older replica knows |
| options of a SET with a time to live in the stream | that time alone | as they came, XX and doubled ones too |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

import pytest

from tests.peers.lab import Lab
from tests.property import test_differential_hashes as hashes
from tests.property import test_differential_keys as keys
from tests.property import test_differential_lists as lists
from tests.property import test_differential_sets as sets
from tests.property import test_differential_zsets as zsets
from tests.property.differential import Duel, Words, command_table, words
from tests.property.test_differential_mixed import Mixer

Source = Callable[[Random], Iterator[Words]]
_ODD_NUMBER: Final = re.compile(rb"\(?( .*|.* |[+-]?0x.*)", re.IGNORECASE | re.DOTALL)
_UTMOST: Final = frozenset({b"9223372036854775807", b"-9223372036854775808", b"-9223372036854775807"})


def _is_read_otherwise(argv: list[bytes]) -> bool:
    name = argv[0].upper()
    return (
        any(_ODD_NUMBER.fullmatch(word) or word in _UTMOST for word in argv[1:])
        or (name.endswith(b"SCAN") and b"" in argv)
        or name == b"HINCRBYFLOAT"
        or (name == b"SET" and _says_too_much([word.upper() for word in argv[3:]]))
    )


def _says_too_much(options: list[bytes]) -> bool:
    return b"XX" in options or b"NX" in options or len(set(options)) < len(options)


def read_alike(source: Source) -> Source:
    def generate(rng: Random) -> Iterator[Words]:
        return (said for said in source(rng) if not _is_read_otherwise(words(said)))

    return generate


def mixed(rng: Random) -> Iterator[Words]:
    mixer = Mixer(rng, command_table())
    while True:
        if rng.random() < 0.04:
            yield from mixer.transaction()
        else:
            yield mixer.argv()


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis8")) as duel:
        yield duel


@pytest.mark.parametrize(
    "source", [keys.keys, keys.sorts, lists.generate, sets.generate, zsets.generate, hashes.generate, mixed]
)
@pytest.mark.parametrize("seed", range(3))
def test_families(duel: Duel, source: Source, seed: int) -> None:
    duel.fight(read_alike(source), seed, commands=1200, streams=True)
