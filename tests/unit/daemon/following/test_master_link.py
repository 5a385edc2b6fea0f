"""The link to a master that does what a test wants: cut handshakes, damaged snapshots, streams with a fault."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.peers.wire import encode
from tests.unit.daemon.disk.test_files import snapshot
from tests.unit.daemon.rig import RunningNode, in_loop, link_up, open_fds, running, until

REPLID = b"f" * 40
Talk = Callable[["Master", asyncio.StreamWriter], Awaitable[None]]


class Master:
    """Answers a handshake by the book; `talk` is what it does once PSYNC has come."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.requests: list[list[bytes]] = []
        self.acks: list[int] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while words := await _command(reader):
                match words[0].upper():
                    case b"PING":
                        writer.write(b"+PONG\r\n")
                    case b"REPLCONF" if words[1] == b"ACK":
                        self.acks.append(int(words[2]))
                    case b"REPLCONF":
                        writer.write(b"+OK\r\n")
                    case b"PSYNC":
                        self.requests.append(words)
                        await self.talk(self, writer)
        writer.close()


async def _command(reader: asyncio.StreamReader) -> list[bytes]:
    line = await reader.readline()
    while line == b"\n":
        line = await reader.readline()
    if not line:
        return []
    words = []
    for _ in range(int(line[1:])):
        size = int((await reader.readline())[1:])
        words.append((await reader.readexactly(size + 2))[:-2])
    return words


def full(rdb: bytes, *then: bytes, eof: bool = False) -> Talk:
    """A full sync, then these pieces of the stream; a later request is continued without a word."""

    async def talk(master: Master, writer: asyncio.StreamWriter) -> None:
        if len(master.requests) > 1 and master.requests[-1][1] == REPLID:
            writer.write(b"+CONTINUE\r\n")
            return
        framed = b"$EOF:" + b"m" * 40 + b"\r\n" + rdb + b"m" * 40 if eof else b"$%d\r\n" % len(rdb) + rdb
        writer.write(b"+FULLRESYNC %s 100\r\n" % REPLID + framed)
        for piece in then:
            await asyncio.sleep(0.01)
            writer.write(piece)

    return talk


@asynccontextmanager
async def followed(folder: Path, talk: Talk, **settings: Any) -> AsyncIterator[tuple[RunningNode, Master]]:
    """A node that follows a Master, and that master."""
    master = Master(talk)
    server = await asyncio.start_server(master.serve, "127.0.0.1", 0)
    master.port = server.sockets[0].getsockname()[1]
    try:
        async with running(folder, None, **settings) as node:
            assert await node.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK"
            yield node, master
    finally:
        for writer in master.writers:
            writer.close()
        server.close()


def link(node: RunningNode) -> Any:
    return node.app.node.replication.link


class TestSync:
    @pytest.mark.parametrize("load", ["disabled", "on-empty-db", "swapdb"])
    @pytest.mark.parametrize("eof", [True, False])
    def test_snapshot_and_stream(self, tmp_path: Path, load: str, eof: bool) -> None:
        @in_loop
        async def run() -> None:
            stream = encode(["SELECT", 3]) + encode(["SET", "b", 1])
            talk = full(snapshot(300), stream[:7], stream[7:40], stream[40:], eof=eof)
            async with followed(tmp_path, talk, repl_diskless_load=load) as (node, master):
                await until(lambda: link(node).held == 100 + len(stream), "the stream")
                await until(lambda: master.acks)
                databases = node.app.node.keyspace.databases
                assert len(databases[0].store.values) == 300 and databases[3].store.values == {b"b": b"1"}
                assert node.app.node.replication.backlog.end == 100 + len(stream)
                assert node.app.node.persistence.loading is None
                assert node.logged("MASTER <-> REPLICA sync: Finished with success")

        run()

    @in_loop
    async def test_a_transaction_cut_in_the_middle_is_applied_whole(self, tmp_path: Path) -> None:
        head = encode(["SELECT", 0]) + encode(["MULTI"]) + encode(["SET", "a", 1])
        rest = encode(["SET", "b", 1]) + encode(["EXEC"])
        async with followed(tmp_path, full(snapshot(0), head)) as (node, master):
            await link_up(node)
            await until(lambda: link(node).read_offset == 100 + len(head))
            before_it = 100 + len(encode(["SELECT", 0]))
            assert link(node).held == node.app.node.replication.backlog.end == before_it
            assert node.app.node.keyspace.databases[0].store.values == {}
            master.writers[0].write(rest)
            await until(lambda: link(node).held == 100 + len(head + rest))
            assert sorted(node.app.node.keyspace.databases[0].store.values) == [b"a", b"b"]

    @in_loop
    async def test_the_old_descriptors_go(self, tmp_path: Path) -> None:
        async with followed(tmp_path, full(snapshot(10)), repl_diskless_load="disabled") as (node, master):
            await link_up(node)
            before = len(open_fds())
            for turn in range(3):
                await node.say("CLIENT KILL TYPE master")
                await until(lambda turn=turn: len(master.requests) == turn + 2)  # type: ignore[misc]
                await link_up(node)
            await until(lambda: len(open_fds()) <= before)
            assert master.requests[-1] == [b"PSYNC", REPLID, b"101"]


