"""The harness itself: it finds a reply, a change, a digest and a stream that differ, and shrinks what led to them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.peers.lab import Lab
from tests.property.differential import Duel, Words


def generate(rng: Random) -> Iterator[Words]:
    while True:
        yield "SET", rng.choice("abc"), rng.randrange(5)
        yield "GET", rng.choice("abc")


@pytest.fixture
def duel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duel]:
    with Lab(tmp_path_factory.mktemp("lab")) as lab, Duel(lab.start("redis7")) as duel:
        yield duel


@pytest.mark.parametrize(
    ("reply", "command", "compare_dirty", "found"),
    [
        (b"$1\r\n7\r\n", "GET a", True, "ours   Tree"),
        (b"+OK\r\n", "SET b 3", True, "made 0 changes, theirs 1"),
        (b"+OK\r\n", "SET b 3", False, "digests differ"),
    ],
)
def test_a_difference_is_found_and_shrunk(
    duel: Duel, monkeypatch: pytest.MonkeyPatch, reply: bytes, command: str, compare_dirty: bool, found: str
) -> None:
    run = duel.ours.run
    wrong = [word.encode() for word in command.split()]
    monkeypatch.setattr(duel.ours, "run", lambda argv: reply if argv == wrong else run(argv))
    with pytest.raises(AssertionError) as caught:
        duel.fight(generate, 2, commands=60, compare_dirty=compare_dirty)
    text = str(caught.value)
    assert found in text
    assert text.startswith("seed 2, RESP2: ")
    assert len(text.partition("after\n")[2].splitlines()) <= 2


def test_a_stream_that_differs_is_found(duel: Duel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel.ours.node.conditions, "propagates", False)
    with pytest.raises(AssertionError, match="streams differ at command 0"):
        duel.fight(generate, 2, commands=10, streams=True)


def test_equal_sides_pass(duel: Duel) -> None:
    for seed in range(4):
        duel.fight(generate, seed, commands=100, streams=True)
