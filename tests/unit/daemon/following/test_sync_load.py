"""The three ways to load a master's snapshot: what becomes of the old data, and what each fault is called."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.disk.files import Files
from pyrepl.daemon.following.sync_load import BesideLoad, DirectLoad, FileLoad, SyncLoad, choose, why_not_loaded
from pyrepl.errors import CorruptData
from pyrepl.keyspace.loader import Loader
from pyrepl.node.node import Node
from pyrepl.replication.link import OldData
from pyrepl.units import Offset, ReplId
from tests.unit.daemon.disk.test_files import snapshot
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop, open_fds, until

WAYS = ["disabled", "on-empty-db", "swapdb"]
TOO_NEW = b"REDIS9999" + snapshot()[9:]


class Sync:
    """A load into a node with two keys of its own, in the working directory `folder`."""

    def __init__(self, folder: Path, way: str, *, own: int = 2, replid: str | None = None, **settings: object) -> None:
        """`replid` is that of the snapshot; None for the node's own."""
        os.chdir(folder)
        self.node: Node = bare_node(repl_diskless_load=way, **settings)
        self.kept = KeptLog()
        self.replid = ReplId(replid or self.node.replication.history.replid)
        self.done: list[Loader] = []
        self.failed: list[tuple[str, str]] = []
        self.keys_when_emptied: list[int] = []
        # on-empty-db wants an empty node to choose the direct load.
        self.load = self._choose()
        self.node.keyspace.databases[0].store.values.update({b"own:%d" % number: b"x" for number in range(own)})

    @property
    def keys(self) -> int:
        return len(self.node.keyspace.databases[0].store.values)

    def feed(self, data: bytes, step: int = 700) -> None:
        for at in range(0, len(data), step):
            self.load.feed(data[at : at + step])

    async def over(self) -> None:
        await until(lambda: self.done or self.failed, "the end of the load")
        assert len(self.done) + len(self.failed) == 1
        assert self.node.persistence.loading is None and not self.node.is_loading

    def _choose(self) -> SyncLoad:
        files = Files(self.node, Clock(), self.kept.log)
        fail: Callable[[str, str], None] = lambda word, text: self.failed.append((word, text))  # noqa: E731
        return choose(self.node, files, self.kept.log, self.replid, None, self.done.append, fail, self._emptying)

    def _emptying(self) -> None:
        self.keys_when_emptied.append(self.keys)


class TestChoice:
    @pytest.mark.parametrize(
        ("way", "kind", "promise"),
        [
            ("disabled", FileLoad, OldData.GOES_AT_LAST_BYTE),
            ("on-empty-db", DirectLoad, OldData.GOES_AT_FIRST_BYTE),
            ("swapdb", BesideLoad, OldData.STAYS_UNTIL_LOADED),
        ],
    )
    def test_by_directive(self, tmp_path: Path, way: str, kind: type, promise: OldData) -> None:
        @in_loop
        async def run() -> None:
            sync = Sync(tmp_path, way)
            assert type(sync.load) is kind and sync.load.old_data is promise
            sync.load.abandon()

        run()

    @in_loop
    async def test_on_empty_db_with_data_is_by_way_of_a_file(self, tmp_path: Path) -> None:
        sync = Sync(tmp_path, "on-empty-db")
        sync.load.abandon()
        sync.node.keyspace.databases[3].store.values[b"a"] = b"1"
        load = sync._choose()
        assert isinstance(load, FileLoad)
        load.abandon()


