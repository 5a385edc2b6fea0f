"""One append-only file, several vendors: what one wrote, another starts from. Ours also has a place in the stream."""

from __future__ import annotations

import random
import re
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.interop.pair import BACKLOG
from tests.interop.writing import Writing
from tests.peers import compare, dataset, finder
from tests.peers.kinds import KINDS, REAL
from tests.peers.lab import Lab, Node, wait_until

SCALE = 1500
AOF = {**BACKLOG, "appendonly": "yes", "appendfsync": "no"}
"""Not everysec: there a write waits while an fsync runs, as in Redis, and a SIGKILL takes it."""


def rewritten(node: Node) -> None:
    """BGREWRITEAOF to its end."""
    node.call("BGREWRITEAOF")
    wait_until("the rewrite is over", lambda: node.info("persistence")["aof_rewrite_in_progress"] == "0")
    assert node.info("persistence")["aof_last_bgrewrite_status"] == "ok"


def has_rewritten(node: Node) -> bool:
    """Is its file that of its data?"""
    return node.info("persistence")["aof_rewrite_in_progress"] == "0"


def filled(lab: Lab, kind: str, folder: Path) -> Node:
    """A node whose file has a base with data, and commands behind it."""
    node = lab.start(kind, directives=AOF, folder=folder)
    wait_until("the file is open", lambda: node.info("persistence")["aof_rewrite_in_progress"] == "0")
    dataset.fill(node, dataset.commands(SCALE))
    rewritten(node)
    compare.settle(node)
    node.call("SET", "behind", "the base")
    node.call("SELECT", "5")
    node.call("INCR", "elsewhere")
    return node


@pytest.mark.parametrize("reader", KINDS)
def test_others_start_from_our_file_and_we_go_on(lab: Lab, tmp_path: Path, reader: str) -> None:
    ours = filled(lab, "pyrepl", tmp_path / "node")
    before = compare.digest(ours)
    ours.kill()
    theirs = lab.start(reader, directives=AOF, folder=ours.folder)
    theirs.wait_loaded()
    assert compare.digest(theirs) == before
    theirs.call("SET", "written by", reader)
    theirs.terminate()
    again = lab.start("pyrepl", directives=AOF, folder=ours.folder)
    again.wait_loaded()
    assert again.call("GET", "written by") == reader.encode()
    assert ("it can be continued" in again.log()) is (reader == "pyrepl")


@pytest.mark.parametrize("reader", REAL)
def test_others_start_from_a_base_of_commands(lab: Lab, tmp_path: Path, reader: str) -> None:
    ours = lab.start("pyrepl", directives={**AOF, "aof-use-rdb-preamble": "no"}, folder=tmp_path / "node")
    dataset.fill(ours, dataset.commands(SCALE))
    compare.settle(ours)
    rewritten(ours)
    ours.kill()
    assert len(list((ours.folder / "appendonlydir").glob("*.base.aof"))) == 1
    again = lab.start("pyrepl", directives=AOF, folder=ours.folder)
    again.wait_loaded()
    before = compare.digest(again), compare.libraries(again)
    assert before[1].keys() == set(map(str.encode, dataset.LIBRARIES))
    again.kill()
    theirs = lab.start(reader, directives=AOF, folder=ours.folder)
    theirs.wait_loaded()
    assert (compare.digest(theirs), compare.libraries(theirs)) == before


@pytest.mark.parametrize("writer", REAL)
def test_we_start_from_theirs(lab: Lab, tmp_path: Path, writer: str) -> None:
    theirs = filled(lab, writer, tmp_path / "node")
    before = compare.digest(theirs)
    theirs.terminate()
    ours = lab.start("pyrepl", directives=AOF, folder=theirs.folder)
    ours.wait_loaded()
    assert compare.digest(ours) == before
    rewritten(ours)
    ours.terminate()
    again = lab.start(writer, directives=AOF, folder=theirs.folder)
    again.wait_loaded()
    assert compare.digest(again) == before


