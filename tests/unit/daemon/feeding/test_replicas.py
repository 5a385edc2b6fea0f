"""Our replicas as they see us: handshake, continuing, full syncs of both kinds, and whoever goes away in between."""

from __future__ import annotations

import gc
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.loader import Loader
from pyrepl.rdb.reader import RdbLimits
from tests.unit.daemon.rig import Peer, RunningNode, children, in_loop, open_fds, running, until

SLOW = 6000
"""rdb-key-save-delay in µs; with KEYS keys a snapshot takes three seconds."""
FOR_EVER = 100_000
"""The same for a child that will be ended."""
KEYS = 500

Settings = dict[str, Any]


async def introduce(node: RunningNode, *, eof: bool = True) -> Peer:
    """A replica that has said who it is."""
    peer = await node.peer()
    assert await peer.say("REPLCONF listening-port 7777") == "OK"
    assert await peer.say("REPLCONF capa eof capa psync2" if eof else "REPLCONF capa psync2") == "OK"
    return peer


async def first_line(peer: Peer) -> bytes:
    """The next line that is no keep-alive."""
    while True:
        line = await peer.line()
        if line != b"\n":
            return line


async def sync(node: RunningNode, *, eof: bool = True) -> Peer:
    """A replica that asks for everything, with the verdict read."""
    peer = await introduce(node, eof=eof)
    peer.send("PSYNC", "?", "-1")
    assert (await first_line(peer)).startswith(b"+FULLRESYNC ")
    return peer


async def read_snapshot(peer: Peer) -> bytes:
    line = (await first_line(peer)).strip()
    if line.startswith(b"$EOF:"):
        mark = line[5:]
        data = b""
        while not data.endswith(mark):
            data += await peer.some()
        return data[: -len(mark)]
    return await peer.exactly(int(line[1:]))


def keys_in(data: bytes) -> int:
    keyspace = Keyspace(16)
    loader = Loader(RdbLimits(), keyspace)
    loader.feed(data)
    loader.end()
    return loader.loaded_keys


def roster(node: RunningNode) -> list[str]:
    """The states of the replicas."""
    return [session.state.wire_name for session in node.app.node.replication.roster.sessions.values()]