class TestGood:
    @pytest.mark.parametrize("way", WAYS)
    def test_the_new_data_and_nothing_else(self, tmp_path: Path, way: str) -> None:
        @in_loop
        async def run() -> None:
            before = open_fds()
            sync = Sync(tmp_path, way, own=0 if way == "on-empty-db" else 2)
            sync.feed(snapshot(200))
            sync.load.end()
            await sync.over()
            assert sync.failed == [] and sync.keys == 200
            assert sync.done[0].loaded_keys == sync.node.persistence.last_load_keys_loaded == 200
            assert os.listdir(tmp_path) == (["dump.rdb"] if way == "disabled" else [])
            await until(lambda: open_fds() <= before, "the descriptors to be closed, that of a late fsync too")

        run()

    @in_loop
    async def test_the_file_becomes_the_dump(self, tmp_path: Path) -> None:
        sync = Sync(tmp_path, "disabled")
        sync.feed(snapshot(200))
        assert sync.keys == 2, "the old data is served until the last byte"
        sync.load.end()
        await sync.over()
        assert (tmp_path / "dump.rdb").read_bytes() == snapshot(200)
        assert sync.keys_when_emptied == [2], "told before the old data goes"

    @in_loop
    async def test_beside_the_old_data_is_served_to_the_end(self, tmp_path: Path) -> None:
        sync = Sync(tmp_path, "swapdb")
        sync.feed(snapshot(200))
        assert sync.keys == 2 and not sync.node.is_loading
        loading = sync.node.persistence.loading
        assert loading is not None and loading.asynchronous and loading.loaded_bytes > 0
        sync.load.end()
        assert sync.keys == 200

    @pytest.mark.parametrize("ends", [True, False])
    def test_the_old_data_of_another_history_is_kept_but_not_served(self, tmp_path: Path, ends: bool) -> None:
        """Nobody is told what it holds, but it is still there when the load fails. Source: Redis 8.2, tried."""

        @in_loop
        async def run() -> None:
            sync = Sync(tmp_path, "swapdb", replid="f" * 40)
            sync.feed(snapshot(200))
            loading = sync.node.persistence.loading
            assert loading is not None and not loading.asynchronous
            assert sync.node.is_loading and sync.keys == 2
            assert sync.load.old_data is OldData.STAYS_UNTIL_LOADED
            if ends:
                sync.load.end()
            else:
                sync.load.abandon()
            assert not sync.node.is_loading and sync.node.persistence.loading is None
            assert sync.keys == (200 if ends else 2)

        run()

    @in_loop
    async def test_the_name_before_the_present_one_is_another_history(self, tmp_path: Path) -> None:
        """A replica that was promoted and follows its old master again."""
        sync = Sync(tmp_path, "disabled")
        sync.load.abandon()
        sync.node.settings.repl_diskless_load = "swapdb"
        sync.node.replication.history.shift(ReplId("e" * 40), Offset(0))
        sync.load = sync._choose()
        assert sync.replid == sync.node.replication.history.replid2 and sync.node.is_loading
        sync.load.abandon()

    @in_loop
    async def test_straight_from_the_socket_clients_wait(self, tmp_path: Path) -> None:
        sync = Sync(tmp_path, "on-empty-db", own=0)
        assert sync.node.is_loading
        sync.feed(snapshot(200)[:-20])
        assert 0 < sync.keys <= 200
        sync.load.abandon()

    @in_loop
    async def test_watched_keys(self, tmp_path: Path) -> None:
        """Whoever watches a key that the old data had is told, and beside it of one that the new data brings."""

        class Watcher:
            dirty_cas = False

        for way in ("disabled", "swapdb"):
            sync, watcher = Sync(tmp_path, way), Watcher()
            fresh = Watcher()
            sync.node.keyspace.databases[0].watchers.update({b"own:1": {watcher}, b"key:1": {fresh}})
            sync.feed(snapshot(5))
            sync.load.end()
            await sync.over()
            assert watcher.dirty_cas and fresh.dirty_cas is (way == "swapdb")


