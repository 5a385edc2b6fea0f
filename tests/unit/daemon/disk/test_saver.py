"""Snapshots of a node: one child at a time, what became of it in INFO and the log, save points, a file's fields."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.saver import Saver, packing_of
from pyrepl.daemon.disk.snapshot import Outcome, ToFile
from pyrepl.daemon.signals import Signals
from pyrepl.node.node import Node
from pyrepl.node.persistence import Loading
from pyrepl.rdb.versions import numbered
from pyrepl.replication.events import OtherChild
from pyrepl.replication.replconf import Exclusion
from tests.peers import finder
from tests.peers.wire import encode
from tests.unit.daemon.rig import KeptLog, bare_node, children, in_loop, open_fds, running, until

SLOW = 20_000
"""rdb-key-save-delay in µs."""


class Desk:
    """A Saver for a bare node with some keys, in the working directory `folder`."""

    def __init__(self, folder: Path, keys: int = 3, **settings: object) -> None:
        os.chdir(folder)
        self.node: Node = bare_node(**settings)
        self.node.keyspace.databases[0].store.values.update({b"key:%d" % number: b"v" for number in range(keys)})
        self.kept = KeptLog()
        signals = Signals()
        self.saver = Saver(self.node, signals, Clock(), self.kept.log, lambda record: None)
        self.others: list[OtherChild | None] = []
        signals.other_child.subscribe(self.others.append)

    async def done(self) -> None:
        await until(lambda: not self.saver.is_busy, "the end of the child")
        assert children() == []


class TestBgsave:
    @in_loop
    async def test_what_info_says_during_and_after(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, rdb_key_save_delay=SLOW)
        persistence = desk.node.persistence
        desk.node.latency_monitor.limit_s = 0.0
        desk.node.keyspace.dirty = 7
        assert desk.saver.bgsave()
        desk.node.keyspace.dirty = 9
        assert desk.saver.is_busy and desk.others == [OtherChild.BGSAVE]
        assert persistence.child_pid == children()[0] and persistence.bgsave_target == "disk"
        assert persistence.bgsave_started_at is not None and persistence.child_keys_total == 3
        await desk.done()
        assert persistence.child_pid is None and persistence.bgsave_started_at is None
        assert persistence.last_bgsave_ok and persistence.dirty_at_last_save == 7 and persistence.saves == 1
        assert desk.others == [OtherChild.BGSAVE, None]
        assert desk.node.stats.total_forks == 1 and desk.node.stats.latest_fork_usec > 0
        assert list(desk.node.latency_monitor.series) == ["fork"]
        assert desk.kept.has("Background saving terminated with success")
        assert os.listdir(tmp_path) == ["dump.rdb"]

    @in_loop
    async def test_a_killed_child(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, keys=100, rdb_key_save_delay=SLOW)
        (tmp_path / "dump.rdb").write_bytes(b"old")
        before = open_fds()
        desk.saver.bgsave()
        os.kill(children()[0], signal.SIGKILL)
        await desk.done()
        assert not desk.node.persistence.last_bgsave_ok and desk.node.conditions.guarded
        assert (tmp_path / "dump.rdb").read_bytes() == b"old" and os.listdir(tmp_path) == ["dump.rdb"]
        assert open_fds() <= before
        assert desk.others == [OtherChild.BGSAVE, None]

    @in_loop
    async def test_the_next_good_one_mends_it(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        (tmp_path / "dump.rdb").mkdir()
        desk.saver.bgsave()
        await desk.done()
        assert not desk.node.persistence.last_bgsave_ok
        (tmp_path / "dump.rdb").rmdir()
        desk.saver.bgsave()
        await desk.done()
        assert desk.node.persistence.last_bgsave_ok and not desk.node.conditions.guarded

    @in_loop
    async def test_stopped_with_a_reason(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, keys=100, rdb_key_save_delay=SLOW)
        outcomes: list[Outcome] = []
        job = desk.saver.job()
        assert desk.saver.start(ToFile(desk.saver.dump_path), job, outcomes.append, for_replicas=True)
        desk.saver.kill("nobody waits")
        await desk.done()
        assert [outcome.error for outcome in outcomes] == ["nobody waits"]
        assert desk.node.persistence.last_bgsave_ok, "what nobody needs has not failed"
        assert not desk.node.conditions.guarded
        assert desk.others == [], "a child for replicas is not another one's"

    @in_loop
    async def test_the_end_of_the_node(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, keys=100, rdb_key_save_delay=SLOW)
        before = open_fds()
        desk.saver.bgsave()
        desk.saver.stop()
        assert desk.node.persistence.last_bgsave_ok
        assert children() == [] and open_fds() <= before and not desk.saver.is_busy


class TestSave:
    @in_loop
    async def test_in_the_node_itself(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        desk.node.keyspace.dirty = 7
        assert desk.saver.save() == ""
        assert desk.node.persistence.dirty_at_last_save == 7 and desk.kept.has("DB saved on disk")
        assert desk.node.stats.total_forks == 0

    @in_loop
    async def test_a_failure(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        (tmp_path / "dump.rdb").mkdir()
        assert "directory" in desk.saver.save()
        assert not desk.node.persistence.last_bgsave_ok and desk.node.conditions.guarded
        assert os.listdir(tmp_path) == ["dump.rdb"]

    @in_loop
    async def test_the_real_checker_accepts_it(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        desk.node.replication.backlog.create()
        desk.saver.save()
        checked = subprocess.run([finder.tool("redis-check-rdb"), "dump.rdb"], capture_output=True, text=True)
        assert checked.returncode == 0 and "RDB looks OK" in checked.stdout, checked.stdout
        for text in ("redis-ver = '7.0.15'", "repl-id = 'a", "repl-offset = '0'", "repl-stream-db = '0'"):
            assert text in checked.stdout


class TestDue:
    @in_loop
    async def test_a_save_point(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, save=((3600, 1), (10, 5)))
        persistence = desk.node.persistence
        persistence.last_save_unix_s = Clock().unix_ms() // 1000 - 11
        desk.node.keyspace.dirty = 4
        desk.saver.tick(Clock().now())
        assert not desk.saver.is_busy
        desk.node.keyspace.dirty = 5
        desk.saver.tick(Clock().now())
        assert desk.saver.is_busy and desk.kept.has("5 changes in 10 seconds. Saving...")
        desk.saver.tick(Clock().now())
        await desk.done()
        desk.saver.tick(Clock().now())
        assert not desk.saver.is_busy and persistence.saves == 1

    @in_loop
    async def test_after_a_failure_not_at_once_again(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, save=((1, 1),))
        (tmp_path / "dump.rdb").mkdir()
        desk.node.persistence.last_save_unix_s = 0
        desk.node.keyspace.dirty = 1
        desk.saver.tick(Clock().now())
        await desk.done()
        desk.saver.tick(Clock().now())
        assert not desk.saver.is_busy and desk.node.stats.total_forks == 1

    @in_loop
    async def test_scheduled(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path)
        desk.saver.bgsave()
        desk.saver.schedule()
        await desk.done()
        desk.saver.tick(Clock().now())
        assert desk.saver.is_busy
        await desk.done()
        desk.saver.tick(Clock().now())
        assert not desk.saver.is_busy

    @in_loop
    async def test_not_while_something_loads(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, save=((1, 1),))
        desk.node.persistence.last_save_unix_s = 0
        desk.node.keyspace.dirty = 1
        desk.saver.schedule()
        desk.node.persistence.loading = Loading(1.0, 1, 1, asynchronous=False)
        desk.saver.tick(Clock().now())
        assert not desk.saver.is_busy
        desk.node.persistence.loading = None
        desk.saver.tick(Clock().now())
        assert desk.saver.is_busy
        await desk.done()


class TestFlush:
    @pytest.mark.parametrize("save", ["3600 1", ""])
    def test_what_was_flushed_does_not_come_back(self, tmp_path: Path, save: str) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path, rdb_key_save_delay=SLOW, hz=100) as node:
                await node.say("DEBUG POPULATE 100")
                operator = await node.peer()
                assert await operator.call("CONFIG", "SET", "save", save) == "OK"
                assert await operator.say("BGSAVE") == "Background saving started"
                assert await operator.say("FLUSHALL") == "OK"
                changes = await node.info("rdb_changes_since_last_save")
                assert (changes == "0") == bool(save), "with save points an empty file is there at once"
                assert node.app.node.persistence.saves == bool(save)
                await until(lambda: not node.app.saver.is_busy, "the end of the child")
                assert node.app.node.persistence.last_bgsave_ok, "what nobody needs has not failed"
                assert os.listdir(tmp_path) == (["dump.rdb"] if save else [])
                assert await operator.say("DBSIZE") == 0

        run()


class TestJob:
    @in_loop
    async def test_as_the_directives_say(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, rdb_version=9, rdbcompression=False, rdbchecksum=False, rdb_key_save_delay=5)
        job = desk.saver.job()
        assert (job.version, job.compress, job.checksum, job.key_save_delay_us) == (numbered(9), False, False, 5)
        assert desk.saver.job(numbered(12)).version == numbered(12)

    @in_loop
    async def test_what_is_excluded_is_left_out(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, keys=3)
        desk.node.functions.take([b"#!lua name=f"])
        for excluded, functions, keys in (
            (Exclusion.NONE, 1, 3),
            (Exclusion.DATA, 1, 0),
            (Exclusion.FUNCTIONS, 0, 3),
            (Exclusion.DATA | Exclusion.FUNCTIONS, 0, 0),
        ):
            job = desk.saver.job(excluded=excluded)
            assert (len(job.functions), job.key_count) == (functions, keys)

    @in_loop
    async def test_the_lowest_version_that_holds_the_data(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            assert node.app.saver.job().version == numbered(10)
            await node.say("HSET h f v")
            await node.say("HPEXPIRE h 100000 FIELDS 1 f")
            assert node.app.saver.job().version == numbered(12)

    def test_packing(self) -> None:
        packing = packing_of(Settings(set_max_intset_entries=7, hash_max_listpack_value=9))
        assert (packing.set_max_intset_entries, packing.hash_max_listpack_value) == (7, 9)


@in_loop
async def test_writes_go_on_during_a_snapshot(tmp_path: Path) -> None:
    async with running(tmp_path, rdb_key_save_delay=2000) as node:
        await node.say("DEBUG POPULATE 50")
        peer = await node.peer()
        # In one piece, so that all of it happens while the child is at work.
        peer.write(encode(["BGSAVE"]) * 2 + b"".join(encode(["SET", f"key:{number}", "new"]) for number in range(50)))
        assert await peer.read() == "Background saving started"
        assert str(await peer.read()) == "ERR Background save already in progress"
        assert [await peer.read() for _ in range(50)] == ["OK"] * 50
        await until(lambda: not node.app.saver.is_busy)
        assert await node.say("DEBUG RELOAD NOSAVE") == "OK"
        assert await node.say("GET key:7") == b"value:7"


@in_loop
async def test_a_save_point(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100, save=((1, 2),)) as node:
        node.app.node.persistence.last_save_unix_s -= 10
        await node.say("MSET a 1 b 2")
        await until(lambda: (tmp_path / "dump.rdb").exists())
