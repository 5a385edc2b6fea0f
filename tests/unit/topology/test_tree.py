"""Where each node stands, and the figures that need two nodes: lag, and what a cut may cost."""

from __future__ import annotations

import pytest

from pyrepl.topology.tree import Tree, TreeNode, build
from tests.unit.topology.infos import GOOD, at, info, listed, replica_info, tree_of, walked


def shape(tree: Tree) -> list[tuple[int, int]]:
    """(depth, port) in the tree's order."""
    return [(node.depth, node.address.port) for node in tree.nodes()]


def node_at(tree: Tree, port: int) -> TreeNode:
    (node,) = [node for node in tree.nodes() if node.address.port == port]
    return node


@pytest.mark.parametrize("start", [1, 2, 3, 4])
def test_the_same_tree_from_anywhere(start: int) -> None:
    tree = tree_of(start, GOOD)
    assert shape(tree) == [(0, 1), (1, 2), (2, 4), (1, 3)]
    assert tree.start == at(start) and not tree.start_failure


def test_a_master_that_cannot_be_reached_is_the_top() -> None:
    tree = tree_of(2, {2: GOOD[2], 4: GOOD[4]})
    assert shape(tree) == [(0, 1), (1, 2), (2, 4)]
    assert tree.tops[0].failure == "Connection refused" and tree.tops[0].facts is None


def test_the_first_cannot_be_reached() -> None:
    tree = tree_of(7, {})
    assert shape(tree) == [(0, 7)] and tree.start_failure == "Connection refused"


def test_a_replica_that_its_master_does_not_list_stands_under_it_all_the_same() -> None:
    tree = tree_of(2, {1: info("m"), 2: replica_info("r", 1, master_link_status="down")})
    assert shape(tree) == [(0, 1), (1, 2)] and node_at(tree, 2).row is None


def test_a_replica_that_went_elsewhere() -> None:
    tree = tree_of(1, {1: info("m", **listed(2)), 2: replica_info("r", 3), 3: info("n", **listed(2))})
    assert shape(tree) == [(0, 1), (1, 2), (0, 3), (1, 2)]
    first, second = (node for node in tree.nodes() if node.address == at(2))
    assert first.elsewhere and first.lag_bytes is None
    assert not second.elsewhere and second.row is not None


@pytest.mark.parametrize("start", [1, 2])
def test_a_circle(start: int) -> None:
    tree = tree_of(start, {1: replica_info("a", 2, **listed(2)), 2: replica_info("b", 1, **listed(1))})
    other = 3 - start
    assert shape(tree) == [(0, start), (1, other), (2, start)]
    assert [node.closes_loop for node in tree.nodes()] == [False, False, True]


def test_a_node_that_follows_itself() -> None:
    tree = tree_of(1, {1: replica_info("a", 1)})
    assert shape(tree) == [(0, 1), (1, 1)] and tree.nodes()[1].closes_loop


def test_a_sentinel_is_no_node() -> None:
    tree = tree_of(9, {**GOOD, 9: "run_id:s\r\nredis_mode:sentinel\r\nmaster0:name=m,address=10.0.0.1:1\r\n"})
    assert shape(tree) == [(0, 1), (1, 2), (2, 4), (1, 3)]
    assert tree.sentinel is not None


def test_replicas_without_a_port_stand_there_too() -> None:
    tree = tree_of(1, {1: info("m", **listed(0, 0))})
    assert shape(tree) == [(0, 1), (1, 0), (1, 0)]
    assert tree.nodes()[1].failure == "has not said where it listens"


class TestLag:
    def lag(self, own: int, acknowledged: int, **fields: object) -> int | None:
        nodes = {
            1: info("m", **listed(2, offset=acknowledged)),
            2: replica_info("r", 1, slave_repl_offset=own, **fields),
        }
        return node_at(tree_of(1, nodes), 2).lag_bytes

    def test_the_newer_reading_counts(self) -> None:
        assert self.lag(90, 40) == 10
        assert self.lag(40, 90) == 10

    def test_it_is_never_negative(self) -> None:
        assert self.lag(130, 40) == 0

    def test_of_another_stream_there_is_none(self) -> None:
        assert self.lag(90, 90, master_replid="b" * 40) is None

    def test_of_one_that_cannot_be_reached_its_masters_word_counts(self) -> None:
        assert node_at(tree_of(1, {1: info("m", **listed(2, offset=60))}), 2).lag_bytes == 40

    def test_seconds(self) -> None:
        assert node_at(tree_of(1, {1: info("m", **listed(2, lag=7))}), 2).lag_s == 7
        down = replica_info("r", 1, master_link_status="down", master_link_down_since_seconds=9)
        assert node_at(tree_of(2, {1: info("m"), 2: down}), 2).lag_s == 9


class TestCover:
    def cover(self, **fields: object) -> int | None:
        nodes = {1: info("m", **listed(2)), 2: replica_info("r", 1, **fields)}
        return node_at(tree_of(1, nodes), 2).cover_bytes

    def test_the_backlog_less_the_lag(self) -> None:
        assert self.cover() == 1000

    def test_a_link_that_is_down_eats_it_up(self) -> None:
        nodes = {
            1: info("m", master_repl_offset=1600, repl_backlog_histlen=1000),
            2: replica_info("r", 1, master_link_status="down", slave_repl_offset=900),
        }
        assert node_at(tree_of(2, nodes), 2).cover_bytes == 300
        nodes[2] = replica_info("r", 1, master_link_status="down", slave_repl_offset=599)
        assert node_at(tree_of(2, nodes), 2).cover_bytes == 0

    def test_nothing_to_tell(self) -> None:
        assert self.cover(master_replid="b" * 40) is None
        nodes = {1: info("m", **listed(2), repl_backlog_active=0), 2: replica_info("r", 1)}
        assert node_at(tree_of(1, nodes), 2).cover_bytes is None

    def test_seconds_at_the_rate_of_the_top(self) -> None:
        tree = build(walked(1, GOOD), {at(1): 50.0})
        assert [node.cover_s for node in tree.nodes()] == [None, 20.0, 20.0, 20.0]
        assert [node.cover_s for node in build(walked(1, GOOD), {at(1): 0.0}).nodes()] == [None] * 4
