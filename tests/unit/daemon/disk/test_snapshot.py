"""The snapshot child: what it writes, how it reports, that it is reaped however it ends and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from pyrepl.daemon.disk.shared_seconds import SharedSeconds
from pyrepl.daemon.disk.snapshot import Outcome, Snapshot, Target, ToFile, ToReplicas, save_to_file
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.loader import Loader
from pyrepl.keyspace.values import HashValue
from pyrepl.node.node import Node
from pyrepl.rdb.reader import RdbLimits
from pyrepl.rdb.versions import numbered
from tests.unit.daemon.rig import bare_node, children, in_loop, job_of, open_fds, until

SLOW_US = 50_000
"""A key each so many microseconds: time to do something to the child."""


def node_with(keys: int, value: bytes = b"v") -> Node:
    node = bare_node()
    node.keyspace.databases[0].store.values.update({b"key:%d" % number: value for number in range(keys)})
    return node


def loaded(data: bytes) -> Keyspace:
    keyspace = Keyspace(16)
    loader = Loader(RdbLimits(), keyspace)
    loader.feed(data)
    loader.end()
    return keyspace


class Run:
    """One snapshot and what came of it."""

    def __init__(self, niceness: int = 0) -> None:
        self.outcomes: list[Outcome] = []
        self.progress: list[int] = []
        self.child = Snapshot(self.progress.append, self.outcomes.append, niceness)

    def start(self, node: Node, target: Target, delay_us: int = 0) -> None:
        self.child.start(job_of(node, key_save_delay_us=delay_us), target)

    async def outcome(self) -> Outcome:
        await until(lambda: self.outcomes, "the end of the child")
        assert children() == [], "reaped"
        assert len(self.outcomes) == 1
        return self.outcomes[0]


class TestToFile:
    @in_loop
    async def test_the_file_holds_the_data_of_the_moment_of_the_fork(self, tmp_path: Path) -> None:
        node = node_with(5000, b"x" * 100)
        before, run = open_fds(), Run()
        run.start(node, ToFile(tmp_path / "dump.rdb"))
        assert children() == [run.child.pid]
        node.keyspace.databases[0].store.values.clear()
        outcome = await run.outcome()
        assert outcome.error == "" and outcome.lost == {} and outcome.seconds > 0 and outcome.cow_bytes > 0
        assert len(loaded((tmp_path / "dump.rdb").read_bytes()).databases[0].store.values) == 5000
        assert os.listdir(tmp_path) == ["dump.rdb"]
        assert open_fds() <= before
        assert run.child.fork_us > 0

    @in_loop
    async def test_progress(self, tmp_path: Path) -> None:
        run = Run()
        run.start(node_with(5), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        await run.outcome()
        assert run.progress == sorted(run.progress) and 0 < run.progress[-1] <= 5 and len(run.progress) > 1

    @pytest.mark.parametrize("niceness", [0, 7])
    @in_loop
    async def test_it_stands_back_as_far_as_is_wanted(self, tmp_path: Path, niceness: int) -> None:
        run = Run(niceness)
        before = os.getpriority(os.PRIO_PROCESS, 0)
        run.start(node_with(100), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        pid = run.child.pid
        wanted = min(19, before + niceness)
        await until(lambda: os.getpriority(os.PRIO_PROCESS, pid) == wanted and run.progress, "the child has settled")
        assert os.sched_getscheduler(pid) == (os.SCHED_BATCH if niceness else os.sched_getscheduler(0))
        assert os.getpriority(os.PRIO_PROCESS, 0) == before
        run.child.kill("enough")
        await run.outcome()

    @in_loop
    async def test_killed(self, tmp_path: Path) -> None:
        (tmp_path / "dump.rdb").write_bytes(b"old")
        before, run = open_fds(), Run()
        run.start(node_with(100), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        await until(lambda: len(os.listdir(tmp_path)) == 2, "the temporary file")
        os.kill(run.child.pid, signal.SIGKILL)
        outcome = await run.outcome()
        assert outcome.error == "the child was killed by signal 9 (SIGKILL)"
        assert os.listdir(tmp_path) == ["dump.rdb"] and (tmp_path / "dump.rdb").read_bytes() == b"old"
        assert open_fds() <= before

    @in_loop
    async def test_killed_by_us_it_ends_with_our_reason(self, tmp_path: Path) -> None:
        run = Run()
        run.start(node_with(100), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        run.child.kill("nobody waits")
        run.child.kill("another reason")
        outcome = await run.outcome()
        assert outcome.error == "nobody waits"
        assert os.listdir(tmp_path) == []

    @in_loop
    async def test_the_end_of_the_node(self, tmp_path: Path) -> None:
        before, run = open_fds(), Run()
        run.start(node_with(100), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        run.child.kill_and_reap()
        assert children() == [] and open_fds() <= before

    @in_loop
    async def test_a_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        run = Run()
        run.start(node_with(1), ToFile(tmp_path / "no" / "dump.rdb"))
        assert (await run.outcome()).error == "No such file or directory"

    @in_loop
    async def test_data_that_the_version_cannot_hold(self, tmp_path: Path) -> None:
        node = node_with(1)
        node.keyspace.databases[0].put(b"h", HashValue({b"f": b"v"}, {b"f": 5}))
        run = Run()
        run.start(node, ToFile(tmp_path / "dump.rdb"))
        outcome = await run.outcome()
        assert outcome.error.startswith("CannotHold: key b'h'")
        assert os.listdir(tmp_path) == []

    def test_a_version_that_nobody_writes_is_refused_before_the_fork(self, tmp_path: Path) -> None:
        job = job_of(node_with(1))
        object.__setattr__(job, "version", numbered(999))
        before = open_fds()

        async def start() -> None:
            Run().child.start(job, ToFile(tmp_path / "dump.rdb"))

        with pytest.raises(ValueError, match="999"):
            asyncio.run(start())
        assert children() == [] and open_fds() <= before and os.listdir(tmp_path) == []

    @in_loop
    async def test_told_to_end_it_ends_and_an_interrupt_is_the_parents(self, tmp_path: Path) -> None:
        run = Run()
        run.start(node_with(1000), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        await until(lambda: run.progress, "the child has settled")
        os.kill(run.child.pid, signal.SIGINT)
        written = run.progress[-1]
        await until(lambda: run.progress[-1] > written, "it goes on")
        os.kill(run.child.pid, signal.SIGTERM)
        outcome = await run.outcome()
        assert outcome.error == "the child was killed by signal 15 (SIGTERM)"


class TestToReplicas:
    @in_loop
    async def test_several_replicas(self) -> None:
        pairs = [socket.socketpair() for _ in range(2)]
        for near, _ in pairs:
            near.setblocking(False)
        run = Run()
        heads = {near.fileno(): b"+HEAD\r\n" for near, _ in pairs}
        run.start(node_with(10), ToReplicas(heads, b"m" * 40, SharedSeconds(5.0)))
        assert (await run.outcome()).error == ""
        for near, far in pairs:
            near.close()
            with far, far.makefile("rb") as file:
                data = file.read()
            head = b"+HEAD\r\n$EOF:" + b"m" * 40 + b"\r\n"
            assert data.startswith(head) and data.endswith(b"m" * 40)
            assert len(loaded(data[len(head) : -40]).databases[0].store.values) == 10

    @in_loop
    async def test_a_pipe_leads_to_one_as_well(self) -> None:
        """Who empties it may do what the child cannot: encrypt."""
        reading, writing = os.pipe2(os.O_NONBLOCK)
        run = Run()
        run.start(node_with(3000, b"x" * 100), ToReplicas({writing: b"+HEAD\r\n"}, b"m" * 40, SharedSeconds(5.0)))
        os.close(writing)
        got: list[bytes] = []
        loop = asyncio.get_running_loop()
        loop.add_reader(reading, lambda: got.append(os.read(reading, 10_000)))
        await until(lambda: got and got[-1] == b"", "the end of the pipe")
        loop.remove_reader(reading)
        os.close(reading)
        outcome = await run.outcome()
        data, head = b"".join(got), b"+HEAD\r\n$EOF:" + b"m" * 40 + b"\r\n"
        assert outcome.error == "" and outcome.lost == {}
        assert data.startswith(head) and data.endswith(b"m" * 40)
        assert len(loaded(data[len(head) : -40]).databases[0].store.values) == 3000

    @in_loop
    async def test_one_is_lost(self) -> None:
        (near, far), (dead, other) = socket.socketpair(), socket.socketpair()
        for sock in (near, dead):
            sock.setblocking(False)
        other.close()
        run = Run()
        run.start(node_with(10), ToReplicas({near.fileno(): b"", dead.fileno(): b""}, b"m" * 40, SharedSeconds(5.0)))
        outcome = await run.outcome()
        assert outcome.error == "" and outcome.lost == {dead.fileno(): "Broken pipe"}
        for sock in (near, far, dead):
            sock.close()

    @in_loop
    async def test_all_are_lost(self) -> None:
        dead, other = socket.socketpair()
        dead.setblocking(False)
        other.close()
        run = Run()
        run.start(node_with(10), ToReplicas({dead.fileno(): b""}, b"m" * 40, SharedSeconds(5.0)))
        outcome = await run.outcome()
        assert outcome.error == "every replica waiting for the snapshot is gone"
        assert outcome.lost == {dead.fileno(): "Broken pipe"}
        dead.close()

    @in_loop
    async def test_the_child_keeps_no_socket_but_the_replicas(self, tmp_path: Path) -> None:
        """A connection that the parent closes while the child runs is really closed."""
        near, far = socket.socketpair()
        run = Run()
        run.start(node_with(100), ToFile(tmp_path / "dump.rdb"), SLOW_US)
        await until(lambda: len(os.listdir(tmp_path)) == 1, "the child to have settled in")
        near.close()
        far.settimeout(2)
        assert far.recv(1) == b""
        far.close()
        run.child.kill("enough")
        await run.outcome()


_PARENT = """
import asyncio, sys
from pathlib import Path
from pyrepl.daemon.disk.snapshot import Snapshot, ToFile
from tests.unit.daemon.rig import job_of
from tests.unit.daemon.disk.test_snapshot import node_with

