"""The append-only file and everything that goes wrong: killed at any moment, no room on the disk, bytes that rot."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.fault.processes import snapshot_child
from tests.peers import compare
from tests.peers.lab import Lab, LabError, Node, wait_until
from tests.peers.wire import ErrorReply, encode

AOF = {"appendonly": "yes", "appendfsync": "no"}
"""Not everysec: there a write waits while an fsync runs, as in Redis, and a SIGKILL takes it."""


def files(node: Node, pattern: str) -> list[Path]:
    return sorted((node.folder / "appendonlydir").glob(pattern))


def again(lab: Lab, node: Node, directives: dict[str, str] | None = None) -> Node:
    """Its successor in the same folder, loaded."""
    fresh = lab.start("pyrepl", directives=directives or AOF, folder=node.folder)
    fresh.wait_loaded()
    return fresh


def test_always_keeps_every_write_that_was_acknowledged(lab: Lab, tmp_path: Path) -> None:
    rng = random.Random(7)
    always = {**AOF, "appendfsync": "always"}
    node = lab.start("pyrepl", directives=always, folder=tmp_path / "node")
    acknowledged = 0
    for _ in range(3):
        until = time.monotonic() + rng.uniform(0.05, 0.3)
        while time.monotonic() < until:
            acknowledged += 1
            assert node.call("RPUSH", "list", acknowledged) == acknowledged
        node.kill()
        node = again(lab, node, always)
        assert node.call("LLEN", "list") == acknowledged


def test_killed_in_the_middle_of_a_rewrite(lab: Lab, tmp_path: Path) -> None:
    node = lab.start("pyrepl", directives={**AOF, "rdb-key-save-delay": "20000"}, folder=tmp_path / "node")
    for number in range(200):
        node.call("SET", f"key:{number}", number)
    node.call("BGREWRITEAOF")
    snapshot_child(node)
    node.call("SET", "during", "the rewrite")
    digest = compare.digest(node)
    node.kill()
    node = again(lab, node)
    assert compare.digest(node) == digest
    assert len(files(node, "*.incr.aof")) == 2
    node.call("BGREWRITEAOF")
    wait_until("the rewrite", lambda: node.info("persistence")["aof_rewrites"] == "1")
    assert len(files(node, "*.incr.aof")) == len(files(node, "*.base.rdb")) == 1
    assert compare.digest(again(lab, _killed(node))) == digest


def test_a_rewrite_whose_child_is_killed_leaves_what_was(lab: Lab, tmp_path: Path) -> None:
    node = lab.start("pyrepl", directives={**AOF, "rdb-key-save-delay": "20000"}, folder=tmp_path / "node")
    for number in range(100):
        node.call("SET", f"key:{number}", number)
    node.call("BGREWRITEAOF")
    snapshot_child(node).kill()
    wait_until("it is noticed", lambda: node.info("persistence")["aof_last_bgrewrite_status"] == "err")
    node.call("SET", "after", "it")
    digest = compare.digest(node)
    assert compare.digest(again(lab, _killed(node))) == digest
    assert files(node, "temp*") == []


def test_no_room_stops_writes_until_there_is_some(lab: Lab, tmp_path: Path) -> None:
    node = lab.start("pyrepl", directives=AOF, folder=tmp_path / "node")
    node.call("SET", "a", "1")
    process = psutil.Process(node.process.pid)
    process.rlimit(psutil.RLIMIT_FSIZE, (2000, psutil.RLIM_INFINITY))
    for words in (("SET", "big", b"x" * 5000), ("SET", "b", "2")):
        with node.connect() as client, pytest.raises(ErrorReply, match=r"^MISCONF Errors writing to the AOF file: "):
            client.call(*words)
    process.rlimit(psutil.RLIMIT_FSIZE, (-1, psutil.RLIM_INFINITY))
    wait_until("it is written", lambda: node.info("persistence")["aof_last_write_status"] == "ok")
    node.call("SET", "b", "2")
    digest = compare.digest(node)
    assert compare.digest(again(lab, _killed(node))) == digest


def test_what_was_answered_is_there_though_the_disk_was_full(lab: Lab, tmp_path: Path) -> None:
    """Values of a megabyte into three, by clients that pipeline; SIGKILL."""
    node = lab.start("pyrepl", directives=AOF, folder=tmp_path / "node")
    psutil.Process(node.process.pid).rlimit(psutil.RLIMIT_FSIZE, (3_000_000, psutil.RLIM_INFINITY))
    answered = [number for number in range(0, 10, 2) for number in _set_two(node, number)]
    assert 1 <= len(answered) < 4
    node = again(lab, _killed(node))
    assert [number for number in answered if node.call("STRLEN", f"key:{number}") != 1_000_000] == []


def _set_two(node: Node, number: int) -> list[int]:
    """Which of two writes sent together were answered with OK."""
    with node.connect() as client:
        for one in (number, number + 1):
            client.send(encode(("SET", f"key:{one}", b"x" * 1_000_000)))
        answered = []
        with suppress(ConnectionError, ErrorReply):
            for one in (number, number + 1):
                if client.read() == "OK":
                    answered.append(one)
        return answered


def test_a_tail_torn_anywhere_is_cut_and_told(lab: Lab, tmp_path: Path) -> None:
    node = lab.start("pyrepl", directives=AOF, folder=tmp_path / "node")
    node.call("SET", "a", "1")
    wait_until("it is written", lambda: b"SET" in files(node, "*.incr.aof")[-1].read_bytes())
    node.kill()
    path = files(node, "*.incr.aof")[-1]
    whole = path.read_bytes()
    for torn in (b"*", b"*3\r\n$3\r\nSET\r\n$1\r\n", b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n9\r\n"):
        path.write_bytes(whole + torn)
        node = again(lab, node)
        assert f"ends at byte {len(whole)}; truncated there, {len(torn)} bytes" in node.log()
        assert node.call("GET", "a") == b"1"
        node.kill()
        assert path.read_bytes() == whole


def test_rot_in_the_middle_is_refused_with_its_byte(lab: Lab, tmp_path: Path) -> None:
    node = lab.start("pyrepl", directives=AOF, folder=tmp_path / "node")
    node.call("SET", "a", "1")
    node.terminate()
    path = files(node, "*.incr.aof")[-1]
    rotten = path.read_bytes() + b"\0\0\0\0\r\n" + path.read_bytes()
    path.write_bytes(rotten)
    with pytest.raises(LabError, match=r"(?s)Bad file format.*at byte \d+.*redis-check-aof"):
        again(lab, node)
    assert path.read_bytes() == rotten


def _killed(node: Node) -> Node:
    node.kill()
    return node
