"""Vector sets between Redis 8 and pyrepl, by snapshots and by the stream: the same digests all along, and a Redis 8 at
the end that finds what its master finds."""

from __future__ import annotations

from random import Random

import pytest

from tests.peers import compare
from tests.peers.lab import Lab, Node

FORMS = {"q8": ("Q8",), "f32": ("NOQUANT",), "bin": ("BIN", "M", 5)}


def _numbers(rng: Random, dim: int) -> list[str]:
    return [f"{rng.gauss(0, 1):.4f}" for _ in range(dim)]


def fill(master: Node, count: int) -> None:
    rng = Random(count)
    for form, options in FORMS.items():
        for number in range(count):
            attributes = ("SETATTR", f'{{"n":{number}}}') if number % 3 else ()
            master.call("VADD", form, "VALUES", 20, *_numbers(rng, 20), f"e{number}", *options, *attributes)
            master.call("VADD", f"{form}:reduced", "REDUCE", 6, "VALUES", 9, *_numbers(rng, 9), f"e{number}", *options)


@pytest.mark.parametrize("kind", ["redis8", "redis86"])
def test_a_snapshot_goes_through(lab: Lab, kind: str) -> None:
    master = lab.start(kind)
    fill(master, 200)
    ours = lab.start("pyrepl", master)
    ours.wait_link_up()
    last = lab.start(kind, ours)
    last.wait_link_up()
    compare.settle(master, ours, last)
    for node in (ours, last):
        compare.assert_equal(master, node)
    assert ours.call("TYPE", "q8") == "vectorset"
    for form in FORMS:
        for number in range(0, 200, 20):
            search = ("VSIM", form, "ELE", f"e{number}", "WITHSCORES", "COUNT", 5)
            # The scores alone: of elements that are equally near, any may come first.
            assert last.call(*search)[1::2] == master.call(*search)[1::2]
