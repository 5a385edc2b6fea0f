"""A stream of which the newest rows are kept in memory."""

from __future__ import annotations

import pytest

from pyrepl.changes.recent_source import RecentSource
from pyrepl.changes.unavailable import Unavailable


@pytest.fixture
def source() -> RecentSource:
    """Ten rows behind token 1000, the last four of them kept."""
    source = RecentSource("sync", "node-a", 1000, 4)
    for number in range(10):
        source.append(f"[{number}]")
    return source


def test_what_there_is(source: RecentSource) -> None:
    assert (source.streams(), source.writers("sync")) == (["sync"], ["node-a"])
    assert (source.head("sync", None), source.head("sync", "node-a"), source.oldest) == (1010, 1010, 1006)
    assert source.head("sync", "node-b") is source.head("keys", None) is None


def test_reading(source: RecentSource) -> None:
    block = source.read("sync", None, 1008, 1000)
    assert (block.facts, block.upto) == ([(1009, ["[8]"]), (1010, ["[9]"])], 1010)
    assert source.read("sync", None, 1010, 1000).facts == []
    assert source.read("sync", None, 1006, 1).facts == [(1007, ["[6]"])], "at least one"
    assert source.read("sync", None, 1006, 6).upto == 1008


def test_what_is_not_kept(source: RecentSource) -> None:
    oldest = source.token_at(1006)
    with pytest.raises(Unavailable, match=f"TOOOLD {oldest} "):
        source.read("sync", None, 1005, 10)
    assert source.why_not("sync", None, oldest, "") is None and source.at(oldest) == 1006
    assert (source.why_not("sync", None, source.token_at(5), "") or "").startswith("TOOOLD"), "of an earlier run"
    assert (source.why_not("sync", None, 0, "") or "").startswith(f"TOOOLD {oldest} ")
    assert (source.why_not("sync", None, source.token_at(1011), "") or "").startswith("FORKED")
    assert source.why_not("sync", None, None, "") is None


def test_a_token_of_another_node_is_not_taken(source: RecentSource) -> None:
    """Nodes that were started together count from the same time."""
    other = RecentSource("sync", "node-b", 1000, 4)
    assert (source.why_not("sync", None, other.token_at(1008), "") or "").startswith("FORKED token ")
    assert source.read("sync", None, 1009, 10).lines(named=False) == b"RDATA sync %d [9]\n" % source.token_at(1010)
