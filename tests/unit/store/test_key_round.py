"""Rounds through the keys of a dictionary that changes: what is there all along comes."""

from __future__ import annotations

import random

import pytest

from pyrepl.store.key_round import KeyRound


def _all(round_: KeyRound, count: int) -> list[bytes]:
    found: list[bytes] = []
    while keys := round_.take(count):
        assert len(keys) <= count
        found += keys
    return found


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_a_dictionary_that_stays_as_it_is(count: int) -> None:
    source = {b"%d" % number: number for number in range(100)}
    assert _all(KeyRound(source), count) == list(source)
    assert _all(KeyRound({}), count) == []


@pytest.mark.parametrize("seed", range(20))
def test_keys_that_are_there_all_along_come(seed: int) -> None:
    dice = random.Random(seed)
    source = {b"%d" % number: 0 for number in range(dice.randrange(1, 200))}
    stay = set(dice.sample(sorted(source), len(source) // 2))
    round_ = KeyRound(source, exact=True)
    found: set[bytes] = set()
    for _ in range(100):
        found.update(keys := round_.take(dice.randrange(1, 20)))
        if not keys:
            break
        for key in dice.sample(sorted(source), min(3, len(source))):
            if key not in stay:
                del source[key]
        if dice.random() < 0.2:
            source.update({b"new%d" % dice.randrange(1000): 0 for _ in range(dice.choice([1, 100]))})
    found.update(_all(round_, 1000))
    assert stay <= found


def test_who_deletes_what_comes_gets_on() -> None:
    source = {b"%d" % number: number for number in range(1000)}
    round_ = KeyRound(source)
    found = []
    while keys := round_.take(10):
        found += keys
        for key in keys:
            del source[key]
    assert (len(found), source) == (1000, {})