async def main():
    child = Snapshot(lambda keys: None, lambda outcome: None)
    child.start(job_of(node_with(100), key_save_delay_us=50000), ToFile(Path(sys.argv[1])))
    print(child.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@in_loop
async def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[4])
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, str(tmp_path / "dump.rdb"), stdout=asyncio.subprocess.PIPE, cwd=root
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    await until(lambda: os.listdir(tmp_path), "the child to have settled in")
    parent.kill()
    await parent.wait()
    await until(lambda: not _runs(pid), "the end of the child")


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class TestSaveToFile:
    def test_in_this_very_process(self, tmp_path: Path) -> None:
        done: list[int] = []
        save_to_file(job_of(node_with(10)), tmp_path / "dump.rdb", done.append)
        assert done == [10] and len(loaded((tmp_path / "dump.rdb").read_bytes()).databases[0].store.values) == 10

    def test_a_failure_leaves_the_old_file(self, tmp_path: Path) -> None:
        (tmp_path / "dump.rdb").mkdir()
        with pytest.raises(OSError):
            save_to_file(job_of(node_with(10)), tmp_path / "dump.rdb", lambda done: None)
        assert os.listdir(tmp_path) == ["dump.rdb"]

    def test_the_delay_per_key(self, tmp_path: Path) -> None:
        began = time.monotonic()
        save_to_file(job_of(node_with(5), key_save_delay_us=20_000), tmp_path / "dump.rdb", lambda done: None)
        assert time.monotonic() - began >= 0.1
