"""The first cases of the targets that need no process of their own, in the form that is here, without a sanitizer."""

from __future__ import annotations

from importlib import import_module
from random import Random

import pytest

from tests.fuzz.hostile import HASH_LISTPACK, Hostile
from tests.fuzz.targets.loading import loaded

CASES = 150


@pytest.mark.parametrize("target", ["loading", "edits", "hyperloglogs", "requests", "streams"])
def test_the_first_cases_end_well(target: str) -> None:
    case = import_module(f"tests.fuzz.targets.{target}").case
    for seed in range(CASES):
        try:
            case(Random(seed))
        except Exception as error:
            raise AssertionError(f"{target}, seed {seed}: {error!r}") from error


def test_what_nobody_has_broken_is_taken() -> None:
    """Else the cases would end at the first check."""
    taken = 0
    for seed in range(CASES):
        data = Hostile(Random(seed), 0.0).snapshot([b"k"], {b"k": HASH_LISTPACK})
        keyspace = loaded(data, [data])
        taken += keyspace is not None
    assert taken > CASES * 2 // 3


def test_half_of_what_is_broken_a_little_is_refused() -> None:
    refused = 0
    for seed in range(CASES):
        data = Hostile(Random(seed), 0.05).snapshot()
        refused += loaded(data, [data]) is None
    assert CASES // 4 < refused < CASES
