"""dump.rdb read: at start, and by DEBUG RELOAD; what clients see meanwhile, and what a damaged file does."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
from pathlib import Path

import pytest

from pyrepl.config.kinds import MasterAddress
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import Files, append_whole, remove_leftovers
from pyrepl.errors import ConfigError, CorruptData
from pyrepl.node.node import Node
from tests.unit.daemon.rig import KeptLog, RunningNode, bare_node, in_loop, job_of, open_fds, running, until


def snapshot(keys: int = 100, expired: int = 0) -> bytes:
    """A file with so many keys, and some more whose time has passed."""
    node = bare_node()
    db = node.keyspace.databases[0]
    db.store.values.update({b"key:%d" % number: b"value" for number in range(keys)})
    for number in range(expired):
        db.store.values[b"old:%d" % number] = b"value"
        db.store.expires[b"old:%d" % number] = 1000
    return b"".join(block for block, _ in job_of(node).blocks())


class Desk:
    def __init__(self, folder: Path, data: bytes, **settings: object) -> None:
        self.path = folder / "dump.rdb"
        self.path.write_bytes(data)
        self.node: Node = bare_node(**settings)
        self.kept = KeptLog()
        self.files = Files(self.node, Clock(), self.kept.log)

    @property
    def keys(self) -> int:
        return len(self.node.keyspace.databases[0].store.values)


class TestAtStart:
    @in_loop
    async def test_the_figures(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, snapshot(100, expired=3))
        before = open_fds()
        loader = await desk.files.load_at_start(desk.path)
        assert loader is not None and desk.keys == 100
        persistence = desk.node.persistence
        assert (persistence.last_load_keys_loaded, persistence.last_load_keys_expired) == (100, 3)
        assert persistence.loading is None and not desk.node.conditions.guarded
        assert desk.kept.has("keys loaded: 100, keys expired: 3") and desk.kept.has("DB loaded from disk")
        assert open_fds() <= before

    @in_loop
    async def test_no_file(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, b"")
        desk.path.unlink()
        assert await desk.files.load_at_start(desk.path) is None

    @in_loop
    async def test_a_replica_to_be_keeps_what_has_expired(self, tmp_path: Path) -> None:
        """Its master says when a key goes."""
        desk = Desk(tmp_path, snapshot(1, expired=3), replicaof=MasterAddress("h", 1))
        await desk.files.load_at_start(desk.path)
        assert desk.keys == 4

    @in_loop
    async def test_clients_are_served_between_slices(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, snapshot(1000), loading_process_events_interval_bytes=1024, key_load_delay=100)
        task = asyncio.get_running_loop().create_task(desk.files.load(desk.path, desk.node.keyspace))
        seen = set()
        while not task.done():
            await asyncio.sleep(0)
            loading = desk.node.persistence.loading
            if loading is not None:
                assert desk.node.is_loading and loading.total_bytes == desk.path.stat().st_size
                seen.add((loading.loaded_bytes, loading.loaded_keys))
        assert len(seen) > 5 and sorted(seen) == sorted(seen, key=lambda item: item[1])
        await task

    @pytest.mark.parametrize("size", [0, 5, 9, 200, -9, -1])
    def test_a_cut_file(self, tmp_path: Path, size: int) -> None:
        @in_loop
        async def run() -> None:
            desk = Desk(tmp_path, snapshot()[: size or None] if size else b"")
            with pytest.raises(ConfigError, match=r"Fatal error loading the DB from .*The file was left as it is"):
                await desk.files.load_at_start(desk.path)
            assert desk.node.persistence.loading is None and desk.path.exists()

        run()

    @in_loop
    async def test_a_directory_in_its_place(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, b"")
        desk.path.unlink()
        desk.path.mkdir()
        with pytest.raises(ConfigError, match="Is a directory"):
            await desk.files.load_at_start(desk.path)

    @in_loop
    async def test_one_flipped_bit(self, tmp_path: Path) -> None:
        data = bytearray(snapshot())
        data[len(data) // 2] ^= 1
        with pytest.raises(ConfigError):
            await Desk(tmp_path, bytes(data)).files.load_at_start(tmp_path / "dump.rdb")

    @in_loop
    async def test_the_checksum_can_be_left_unread(self, tmp_path: Path) -> None:
        data = snapshot()[:-1] + b"\xff"
        with pytest.raises(ConfigError, match=r"(?i)checksum"):
            await Desk(tmp_path, data).files.load_at_start(tmp_path / "dump.rdb")
        desk = Desk(tmp_path, data, rdbchecksum=False)
        await desk.files.load_at_start(desk.path)
        assert desk.keys == 100

    @in_loop
    async def test_more_databases_than_there_are(self, tmp_path: Path) -> None:
        node = bare_node()
        node.keyspace.databases[7].store.values[b"a"] = b"b"
        data = b"".join(block for block, _ in job_of(node).blocks())
        with pytest.raises(ConfigError, match=r"database"):
            await Desk(tmp_path, data, databases=4).files.load_at_start(tmp_path / "dump.rdb")


class TestReload:
    def test_into_emptied_databases(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, snapshot(5))
        desk.node.keyspace.databases[0].store.values[b"other"] = b"x"
        desk.files.reload(desk.path, flush=True, merge=False)
        assert desk.keys == 5

    def test_without_flushing_a_key_twice_is_an_error(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, snapshot(5))
        desk.node.keyspace.databases[0].store.values[b"key:1"] = b"x"
        with pytest.raises(CorruptData, match="key:1"):
            desk.files.reload(desk.path, flush=False, merge=False)

    def test_merged_the_file_wins(self, tmp_path: Path) -> None:
        desk = Desk(tmp_path, snapshot(5))
        db = desk.node.keyspace.databases[0]
        db.store.values.update({b"key:1": b"x", b"other": b"x"})
        db.store.expires[b"key:1"] = 1 << 60
        desk.files.reload(desk.path, flush=False, merge=True)
        assert desk.keys == 6 and db.store.values[b"key:1"] == b"value" and db.store.expires == {}

    @in_loop
    async def test_by_a_client(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.say("SET a 1")
            await peer.say("HSET h f v")
            digest = await peer.say("DEBUG DIGEST")
            assert await peer.say("DEBUG RELOAD") == "OK"
            assert await peer.say("DEBUG DIGEST") == digest
            (tmp_path / "dump.rdb").write_bytes(b"nonsense")
            assert await peer.error("DEBUG RELOAD NOSAVE NOFLUSH") == (
                "ERR Error trying to load the RDB dump, check server logs."
            )


@in_loop
async def test_what_clients_hear_during_a_load(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(snapshot(300))
    node = RunningNode(tmp_path, loading_process_events_interval_bytes=1024, key_load_delay=500)
    starting = asyncio.get_running_loop().create_task(node.start())
    await until(lambda: node.app.node.is_loading, "the load")
    peer = await node.peer()
    assert str(await peer.say("GET key:1")).startswith("LOADING ")
    assert "loading:1" in (await peer.say("INFO persistence")).decode()
    await starting
    assert await peer.say("DBSIZE") == 300
    await node.stop()


def test_leftovers_of_the_dead_go(tmp_path: Path) -> None:
    dead, zombie = subprocess.Popen(["true"]), subprocess.Popen(["true"])
    dead.wait()
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    mine = (f"temp-{os.getppid()}.rdb", "temp-x.rdb", "dump.rdb")
    theirs = (f"temp-{dead.pid}.rdb", f"temp-1700000000.{dead.pid}.rdb", f"temp-{zombie.pid}.rdb")
    for name in (*theirs, f"temp-{os.getpid()}.rdb", *mine):
        (tmp_path / name).write_bytes(b"half")
    remove_leftovers(tmp_path)
    zombie.wait()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(mine)


@pytest.mark.parametrize(("policy", "asked", "least"), [("lru", "IDLETIME", 1), ("lfu", "FREQ", 5)])
def test_access_times_and_frequencies_come_with_the_keys(tmp_path: Path, policy: str, asked: str, least: int) -> None:
    """Of a snapshot of redis-server 7.0.15 with that policy."""

    @in_loop
    async def run() -> None:
        dump = Path(__file__).resolve().parents[3] / "data" / f"redis-7.0-{policy}.rdb"
        (tmp_path / "dump.rdb").write_bytes(dump.read_bytes())
        async with running(tmp_path, None, maxmemory_policy=f"allkeys-{policy}") as node:
            for key in ("a", "b", "l"):
                assert await node.say(f"OBJECT {asked} {key}") >= least

    run()


def test_what_does_not_fit_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        append_whole(fd, b", then", 6)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
        with pytest.raises(OSError):
            append_whole(fd, b"too much of it", 12)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        os.close(fd)
    assert path.read_bytes() == b"before, then"
