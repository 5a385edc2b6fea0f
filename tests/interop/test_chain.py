"""pyrepl in the middle: between servers that cannot follow each other, with the same bytes all along the chain."""

from __future__ import annotations

import pytest

from tests.interop.pair import BACKLOG, cut_and_heal, go_on, load
from tests.peers import compare, dataset
from tests.peers.kinds import REAL, REDIS, delicate, maker
from tests.peers.lab import Lab, Node, wait_until

CI_SCALE = 4000

ONLY_REDIS_8 = frozenset({"HINCRBYFLOAT"})
"""Redis 8.2 replicates this as HSETEX, which Valkey 8.0 and Redis 7.0 do not know. pyrepl passes the stream on as it
is, since offsets must be the same everywhere."""


CHAINS = {
    "redis8": ("valkey8", "redis7"),
    "redis86": ("redis8", "valkey91", "redis7"),
    "valkey91": ("valkey8", "redis8", "redis7"),
}
"""New ones, and older and other ones below."""

CANNOT = [
    ("redis8", 12, ("valkey8", "valkey91", "redis7")),
    ("redis86", 13, ("redis8", "valkey91", "redis7")),
    ("valkey91", 11, ("redis7",)),
]
"""The reason for the chains: a master, the version it writes, and who does not read that."""


@pytest.mark.parametrize(
    "scale",
    [
        CI_SCALE,
        pytest.param(dataset.FULL, marks=[pytest.mark.matrix, pytest.mark.timeout(1800)]),
    ],
)
@pytest.mark.parametrize("kind", CHAINS)
def test_new_through_pyrepl_to_others(lab: Lab, kind: str, scale: int) -> None:
    source = lab.start(kind, directives=BACKLOG)
    dataset.fill(source, dataset.commands(scale))
    without = ONLY_REDIS_8 if maker(kind) == REDIS else frozenset[str]()
    with load(source, scale, field_ttl=False, without=without) as writer:
        middle = lab.start("pyrepl", source, directives=BACKLOG)
        middle.wait_link_up()
        ends = [lab.start(each, middle, directives=BACKLOG) for each in CHAINS[kind]]
        for end in ends:
            end.wait_link_up()
        go_on(source, writer)
    assert_all_equal(source, middle, ends)

    with load(source, scale // 4, field_ttl=False, seed=2, without=without | delicate(*CHAINS[kind])):
        cut_and_heal(source, middle, at=middle, kind="master")
        for end in ends:
            cut_and_heal(middle, end, at=end, kind="master")
    assert_all_equal(source, middle, ends)


def assert_all_equal(source: Node, middle: Node, ends: list[Node]) -> None:
    """The same data, and the same replication id and offset, everywhere."""
    compare.settle(source, middle, *ends)
    for node in (middle, *ends):
        compare.assert_equal(source, node)
    ids = {node.info("replication")["master_replid"] for node in (source, middle, *ends)}
    assert len(ids) == 1, ids


@pytest.mark.parametrize(("kind", "version", "others"), CANNOT)
def test_without_pyrepl_these_cannot(lab: Lab, kind: str, version: int, others: tuple[str, ...]) -> None:
    source = lab.start(kind)
    source.call("SET", "a", "1")
    for other in others:
        lab.start(other, source).wait_log(f"Can't handle RDB format version {version}")


@pytest.mark.parametrize("kind", REAL)
def test_promoted_pyrepl_keeps_its_replica_by_its_second_id(lab: Lab, kind: str) -> None:
    """REPLICAOF NO ONE in the middle: the end continues from where it is, under the new id."""
    source = lab.start("redis7", directives=BACKLOG)
    dataset.fill(source, dataset.commands(1000))
    middle = lab.start("pyrepl", source, directives=BACKLOG)
    middle.wait_link_up()
    end = lab.start(kind, middle, directives=BACKLOG)
    end.wait_link_up()
    compare.settle(source, middle, end)
    old = middle.info("replication")["master_replid"]
    middle.call("REPLICAOF", "NO", "ONE")
    middle.call("SET", "after", "promotion")
    info = middle.info("replication")
    assert info["role"] == "master"
    assert info["master_replid"] != old
    assert info["master_replid2"] == old
    middle.call("CLIENT", "KILL", "TYPE", "replica")  # 0 or 1: the promotion itself may have cut it already
    new = info["master_replid"]
    wait_until("the end has the new id", lambda: end.info("replication")["master_replid"] == new)
    compare.settle(middle, end)
    compare.assert_equal(middle, end)
    assert middle.stat("sync_full") == 1


@pytest.mark.parametrize("kind", REAL)
def test_pyrepl_follows_a_promoted_replica(lab: Lab, kind: str) -> None:
    """Two replicas of one real master; one is promoted, pyrepl is told to follow it and continues partially."""
    source = lab.start(kind, directives=BACKLOG)
    dataset.fill(source, dataset.commands(1000))
    heir = lab.start(kind, source, directives=BACKLOG)
    ours = lab.start("pyrepl", source, directives=BACKLOG)
    heir.wait_link_up()
    ours.wait_link_up()
    compare.settle(source, heir, ours)
    source.end()
    heir.call("REPLICAOF", "NO", "ONE")
    heir.call("SET", "after", "promotion")
    full = heir.stat("sync_full")
    ours.call("REPLICAOF", "127.0.0.1", heir.port)
    wait_until("pyrepl follows the heir", lambda: heir.info("replication")["connected_slaves"] == "1", 60)
    ours.wait_link_up()
    assert heir.stat("sync_full") == full
    assert heir.stat("sync_partial_ok") == 1
    compare.settle(heir, ours)
    compare.assert_equal(heir, ours)
