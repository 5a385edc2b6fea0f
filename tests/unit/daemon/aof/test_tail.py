"""The end of the append-only file: what the stream has is written and fsynced; let go of, the backlog keeps nothing."""

from __future__ import annotations

from pathlib import Path

from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.aof.tail import AofTail
from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_what_was_written_is_on_disk_before_the_reply(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True, appendfsync="always") as node:
        tail: AofTail = node.app.aof.tail
        await node.say("SET a 1")
        assert tail.cursor is not None and tail.cursor.at == node.app.node.stream_end
        assert node.app.node.persistence.aof.synced_cut == node.app.node.stream_end
        files: AofFiles = tail.files
        assert tail.incr in files.manifest.incrs and files.size(tail.incr.name) > 0


@in_loop
async def test_each_second_what_was_written_is_on_disk(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True, hz=100) as node:
        await node.say("SET a 1")
        end = node.app.node.stream_end
        await until(lambda: node.app.node.persistence.aof.synced_cut >= end, "an fsync")


@in_loop
async def test_let_go_of_it_holds_nothing_back(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        tail = node.app.aof.tail
        assert tail.is_on
        tail.let_go()
        assert tail.cursor is None and tail.incr is None and not tail.is_on
        # The base and the manifest may still be on their way.
        [incr] = (tmp_path / "appendonlydir").glob("*.incr.aof")
        written = incr.stat().st_size
        assert await node.say("SET a 1") == "OK"
        tail.flush()
        assert incr.stat().st_size == written


@in_loop
async def test_the_latency_monitor_hears_of_writes_and_fsyncs(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True, appendfsync="always") as node:
        monitor = node.app.node.latency_monitor
        await node.say("SET a 1")
        assert not monitor.series
        monitor.limit_s = 0.0
        await node.say("SET a 2")
        assert {"aof-write", "aof-fsync-always"} <= set(monitor.series)
