"""What a person reads."""

from __future__ import annotations

import pytest

from pyrepl.topology.rows import COLUMNS, complaints, lines_of, span, summary
from pyrepl.topology.tree import build
from tests.unit.topology.infos import GOOD, at, info, listed, replica_info, tree_of, walked


def test_a_tree() -> None:
    lines = lines_of(build(walked(1, GOOD), {at(1): 50.0}))
    assert [line.cells for line in lines] == [
        ("10.0.0.1:1", "master", "", "100", "", "", "50B/s", "redis 7.0.15"),
        ("├─ 10.0.0.1:2", "replica", "up", "100", "0B, 0 s", "20 s (1000B)", "", "redis 7.0.15"),
        ("│  └─ 10.0.0.1:4", "replica", "up", "100", "0B, 0 s", "20 s (1000B)", "", "redis 7.0.15"),
        ("└─ 10.0.0.1:3", "replica", "up", "100", "0B, 0 s", "20 s (1000B)", "", "redis 7.0.15"),
    ]
    assert {line.mood for line in lines} == {"good"}
    assert all(len(line.cells) == len(COLUMNS) for line in lines)


def test_all_is_well_in_a_line() -> None:
    assert summary(tree_of(1, GOOD)) == "in sync: 4 nodes"
    assert complaints(tree_of(1, GOOD)) == []
    assert summary(tree_of(1, {1: info("m")})) == "in sync: 1 node"


def link(**fields: object) -> tuple[str, str]:
    line = lines_of(tree_of(1, {1: info("m", **listed(2)), 2: replica_info("r", 1, **fields)}))[1]
    return line.cells[2], line.mood


def test_links() -> None:
    sync = {"master_link_status": "down", "master_sync_in_progress": 1, "master_sync_read_bytes": 30}
    assert link() == ("up", "good")
    assert link(master_link_status="down") == ("down", "bad")
    assert link(**sync) == ("sync", "busy")
    assert link(**sync, master_sync_total_bytes=120) == ("sync 25%", "busy")
    assert link(loading=1, loading_loaded_perc=50) == ("loading 50%", "busy")


def test_who_is_not_as_it_should_be() -> None:
    unreachable = tree_of(1, {1: info("m", **listed(2))})
    assert lines_of(unreachable)[1].cells[1:3] == ("replica", "unreachable")
    assert complaints(unreachable) == ["10.0.0.1:2: cannot be asked: Connection refused"]
    assert summary(unreachable) == "1 problem in 2 nodes"
    elsewhere = tree_of(1, {1: info("m", **listed(2)), 2: info("n")})
    assert lines_of(elsewhere)[1].cells[2:5] == ("elsewhere", "100", "")
    loop = tree_of(1, {1: replica_info("a", 1)})
    assert lines_of(loop)[1].cells[2] == "loop"
    assert summary(loop) == "1 problem in 1 node"


def test_nothing_is_covered() -> None:
    nodes = {
        1: info("m", master_repl_offset=5000, repl_backlog_histlen=1000),
        2: replica_info("r", 1, master_link_status="down"),
    }
    assert lines_of(tree_of(2, nodes))[1].cells[4:6] == ("4.79K", "nothing")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (1.94, "1.9 s"), (2, "2 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d")],
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text