class TestFault:
    @pytest.mark.parametrize("load", ["disabled", "on-empty-db", "swapdb"])
    def test_a_damaged_snapshot_is_asked_for_with_pauses(self, tmp_path: Path, load: str) -> None:
        @in_loop
        async def run() -> None:
            talk = full(snapshot(300)[:-1] + b"\xff")
            async with followed(tmp_path, talk, repl_diskless_load=load) as (node, master):
                await until(lambda: node.logged("again in"), "the failure")
                await asyncio.sleep(0.05)
                assert len(master.requests) == 1
                assert "load_failed" in await node.info("master_last_sync_error")
                assert node.app.node.persistence.loading is None
                assert await node.say("DBSIZE") == 0
                assert not [name for name in os.listdir(tmp_path) if name.startswith("temp")]

        run()

    @in_loop
    async def test_cut_in_the_middle_of_a_snapshot(self, tmp_path: Path) -> None:
        async def talk(master: Master, writer: asyncio.StreamWriter) -> None:
            if len(master.requests) == 1:
                writer.write(b"+FULLRESYNC %s 100\r\n$%d\r\n" % (REPLID, 10_000) + snapshot(300)[:2000])
                await asyncio.sleep(0.05)
                writer.close()
            else:
                await full(snapshot(300))(master, writer)

        async with followed(tmp_path, talk, repl_diskless_load="disabled") as (node, master):
            await link_up(node)
            assert len(master.requests) == 2 and await node.say("DBSIZE") == 300
            assert not [name for name in os.listdir(tmp_path) if name.startswith("temp")]

    @in_loop
    async def test_an_unknown_command_stops_before_it(self, tmp_path: Path) -> None:
        head = encode(["SELECT", 0]) + encode(["SET", "a", 1])
        async with followed(tmp_path, full(snapshot(0), head + encode(["NOSUCH"]) + encode(["SET", "b", 1]))) as (
            node,
            master,
        ):
            await until(lambda: node.logged("again in"))
            assert link(node).held == 100 + len(head) == node.app.node.replication.backlog.end
            assert sorted(node.app.node.keyspace.databases[0].store.values) == [b"a"]
            assert node.app.node.stats.unknown_replicated_commands == 1
            await asyncio.sleep(0)
            assert len(master.requests) == 1

    @in_loop
    async def test_or_skips_it(self, tmp_path: Path) -> None:
        stream = encode(["SELECT", 0]) + encode(["NOSUCH"]) + encode(["SET", "b", 1])
        talk = full(snapshot(0), stream)
        async with followed(tmp_path, talk, replica_ignore_unknown_commands=True) as (node, _):
            await until(lambda: link(node).held == 100 + len(stream))
            assert sorted(node.app.node.keyspace.databases[0].store.values) == [b"b"]
            assert node.app.node.stats.unknown_replicated_commands == 1

    @in_loop
    async def test_a_command_that_fails_is_logged_and_passed(self, tmp_path: Path) -> None:
        stream = encode(["SELECT", 0]) + encode(["SET", "a", 1]) + encode(["LPUSH", "a", 1]) + encode(["SET", "b", 1])
        async with followed(tmp_path, full(snapshot(0), stream)) as (node, _):
            await until(lambda: link(node).held == 100 + len(stream))
            assert node.logged("WRONGTYPE")

    @pytest.mark.parametrize(
        ("behavior", "read_only", "dies"),
        [("ignore", True, False), ("panic", True, True), ("panic-on-replicas", True, True), ("panic", False, False)],
    )
    @in_loop
    async def test_propagation_error_behavior(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behavior: str, read_only: bool, dies: bool
    ) -> None:
        stream = encode(["SELECT", 0]) + encode(["SET", "a", 1]) + encode(["LPUSH", "a", 1])
        settings = {"propagation_error_behavior": behavior, "replica_read_only": read_only}
        async with followed(tmp_path, full(snapshot(0)), **settings) as (node, master):
            await link_up(node)
            deaths: list[int] = []
            monkeypatch.setattr(node.app.faults, "die", lambda: deaths.append(node.app.node.stream_end))
            master.writers[0].write(stream)
            await until(lambda: link(node).held == 100 + len(stream))
            assert deaths == ([100] if dies else []), "nothing of it was kept by then"
            assert node.logged("This replica panicked") is dies
            assert node.app.node.stats.unexpected_error_replies == 1

    @in_loop
    async def test_a_defect_in_the_middle_executes_nothing_twice(self, tmp_path: Path) -> None:
        head = encode(["SELECT", 0]) + encode(["INCR", "a"])
        async with followed(tmp_path, full(snapshot(0))) as (node, master):
            await link_up(node)

            def broken(*words: object) -> None:
                raise ValueError("a defect")

            node.app.dispatcher._by_name[b"APPEND"].fn = broken
            master.writers[0].write(head + encode(["APPEND", "b", "x"]) + encode(["INCR", "a"]))
            await until(lambda: node.logged("again in"), "the end of the link")
            assert link(node).position.held == node.app.node.replication.backlog.end == 100 + len(head)
            assert node.app.node.keyspace.databases[0].store.values == {b"a": b"1"}
            assert node.logged("ValueError: a defect")

    @in_loop
    async def test_a_broken_stream(self, tmp_path: Path) -> None:
        head = encode(["SELECT", 0]) + encode(["SET", "a", 1])
        async with followed(tmp_path, full(snapshot(0), head + b"*1\r\n!\r\n")) as (node, _):
            await until(lambda: node.logged("again in"))
            assert link(node).held == node.app.node.replication.backlog.end
            assert "protocol" in await node.info("master_last_sync_error")

    @in_loop
    async def test_a_master_that_says_nothing(self, tmp_path: Path) -> None:
        async def silent(master: Master, writer: asyncio.StreamWriter) -> None: ...

        async with followed(tmp_path, silent, repl_timeout=1) as (node, _):
            await until(lambda: node.logged("again in"), "the timeout")
            assert "timeout" in await node.info("master_last_sync_error")

    @in_loop
    async def test_not_now(self, tmp_path: Path) -> None:
        async def talk(master: Master, writer: asyncio.StreamWriter) -> None:
            if len(master.requests) == 1:
                writer.write(b"-NOMASTERLINK Can't SYNC while not connected with my master\r\n")
            else:
                await full(snapshot(5))(master, writer)

        async with followed(tmp_path, talk) as (node, master):
            await link_up(node)
            assert len(master.requests) == 2


@in_loop
async def test_ended_in_the_middle_of_a_snapshot(tmp_path: Path) -> None:
    async def talk(master: Master, writer: asyncio.StreamWriter) -> None:
        writer.write(b"+FULLRESYNC %s 100\r\n$10000\r\n" % REPLID + snapshot(300)[:2000])

    async with followed(tmp_path, talk, repl_diskless_load="disabled") as (node, _):
        await until(lambda: any(name.startswith("temp") for name in os.listdir(tmp_path)))
        assert await node.say("REPLICAOF NO ONE") == "OK"
        assert os.listdir(tmp_path) == []
        assert await node.say("SET a 1") == "OK"


@in_loop
async def test_the_link_comes_from_the_address_of_bind_source_addr(tmp_path: Path) -> None:
    above, below = tmp_path / "above", tmp_path / "below"
    above.mkdir()
    below.mkdir()
    async with running(above) as master, running(below, bind_source_addr="127.0.0.9") as node:
        await node.say(f"REPLICAOF 127.0.0.1 {master.port}")
        await link_up(node)
        assert b" addr=127.0.0.9:" in await master.say("CLIENT LIST TYPE replica")
        assert "ip=127.0.0.9," in await master.info("slave0")
