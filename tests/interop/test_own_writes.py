"""What clients wrote to a writable replica outlives it in its append-only file, and so does its place in the stream.

A real Redis 8.2, writable as well and never restarted, is given the same writes at the same cuts of the stream: it says
what the data must be.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.interop.pair import BACKLOG
from tests.peers import compare, finder
from tests.peers.kinds import REAL
from tests.peers.lab import Lab, Node, wait_until

WRITABLE = {**BACKLOG, "replica-read-only": "no"}
AOF = {**WRITABLE, "appendonly": "yes", "appendfsync": "no"}
"""Not everysec: there a write waits while an fsync runs, as in Redis, and a SIGKILL takes it."""
STEPS = 120
TOUCH = "redis.call('SET', KEYS[1], ARGV[1]); redis.call('SELECT', 4); return redis.call('INCR', KEYS[1])"


def masters_words(random: Random) -> list[list[str]]:
    """What a client of the master says next."""
    key = f"master:{random.randrange(5)}"
    return random.choice(
        (
            [["SELECT", str(random.randrange(3))]],
            [["SET", key, str(random.randrange(100))]],
            [["RPUSH", "masters", "x" * random.randrange(200)]],
            [["MULTI"], ["INCR", "masters:count"], ["HSET", "masters:hash", key, "1"], ["EXEC"]],
            [["DEL", key, "own:1"]],
        )
    )


def own_words(random: Random) -> list[list[str]]:
    """What a client of the replicas says next."""
    key = f"own:{random.randrange(5)}"
    return random.choice(
        (
            [["SELECT", str(random.randrange(4))]],
            [["SELECT", str(random.randrange(4))], ["INCR", "own:count"]],
            [["SET", key, "v" * random.randrange(100)]],
            [["SET", key, "gone", "PX", "1"], ["WAITS"], ["APPEND", key, "new"]],
            [["MULTI"], ["LPUSH", "own:list", "a"], ["SELECT", "3"], ["LPUSH", "own:list", "b"], ["EXEC"]],
            [["EVAL", TOUCH, "1", "own:script", str(random.randrange(9))]],
            [["SET", "master:1", "mine"]],
            [["DEL", key]],
        )
    )


def say(nodes: list[Node], commands: list[list[str]]) -> None:
    for node in nodes:
        for words in commands:
            if words == ["WAITS"]:
                wait_until("the time is over", partial(_is_over, node, commands[0][1]))
            else:
                node.call(*words)


def _is_over(node: Node, key: str) -> bool:
    return bool(node.call("EXISTS", key) == 0)


def _has_all(node: Node, master: Node) -> bool:
    return node.offset() == master.offset()


@pytest.mark.parametrize("stamped", ["no", "yes"])
@pytest.mark.parametrize("kind", ["pyrepl", "redis8"])
def test_a_killed_replica_has_its_own_writes_and_goes_on(lab: Lab, tmp_path: Path, kind: str, stamped: str) -> None:
    random = Random(f"{kind} {stamped}")
    master = lab.start(kind, directives=BACKLOG)
    master.call("SET", "master:1", "first")
    control = lab.start("redis8", master, WRITABLE)
    directives = {**AOF, "aof-timestamp-enabled": stamped}
    ours = lab.start("pyrepl", master, directives, folder=tmp_path / "ours")
    for node in (control, ours):
        node.wait_link_up()
    wait_until("the file is written", lambda: ours.info("persistence")["aof_rewrite_in_progress"] == "0")
    full = master.stat("sync_full")
    for life in range(3):
        for _ in range(STEPS):
            say([master], masters_words(random))
            for node in (control, ours):
                wait_until("it has caught up", partial(_has_all, node, master), 20)
            say([control, ours], own_words(random))
        before = compare.digest(ours)
        assert before == compare.digest(control)
        ours.kill()
        copy = tmp_path / f"copy {life}"
        shutil.copytree(tmp_path / "ours", copy)
        lines = b"".join(path.read_bytes() for path in copy.glob("*/*.incr.aof"))
        assert b"\n#OWN:" in lines and (b"#TS:" in lines) is (stamped == "yes")
        manifest = copy / "appendonlydir" / "appendonly.aof.manifest"
        done = subprocess.run([finder.tool("redis-check-aof"), manifest], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
        reader = lab.start(REAL[life % len(REAL)], directives={**BACKLOG, "appendonly": "yes"}, folder=copy)
        reader.wait_loaded()
        assert compare.digest(reader) == before
        reader.terminate()
        say([master], [["SELECT", "1"], ["SET", "while it was", "away"], ["SELECT", "0"]])
        ours = lab.start("pyrepl", master, directives, folder=tmp_path / "ours")
        ours.wait_link_up()
        wait_until("it has caught up", partial(_has_all, ours, master))
        control.call("SELECT", "0")
    wait_until("both have caught up", partial(_has_all, control, master))
    assert compare.digest(ours) == compare.digest(control)
    assert master.stat("sync_full") == full, "each start went on where the file ended"
