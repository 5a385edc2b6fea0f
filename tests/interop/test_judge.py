"""The comparison that all of interop relies on can say no: planted differences between real servers are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers import compare, dataset
from tests.peers.lab import Lab, Node
from tests.peers.wire import Word

SCALE = 2000


@pytest.fixture
def twins(lab: Lab, dumps: Path) -> tuple[Node, Node]:
    dump = dataset.real_dump("redis8", SCALE, dumps, field_ttl=True, exact_scores=False)
    one, other = lab.start("redis8", dump=dump), lab.start("redis8", dump=dump)
    one.wait_loaded()
    other.wait_loaded()
    return one, other


def test_same_dump_is_equal(twins: tuple[Node, Node]) -> None:
    compare.assert_equal(*twins)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("SET", "strings:3", "another"), "content"),
        (("DEL", "hashes:3"), "only on the first, as hash"),
        (("SET", "one more", ""), "only on the second, as string"),
        (("LSET", "list:numbers", 5, 0), r"content \[5\]"),
        (("SADD", "sets:2", "member"), "content length"),
        (("ZINCRBY", "zsets:1", 0.25, "member:0"), "content"),
        (("PEXPIRE", "lists:1", 7_200_000), "time to live"),
        (("XGROUP", "SETID", "streams:3", "readers", "7-7"), "content"),
        (("XGROUP", "CREATECONSUMER", "stream:created", "g", "another"), "content"),
        (("HPEXPIRE", "volatile-hash:1", 9_000_000, "FIELDS", 1, "field:1"), "content"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_planted_difference_is_named(twins: tuple[Node, Node], change: tuple[Word, ...], named: str) -> None:
    twins[1].call(*change)
    with pytest.raises(AssertionError, match=f"differ in 1 keys(.|\n)*{named}"):
        compare.assert_equal(*twins)
