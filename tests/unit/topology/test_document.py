"""The JSON document: its members, which stay, and what they hold."""

from __future__ import annotations

import json

from pyrepl.topology.document import document_of
from pyrepl.topology.tree import build
from tests.unit.topology.infos import GOOD, at, info, listed, replica_info, tree_of, walked

MEMBERS = """
    address parent depth reachable error loop elsewhere state_at_parent offset lag_bytes lag_s cover_bytes cover_s
    write_bytes_per_s software run_id role master link silence_s down_s last_error next_try_s sync loading_percent
    failover replid backlog_bytes backlog_held_bytes backlog_first_byte full_syncs partial_syncs
"""


def test_a_good_tree() -> None:
    document = json.loads(json.dumps(document_of(build(walked(2, GOOD), {at(1): 50.0}))))
    assert (document["version"], document["start"], document["status"]) == (1, "10.0.0.1:2", "ok")
    assert document["problems"] == []
    places = [(node["address"], node["parent"], node["depth"]) for node in document["nodes"]]
    assert places == [
        ("10.0.0.1:1", None, 0),
        ("10.0.0.1:2", "10.0.0.1:1", 1),
        ("10.0.0.1:4", "10.0.0.1:2", 2),
        ("10.0.0.1:3", "10.0.0.1:1", 1),
    ]
    master, replica = document["nodes"][:2]
    assert (master["role"], master["link"], master["write_bytes_per_s"]) == ("master", None, 50.0)
    assert (replica["role"], replica["link"], replica["master"]) == ("replica", "up", "10.0.0.1:1")
    assert (replica["lag_bytes"], replica["lag_s"], replica["cover_bytes"], replica["cover_s"]) == (0, 0, 1000, 20.0)


def test_every_node_has_every_member() -> None:
    document = document_of(tree_of(1, {1: GOOD[1], 2: GOOD[2]}))
    assert [set(node) for node in document["nodes"]] == [set(MEMBERS.split())] * 4
    assert [node["reachable"] for node in document["nodes"]] == [True, True, False, False]


def test_trouble() -> None:
    document = document_of(tree_of(1, {1: info("m", **listed(2))}))
    assert document["status"] == "trouble"
    (problem,) = document["problems"]
    assert (problem["node"], problem["code"]) == ("10.0.0.1:2", "unreachable")
    assert document["nodes"][1]["error"] == "Connection refused"


def test_the_first_node_is_unreachable() -> None:
    assert document_of(tree_of(1, {}))["status"] == "unreachable"
    assert document_of(tree_of(1, {1: "-NOAUTH"}))["status"] == "refused"
    assert document_of(tree_of(2, {1: "-NOAUTH", 2: replica_info("r", 1)}))["status"] == "trouble"


def test_a_sync() -> None:
    fields = {"master_sync_in_progress": 1, "master_sync_read_bytes": 30, "master_sync_total_bytes": 0}
    document = document_of(tree_of(1, {1: info("m", **listed(2)), 2: replica_info("r", 1, **fields)}))
    assert document["nodes"][1]["sync"] == {"read_bytes": 30, "total_bytes": None, "bytes_per_s": None, "eta_s": None}
    assert document["nodes"][1]["lag_bytes"] is None