class TestFullSync:
    @pytest.mark.parametrize("diskless", [True, False])
    @pytest.mark.parametrize("eof", [True, False])
    def test_snapshot_then_stream(self, tmp_path: Path, diskless: bool, eof: bool) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path, repl_diskless_sync=diskless, rdb_key_save_delay=200) as node:
                await node.say(f"DEBUG POPULATE {KEYS}")
                before = open_fds()
                peer = await sync(node, eof=eof)
                assert await node.say("SET during 1") == "OK"
                assert keys_in(await read_snapshot(peer)) == KEYS
                peer.send("REPLCONF", "ACK", "0")
                stream = await peer.exactly(23 + len(b"*3\r\n$3\r\nSET\r\n$6\r\nduring\r\n$1\r\n1\r\n"))
                assert (
                    stream == b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n" + b"*3\r\n$3\r\nSET\r\n$6\r\nduring\r\n$1\r\n1\r\n"
                )
                peer.send("REPLCONF", "ACK", str(len(stream)))
                await until(lambda: not node.app.replicas.lagging())
                assert (await node.info("slave0")).startswith("ip=127.0.0.1,port=7777,state=online,offset=")
                peer.close()
                await until(lambda: open_fds() <= before, "closed descriptors")
                assert children() == []

        run()

    @in_loop
    async def test_who_acknowledges_before_the_child_has_ended_is_online(self, tmp_path: Path) -> None:
        """It has loaded what came, and says so; the child still has to go."""
        async with running(tmp_path, rdb_key_save_delay=500) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peer = await sync(node)
            peer.send("REPLCONF", "ACK", "0")
            await read_snapshot(peer)
            await until(lambda: node.logged("Synchronization with replica 127.0.0.1:7777 succeeded"))
            await node.say("SET after it")
            assert b"after" in await peer.some()

    @pytest.mark.parametrize("diskless", [True, False])
    @pytest.mark.parametrize(("wanted", "functions"), [("functions", [b"#!lua name=f"]), ("", [])])
    def test_a_snapshot_of_the_functions_alone(
        self, tmp_path: Path, diskless: bool, wanted: str, functions: list[bytes]
    ) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path, repl_diskless_sync=diskless, repl_diskless_sync_delay=0) as node:
                await node.say("DEBUG POPULATE 5")
                # A field's time to live asks for a newer version, which a snapshot without keys does not need.
                await node.say("HSET h f v")
                await node.say("HPEXPIRE h 100000 FIELDS 1 f")
                node.app.node.functions.take([b"#!lua name=f"])
                peer = await introduce(node)
                peer.send("REPLCONF", "rdb-filter-only", wanted)
                assert await peer.line() == b"+OK\r\n"
                peer.send("PSYNC", "?", "-1")
                assert (await first_line(peer)).startswith(b"+FULLRESYNC ")
                data = await read_snapshot(peer)
                assert data.startswith(b"REDIS0010") and keys_in(data) == 0
                assert data.count(b"#!lua name=f") == len(functions)
                peer.send("REPLCONF", "ACK", "0")
                await node.say("SET behind 1")
                assert (await peer.some()).endswith(b"*3\r\n$3\r\nSET\r\n$6\r\nbehind\r\n$1\r\n1\r\n")
                assert not (tmp_path / "dump.rdb").exists()

        run()

    @in_loop
    async def test_several_share_one_child(self, tmp_path: Path) -> None:
        async with running(tmp_path, repl_diskless_sync_delay=100, repl_diskless_sync_max_replicas=3) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peers = [await introduce(node) for _ in range(3)]
            for peer in peers:
                peer.send("PSYNC", "?", "-1")
            for peer in peers:
                assert (await first_line(peer)).startswith(b"+FULLRESYNC ")
                assert keys_in(await read_snapshot(peer)) == KEYS
            assert node.app.node.stats.total_forks == 1

    @in_loop
    async def test_who_comes_late_to_a_file_gets_the_same_bytes(self, tmp_path: Path) -> None:
        async with running(tmp_path, repl_diskless_sync=False, rdb_key_save_delay=SLOW) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            one = await sync(node)
            await until(children)
            await node.say("SET during 1")
            other = await sync(node)
            assert await read_snapshot(one) == await read_snapshot(other)
            assert node.app.node.stats.total_forks == 1
            assert await one.exactly(23) == await other.exactly(23) == b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"

    @in_loop
    async def test_a_bgsave_in_the_same_turn_of_the_loop(self, tmp_path: Path) -> None:
        """The order for a snapshot is out, and another child takes the place."""
        async with running(tmp_path) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peer, operator = await introduce(node), await node.peer()
            assert await operator.say("PING") == "PONG"
            peer.send("PSYNC", "?", "-1")
            operator.send("BGSAVE")
            time.sleep(0.05)
            assert (await operator.read()).startswith("Background saving")
            assert (await first_line(peer)).startswith(b"+FULLRESYNC ")
            assert keys_in(await read_snapshot(peer)) == KEYS
            await until(lambda: not node.app.saver.is_busy)
            assert not node.logged("Internal error")

    @in_loop
    async def test_a_bgsave_runs_already(self, tmp_path: Path) -> None:
        async with running(tmp_path, rdb_key_save_delay=500) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            await node.say("BGSAVE")
            peer = await introduce(node)
            peer.send("PSYNC", "?", "-1")
            assert (await first_line(peer)).startswith(b"+FULLRESYNC ")
            assert keys_in(await read_snapshot(peer)) == KEYS
            assert node.app.node.stats.total_forks == 2

    @in_loop
    async def test_a_snapshot_that_cannot_be_written(self, tmp_path: Path) -> None:
        async with running(tmp_path, repl_diskless_sync=False) as node:
            (tmp_path / "dump.rdb").mkdir()
            peer = await sync(node)
            assert set(await peer.rest()) <= {ord("\n")}
            (tmp_path / "dump.rdb").rmdir()
            assert keys_in(await read_snapshot(await sync(node))) == 0

    @in_loop
    async def test_another_directory_and_name_meanwhile(self, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        (other / "x.rdb").write_bytes(b"wrong")
        settings: Settings = {"repl_diskless_sync": False, "rdb_key_save_delay": 500, "enable_protected_configs": "yes"}
        async with running(tmp_path, **settings) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peer = await sync(node)
            assert await node.say(f"CONFIG SET dir {other} dbfilename x.rdb") == "OK"
            assert keys_in(await read_snapshot(peer)) == KEYS


class TestGone:
    @in_loop
    async def test_in_the_middle_of_a_file(self, tmp_path: Path) -> None:
        """Neither the file nor anything else stays open, without the help of the garbage collector."""
        async with running(tmp_path, repl_diskless_sync=False, rdbcompression=False) as node:
            await node.say("DEBUG POPULATE 3000 key 5000")
            before = open_fds()
            gc.disable()
            try:
                peer = await sync(node)
                await first_line(peer)
                await until(lambda: any("dump.rdb" in item for item in open_fds()), "the open file")
                peer.writer.transport.abort()
                await until(lambda: open_fds() <= before, "closed descriptors")
            finally:
                gc.enable()
            assert roster(node) == []

    @pytest.mark.parametrize("diskless", [True, False])
    def test_the_last_one_that_waited(self, tmp_path: Path, diskless: bool) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path, repl_diskless_sync=diskless, rdb_key_save_delay=FOR_EVER) as node:
                await node.say(f"DEBUG POPULATE {KEYS}")
                peer = await sync(node)
                await until(children)
                peer.close()
                await until(lambda: not children(), "the end of the child")
                assert os.listdir(tmp_path) == []
                assert await node.info("rdb_bgsave_in_progress") == "0"
                assert node.logged("last replica dropped, killing fork child") is diskless, "a file goes without a word"

        run()

    @in_loop
    async def test_a_file_that_the_node_keeps_is_written_to_its_end(self, tmp_path: Path) -> None:
        """With save points set real Redis 8.2 lets the child go on; the next replica gets a snapshot of its own."""
        settings: Settings = {"repl_diskless_sync": False, "rdb_key_save_delay": SLOW, "save": ((3600, 1),)}
        async with running(tmp_path, **settings) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peer = await sync(node, eof=False)
            await until(children)
            peer.close()
            await until(lambda: roster(node) == [], "the end of the replica")
            await until(lambda: node.logged("Background saving terminated"), "the end of the child")
            assert node.logged("Background saving terminated with success")
            assert not node.logged("killing fork child")
            assert os.listdir(tmp_path) == ["dump.rdb"]
            await node.say("CONFIG SET rdb-key-save-delay 0")
            assert keys_in(await read_snapshot(await sync(node, eof=False))) == KEYS

    @in_loop
    async def test_killed_while_a_child_writes_to_it(self, tmp_path: Path) -> None:
        """The child holds a copy of the socket; the connection is over all the same."""
        settings: Settings = {
            "rdb_key_save_delay": SLOW,
            "repl_diskless_sync_delay": 100,
            "repl_diskless_sync_max_replicas": 2,
        }
        async with running(tmp_path, **settings) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peers = [await introduce(node) for _ in range(2)]
            for peer in peers:
                peer.send("PSYNC", "?", "-1")
            await until(children)
            port = peers[0].writer.get_extra_info("sockname")[1]
            assert await node.say(f"CLIENT KILL ADDR 127.0.0.1:{port}") == 1
            await peers[0].rest()
            assert children(), "the child is at work still"
            assert (await first_line(peers[1])).startswith(b"+FULLRESYNC ")
            assert keys_in(await read_snapshot(peers[1])) == KEYS

    @in_loop
    async def test_the_child_is_killed(self, tmp_path: Path) -> None:
        async with running(tmp_path, rdb_key_save_delay=FOR_EVER) as node:
            await node.say(f"DEBUG POPULATE {KEYS}")
            peer = await sync(node)
            await until(children)
            os.kill(children()[0], signal.SIGKILL)
            await peer.rest()
            assert roster(node) == [] and children() == []
            await node.say("CONFIG SET rdb-key-save-delay 0")
            assert keys_in(await read_snapshot(await sync(node))) == KEYS

    @pytest.mark.parametrize("diskless", [True, False])
    def test_the_data_is_flushed(self, tmp_path: Path, diskless: bool) -> None:
        """The snapshot of the old data is worth nothing: the replica is cut, and gets a new one when it comes back."""

        @in_loop
        async def run() -> None:
            async with running(tmp_path, repl_diskless_sync=diskless, rdb_key_save_delay=FOR_EVER) as node:
                await node.say(f"DEBUG POPULATE {KEYS}")
                peer = await sync(node)
                await until(children)
                assert await node.say("FLUSHALL") == "OK"
                await peer.rest()
                await until(lambda: not children() and roster(node) == [], "the end of child and session")
                assert node.app.node.persistence.last_bgsave_ok, "what nobody needs has not failed"
                assert os.listdir(tmp_path) == []
                await node.say("SET after 1")
                assert keys_in(await read_snapshot(await sync(node))) == 1

        run()