class TestFault:
    FAULTS: tuple[tuple[str, bytes], ...] = (
        ("rdb_version", TOO_NEW),
        ("corrupt", b"REDIS0010" + b"\x00" * 5000),
        ("corrupt", snapshot()[:-1] + b"\xff"),
        ("corrupt", snapshot()[:-30]),
        ("corrupt", b"HTTP/1.1 200 OK\r\n"),
    )

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize(("word", "data"), FAULTS)
    def test_told_once_with_its_word(self, tmp_path: Path, way: str, word: str, data: bytes) -> None:
        @in_loop
        async def run() -> None:
            before = open_fds()
            sync = Sync(tmp_path, way)
            sync.feed(data)
            sync.load.end()
            await sync.over()
            assert [failed for failed, _ in sync.failed] == [word] and sync.failed[0][1]
            assert sync.keys == (2 if way == "swapdb" else 0), "the old data as promised, never half of the new"
            sync.load.feed(b"more")
            sync.load.end()
            await asyncio.sleep(0.01)
            assert len(sync.failed) == 1
            assert not [name for name in os.listdir(tmp_path) if name.startswith("temp")]
            await until(lambda: open_fds() <= before, "the descriptors to be closed, that of a late fsync too")

        run()

    @in_loop
    async def test_the_disk_is_full(self, tmp_path: Path) -> None:
        sync = Sync(tmp_path, "disabled")
        load = sync.load
        assert isinstance(load, FileLoad)
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, load._file.fileno())
        os.close(full)
        sync.feed(snapshot(100) * 50)
        load.end()
        await sync.over()
        assert [failed for failed, _ in sync.failed] == ["disk"] and "No space left" in sync.failed[0][1]

    @in_loop
    async def test_no_place_for_the_file(self, tmp_path: Path) -> None:
        folder = tmp_path / "gone"
        folder.mkdir()
        os.chdir(folder)
        folder.rmdir()
        sync = Sync.__new__(Sync)
        sync.node = bare_node(repl_diskless_load="disabled")
        sync.replid = sync.node.replication.history.replid
        sync.kept, sync.done, sync.failed = KeptLog(), [], []
        with pytest.raises(FileNotFoundError):
            sync._choose()
        os.chdir(tmp_path)

    @pytest.mark.parametrize(
        ("error", "word"),
        [
            (MemoryError(), "memory"),
            (OSError(errno.ENOSPC, "full"), "disk"),
            (CorruptData("no such type", 9), "corrupt"),
        ],
    )
    def test_words(self, error: BaseException, word: str) -> None:
        assert why_not_loaded(error) == word


@in_loop
async def test_a_damaged_snapshot_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(b"old")
    sync = Sync(tmp_path, "disabled")
    sync.feed(snapshot()[:-1] + b"\xff")
    sync.load.end()
    await sync.over()
    assert (tmp_path / "dump.rdb").read_bytes() == b"old" and os.listdir(tmp_path) == ["dump.rdb"]


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    """The name of the temporary file can be guessed."""

    @in_loop
    async def run() -> None:
        theirs = tmp_path / "theirs"
        theirs.write_bytes(b"precious")
        folder = tmp_path / "node"
        folder.mkdir()
        sync = Sync(folder, "disabled")
        (name,) = os.listdir(folder)
        sync.load.abandon()
        (folder / name).symlink_to(theirs)
        sync.load = sync._choose()
        sync.feed(snapshot(3))
        sync.load.end()
        await until(lambda: sync.done)
        assert theirs.read_bytes() == b"precious"
        assert os.listdir(folder) == ["dump.rdb"] and not (folder / "dump.rdb").is_symlink()

    run()


class TestAbandoned:
    @in_loop
    async def test_while_the_file_is_loaded(self, tmp_path: Path) -> None:
        settings: dict[str, Any] = {"key_load_delay": 1000, "loading_process_events_interval_bytes": 1024}
        sync = Sync(tmp_path, "disabled", **settings)
        sync.feed(snapshot(300))
        sync.load.end()
        await until(lambda: sync.keys > 2, "half of the load")
        sync.load.abandon()
        await asyncio.sleep(0.05)
        assert sync.keys == 0 and sync.node.persistence.loading is None
        assert sync.done == [] and sync.failed == [] and os.listdir(tmp_path) == []

    @pytest.mark.parametrize("way", WAYS)
    def test_nothing_half_done_stays(self, tmp_path: Path, way: str) -> None:
        @in_loop
        async def run() -> None:
            before = open_fds()
            sync = Sync(tmp_path, way)
            sync.feed(snapshot(200)[:2000])
            sync.load.abandon()
            sync.load.abandon()
            assert sync.keys == (0 if way == "on-empty-db" else 2)
            assert sync.node.persistence.loading is None
            await asyncio.sleep(0.01)
            assert sync.done == [] and sync.failed == [] and os.listdir(tmp_path) == []
            await until(lambda: open_fds() <= before, "the descriptors to be closed, that of a late fsync too")

        run()