def test_redis_check_aof_accepts_it(lab: Lab, tmp_path: Path) -> None:
    ours = filled(lab, "pyrepl", tmp_path / "node")
    ours.kill()
    manifest = ours.folder / "appendonlydir" / "appendonly.aof.manifest"
    done = subprocess.run([finder.tool("redis-check-aof"), manifest], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert "All AOF files and manifest are valid" in done.stdout


def _seconds(node: Node) -> int:
    reply = node.call("TIME")
    assert isinstance(reply, list)
    return int(reply[0])


def test_their_tool_cuts_our_file_at_a_time(lab: Lab, tmp_path: Path) -> None:
    directives = {**AOF, "aof-timestamp-enabled": "yes"}
    ours = lab.start("pyrepl", directives=directives, folder=tmp_path / "node")
    ours.call("SET", "early", "1")
    until = _seconds(ours) + 1
    wait_until("it is later", lambda: _seconds(ours) > until)
    ours.call("SET", "late", "1")
    ours.kill()
    manifest = ours.folder / "appendonlydir" / "appendonly.aof.manifest"
    words = [str(finder.tool("redis-check-aof")), "--truncate-to-timestamp", str(until), str(manifest)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    again = lab.start("pyrepl", directives=directives, folder=ours.folder)
    again.wait_loaded()
    assert again.call("MGET", "early", "late") == [b"1", None]


@pytest.mark.parametrize("master", KINDS)
def test_a_killed_replica_continues_from_its_file_alone(lab: Lab, tmp_path: Path, master: str) -> None:
    one = lab.start(master, directives=BACKLOG)
    dataset.fill(one, dataset.commands(SCALE))
    two = lab.start("pyrepl", one, directives=AOF, folder=tmp_path / "two")
    two.wait_link_up()
    wait_until("the file follows", lambda: int(two.info("persistence")["aof_rewrites"]) > 0)
    one.call("SELECT", "3")
    one.call("SET", "written", "before")
    compare.settle(one, two)
    two.kill()
    one.call("SET", "written", "meanwhile")
    again = lab.start("pyrepl", one, directives=AOF, folder=two.folder, port=two.port)
    again.wait_link_up()
    compare.settle(one, again)
    compare.assert_equal(one, again)
    assert (one.stat("sync_full"), one.stat("sync_partial_ok")) == (1, 1)


@pytest.mark.parametrize("replica", KINDS)
def test_replicas_continue_after_their_master_was_killed(lab: Lab, tmp_path: Path, replica: str) -> None:
    one = lab.start("pyrepl", directives=AOF, folder=tmp_path / "one")
    dataset.fill(one, dataset.commands(SCALE))
    two = lab.start(replica, one, directives=BACKLOG)
    two.wait_link_up()
    one.call("SET", "written", "before")
    compare.settle(one, two)
    one.kill()
    again = lab.start("pyrepl", directives=AOF, folder=one.folder, port=one.port)
    two.wait_link_up()
    again.call("SET", "written", "afterwards")
    compare.settle(again, two)
    compare.assert_equal(again, two)
    assert (again.stat("sync_full"), again.stat("sync_partial_ok")) == (0, 1)


@pytest.mark.parametrize(("fsync", "end"), [("always", "pyrepl"), ("no", "redis8"), ("no", "valkey8")])
def test_each_node_of_a_chain_killed_in_turn(lab: Lab, tmp_path: Path, fsync: str, end: str) -> None:
    """SIGKILL under writes, an append-only file and no snapshot: nobody is sent the data anew.

    What a replica holds is in its master's file, since that is written first; what it lacks is read back from there.
    With everysec a write may wait for an fsync, and who got it before the kill is ahead of its master: a full resync.
    """
    directives = {**AOF, "appendfsync": fsync}
    chain = [lab.start("pyrepl", directives=directives, folder=tmp_path / "0")]
    dataset.fill(chain[0], dataset.commands(SCALE))
    for number, kind in enumerate(("pyrepl", end), start=1):
        follower = lab.start(kind, chain[-1], directives=directives, folder=tmp_path / str(number))
        follower.wait_link_up()
        wait_until("its file follows", partial(has_rewritten, follower))
        chain.append(follower)
    compare.settle(*chain)
    writing = Writing(chain[0], random.Random(4))
    for at in (0, 1, 2, 0) if end == "pyrepl" else (0, 1, 0):
        wait_until("some are written", partial(writing.has_written, writing.written + 400))
        old = chain[at]
        old.kill()
        master = chain[at - 1] if at else None
        chain[at] = lab.start("pyrepl", master, directives=directives, folder=old.folder, port=old.port)
        writing.root = chain[0]
        for node in chain[1:]:
            node.wait_link_up()
    wait_until("writes go on", partial(writing.has_written, writing.written + 400))
    writing.end()
    compare.settle(*chain)
    for node in chain[1:]:
        compare.assert_equal(chain[0], node)
    logs = "".join(path.read_text() for path in lab.folder.glob("*pyrepl.log"))
    assert len(re.findall(r"Full resync requested by replica \S+ \(cause", logs)) == 2, "those of the beginning"