class TestContinue:
    @in_loop
    async def test_from_where_it_was(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await sync(node)
            await read_snapshot(peer)
            peer.send("REPLCONF", "ACK", "0")
            await node.say("SET a 1")
            size = 23 + 27
            await peer.exactly(size)
            peer.close()
            await until(lambda: roster(node) == [])
            await node.say("SET b 1")
            again = await introduce(node)
            again.send("PSYNC", node.app.node.replication.history.replid, size + 1)
            assert await first_line(again) == b"+CONTINUE %s\r\n" % node.app.node.replication.history.replid.encode()
            assert await again.exactly(27) == b"*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n1\r\n"
            stats = node.app.node.replication.roster.counters
            assert (stats.full, stats.partial_ok) == (1, 1)

    @in_loop
    async def test_a_slow_one_is_cut(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            operator = await node.peer()
            assert await operator.call("CONFIG", "SET", "client-output-buffer-limit", "replica 2mb 0 0") == "OK"
            await operator.say("CONFIG SET repl-backlog-size 16kb")
            peer = await sync(node)
            await read_snapshot(peer)
            peer.send("REPLCONF", "ACK", "0")
            await until(lambda: roster(node) == ["online"])
            for _ in range(150):
                await operator.call("SET", "a", "x" * 100_000)
            await until(lambda: roster(node) == [], "the cut")
            assert node.app.node.stats.client_output_buffer_limit_disconnections == 1
            await until(lambda: node.logged("lost. (cause: output_buffer"), "the log told")


class TestWait:
    @in_loop
    async def test_counts_replicas(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await sync(node)
            await read_snapshot(peer)
            await until(lambda: roster(node) == ["online"], "the end of the child")
            peer.send("REPLCONF", "ACK", "0")
            writer = await node.peer()
            assert await writer.say("SET a 1") == "OK"
            writer.send("WAIT", "1", "0")
            writer.send("PING")
            assert await writer.is_silent(0.03)
            backlog = node.app.node.replication.backlog
            (session,) = node.app.node.replication.roster.sessions.values()
            await until(lambda: session.cursor is not None and session.cursor.at == backlog.end, "the stream to go out")
            peer.send("REPLCONF", "ACK", backlog.end)
            assert [await writer.read(), await writer.read()] == [1, "PONG"]

    @in_loop
    async def test_a_replica_that_hangs_up_with_bytes_on_their_way(self, tmp_path: Path) -> None:
        """It is not listed until a timeout, though it neither reads nor closes its end."""
        async with running(tmp_path) as node:
            peer = await sync(node, eof=True)
            await read_snapshot(peer)
            peer.send("REPLCONF", "ACK", "0")
            await until(lambda: roster(node) == ["online"])
            for _ in range(16):
                await node.say("SET big " + "x" * 1_000_000)
            replica = next(iter(node.app.replicas._replicas.values()))
            await until(lambda: replica.conn.transport.get_write_buffer_size())
            peer.writer.write_eof()
            await until(lambda: roster(node) == [], "its end")
