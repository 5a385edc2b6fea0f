"""What is wrong: each rule with the topology that breaks it, and none for one that is well."""

from __future__ import annotations

import pytest

from pyrepl.topology.problems import RULES, problems_in, problems_of
from pyrepl.topology.walk import MOST_NODES
from tests.unit.topology.infos import GOOD, info, listed, replica_info, tree_of


def found(start: int, nodes: dict[int, str]) -> list[tuple[int, str]]:
    """(port, code), port 0 for the tree as a whole."""
    return [(node.address.port if node else 0, problem.code) for node, problem in problems_in(tree_of(start, nodes))]


def text(start: int, nodes: dict[int, str]) -> str:
    ((_, problem),) = problems_in(tree_of(start, nodes))
    return problem.text


def pair(**fields: object) -> dict[int, str]:
    return {1: info("m", **listed(2)), 2: replica_info("r", 1, **fields)}


SYNC = {"master_link_status": "down", "master_sync_in_progress": 1, "master_sync_read_bytes": 1 << 20}
DOWN = {"master_link_status": "down", "master_link_down_since_seconds": 4}

BROKEN: dict[str, dict[int, str]] = {
    "unreachable": {1: info("m", **listed(2))},
    "refused": {1: info("m", **listed(2)), 2: "-NOAUTH Authentication required"},
    "loop": {1: replica_info("a", 1)},
    "elsewhere": {1: info("m", **listed(2)), 2: info("n")},
    "loading": pair(loading=1, loading_loaded_perc=12.4),
    "syncing": pair(**SYNC),
    "link_down": pair(**DOWN),
    "not_online": {1: info("m", **listed(2, state="wait_bgsave")), 2: replica_info("r", 1)},
    "not_listed": {2: replica_info("r", 1), 1: info("m")},
    "other_stream": pair(master_replid="b" * 40),
    "failover": pair(master_failover_state="waiting-for-sync"),
    "lagging": {1: info("m", **listed(2, lag=11)), 2: replica_info("r", 1)},
}


def test_nothing_is_wrong() -> None:
    assert found(1, GOOD) == []
    assert (
        found(
            1,
            {
                1: info("m", **listed(0)),
            },
        )
        == []
    )


@pytest.mark.parametrize("code", BROKEN)
def test_each_rule(code: str) -> None:
    start = 2 if code == "not_listed" else 1
    assert [name for _, name in found(start, BROKEN[code])] == [code]


def test_no_rule_without_its_test() -> None:
    assert {code for code, _ in RULES} | {"lagging"} == set(BROKEN) | {"full_resync_ahead"}


def test_what_is_gone_from_the_backlog_is_told() -> None:
    nodes = {1: info("m", master_repl_offset=5000, repl_backlog_histlen=1000), 2: replica_info("r", 1, **DOWN)}
    assert found(2, nodes) == [(2, "link_down"), (2, "full_resync_ahead")]


def test_words() -> None:
    assert text(1, BROKEN["unreachable"]) == "cannot be asked: Connection refused"
    assert text(1, BROKEN["refused"]) == "refuses to be asked: NOAUTH Authentication required"
    assert text(1, BROKEN["elsewhere"]) == "10.0.0.1:1 still lists it, but it is a master"
    assert text(1, BROKEN["syncing"]) == "full resync: 1.00M"
    more = {"master_sync_total_bytes": 4 << 20, "master_sync_bytes_per_sec": 1 << 20, "master_sync_eta_seconds": 3}
    assert text(1, pair(**SYNC, **more)) == "full resync: 1.00M of 4.00M (25%), 1.00M/s, 3 s to go"
    why = {"master_last_sync_error": "refused", "master_next_try_in_seconds": 8}
    assert text(1, pair(**DOWN, **why)) == "link down for 4 s: refused; next try in 8 s"
    assert text(1, pair(master_link_status="down")) == "link down"


def test_the_bound_of_lag_is_right_itself() -> None:
    replica = tree_of(1, {1: info("m", **listed(2, lag=10)), 2: replica_info("r", 1)}).nodes()[1]
    assert problems_of(replica, 10) == []
    assert [problem.code for problem in problems_of(replica, 9)] == ["lagging"]


def test_what_was_left_out_and_a_sentinel_of_nobody() -> None:
    nodes = {port: replica_info(f"r{port}", port + 1, **listed(port - 1)) for port in range(1, MOST_NODES + 9)}
    assert (0, "left_out") in found(1, nodes)
    assert found(9, {9: "run_id:s\r\nredis_mode:sentinel\r\n"}) == [(0, "empty")]
