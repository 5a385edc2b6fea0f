"""A node that is restarted goes on where it was: its snapshot states its place in the stream, no data is sent twice."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from tests.interop.pair import BACKLOG
from tests.interop.writing import Writing
from tests.peers import compare, dataset
from tests.peers.kinds import KINDS
from tests.peers.lab import Lab, Node, wait_until

SCALE = 2000
SAVED = {**BACKLOG, "save": "3600 1"}
"""With save points a node writes its snapshot when it is told to end."""


def filled_pair(lab: Lab, tmp_path: Path, master: str, replica: str) -> tuple[Node, Node]:
    """Both ends in folders of their own, in step."""
    one = lab.start(master, directives=SAVED, folder=tmp_path / "one")
    dataset.fill(one, dataset.commands(SCALE))
    two = lab.start(replica, one, directives=SAVED, folder=tmp_path / "two")
    two.wait_link_up()
    compare.settle(one, two)
    return one, two


@pytest.mark.parametrize("master", KINDS)
def test_a_replica_continues_after_its_restart(lab: Lab, tmp_path: Path, master: str) -> None:
    one, two = filled_pair(lab, tmp_path, master, "pyrepl")
    two.terminate()
    one.call("SET", "written", "meanwhile")
    one.call("SELECT", "3")
    one.call("SET", "written", "elsewhere")
    again = lab.start("pyrepl", one, directives=SAVED, folder=two.folder, port=two.port)
    again.wait_link_up()
    compare.settle(one, again)
    compare.assert_equal(one, again)
    assert (one.stat("sync_full"), one.stat("sync_partial_ok")) == (1, 1)


@pytest.mark.parametrize("replica", KINDS)
def test_replicas_continue_after_their_masters_restart(lab: Lab, tmp_path: Path, replica: str) -> None:
    one, two = filled_pair(lab, tmp_path, "pyrepl", replica)
    one.terminate()
    again = lab.start("pyrepl", directives=SAVED, folder=one.folder, port=one.port)
    two.wait_link_up()
    again.call("SET", "written", "afterwards")
    compare.settle(again, two)
    compare.assert_equal(again, two)
    assert (again.stat("sync_full"), again.stat("sync_partial_ok")) == (0, 1)
    assert again.info("replication")["master_replid"] == two.info("replication")["master_replid"]


def test_a_master_that_lost_writes_does_not_continue_who_has_them(lab: Lab, tmp_path: Path) -> None:
    """Killed after its last snapshot: its replica is ahead, and must not be believed to hold the same stream."""
    one, two = filled_pair(lab, tmp_path, "pyrepl", "pyrepl")
    one.call("SAVE")
    one.call("SET", "after", "the snapshot")
    compare.settle(one, two)
    one.kill()
    again = lab.start("pyrepl", directives=SAVED, folder=one.folder, port=one.port)
    two.wait_link_up()
    compare.settle(again, two)
    compare.assert_equal(again, two)
    assert again.call("EXISTS", "after") == 0 and two.call("EXISTS", "after") == 0
    assert again.stat("sync_full_past_fork") == 1


def are_one_stream(nodes: list[Node]) -> bool:
    """All linked, under one id: nobody is about to be cut by its master to learn another, and away when that ends."""
    infos = [node.info("replication") for node in nodes]
    up = all(info.get("master_link_status", "up") == "up" for info in infos)
    return up and len({info["master_replid"] for info in infos}) == 1


@pytest.mark.parametrize(
    "kinds",
    [
        ("pyrepl", "pyrepl", "pyrepl"),
        ("valkey8", "pyrepl", "redis8"),
        pytest.param(("pyrepl", "redis7", "pyrepl"), marks=pytest.mark.matrix),
        pytest.param(("pyrepl", "redis8", "pyrepl"), marks=pytest.mark.matrix),
        pytest.param(("redis8", "pyrepl", "valkey8"), marks=pytest.mark.matrix),
    ],
    ids="-".join,
)
def test_each_node_of_a_chain_in_turn(lab: Lab, tmp_path: Path, kinds: tuple[str, ...]) -> None:
    """Under writes: top, middle and bottom are told to end and are started again, and nobody is sent the data anew."""
    chain = [lab.start(kinds[0], directives=SAVED, folder=tmp_path / "0")]
    dataset.fill(chain[0], dataset.commands(SCALE, field_ttl=False))
    for number, kind in enumerate(kinds[1:], start=1):
        chain.append(lab.start(kind, chain[-1], directives=SAVED, folder=tmp_path / str(number)))
        chain[-1].wait_link_up()
    compare.settle(*chain)
    full_resyncs = 0
    writing = Writing(chain[0], random.Random(1))
    for at in range(3):
        old = chain[at]
        before = writing.written
        full_resyncs += old.stat("sync_full")
        old.terminate()
        master = chain[at - 1] if at else None
        chain[at] = lab.start(old.kind, master, directives=SAVED, folder=old.folder, port=old.port)
        writing.root = chain[0]
        wait_until("all have learned the new id", partial(are_one_stream, chain))
        wait_until("writes go on", partial(writing.has_written, before + 200))
    writing.end()
    compare.settle(*chain)
    for node in chain[1:]:
        compare.assert_equal(chain[0], node)
    assert len({node.info("replication")["master_replid"] for node in chain}) == 1
    assert full_resyncs + sum(node.stat("sync_full") for node in chain) == 2, "those of the beginning"
