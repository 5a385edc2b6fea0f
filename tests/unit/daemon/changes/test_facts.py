"""STREAMS.* at a running node, and what subscribers get of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.writer import Writer
from pyrepl.errors import ConfigError
from tests.unit.daemon.rig import in_loop, running, until
from tests.unit.daemon.stream_rig import call, follow, pair, streaming

TABLES = pytest.mark.parametrize("facts", [b"keyspace", b"sqlite:facts.db"], ids=["keyspace", "sqlite"])


@TABLES
def test_reserved_completed_and_followed(tmp_path: Path, facts: bytes) -> None:
    @in_loop
    async def run() -> None:
        async with streaming(tmp_path, stream_facts=facts) as (node, port):
            assert await call(node, "STREAMS.APPEND", "orders", '{"n":1}', "[2]") == 1
            live = await follow(port, "REPLICATE orders 0")
            assert await live.lines(3) == ['RDATA orders batch {"n":1}', "RDATA orders 1 [2]", "POSITION orders 1"]
            assert await node.say("STREAMS.RESERVE orders") == 2
            assert await node.say("STREAMS.RESERVE orders COUNT 2") == [3, 4]
            assert await node.say("STREAMS.COMPLETE orders 4 44") == 1
            assert await node.say("STREAMS.POSITION orders") == [1, [b"node-a", 1]]
            assert await node.say("STREAMS.ABORT orders 3") == 1
            assert await node.say("STREAMS.COMPLETE orders 2 22") == 4
            assert await live.lines(2) == ["RDATA orders 2 22", "RDATA orders 4 44"]
            assert b"orders" in await node.say("STREAMS.LIST")
            again = await follow(port, "REPLICATE orders node-a 2")
            assert await again.lines(2) == ["RDATA orders node-a 4 44", "POSITION orders node-a 2 4"]

    run()


@TABLES
def test_errors(tmp_path: Path, facts: bytes) -> None:
    @in_loop
    async def run() -> None:
        async with streaming(tmp_path, stream_facts=facts) as (node, port):
            peer = await node.peer()
            assert "9 is not reserved in s at this node" in await peer.error("STREAMS.COMPLETE s 9 1")
            assert "row 1 cannot be written" in await peer.error("STREAMS.APPEND s nonsense")
            assert "made by the node itself" in await peer.error("STREAMS.APPEND keys 1")
            assert "there is no stream nosuch" in await peer.error("STREAMS.POSITION nosuch")
            assert "wrong number of arguments" in await peer.error("STREAMS.APPEND s")
            assert await peer.say("MULTI") == "OK"
            assert "not allowed inside a transaction" in await peer.error("STREAMS.APPEND s 1")
            assert (await (await follow(port, "REPLICATE s 50")).end()).startswith("ERROR AHEAD token 50 ")

    run()


@TABLES
def test_it_goes_on_after_a_restart(tmp_path: Path, facts: bytes) -> None:
    @in_loop
    async def run() -> None:
        settings = {"stream_facts": facts, "appendonly": True}
        async with streaming(tmp_path, **settings) as (node, _):
            assert await node.say("STREAMS.APPEND s 1") == 1
            assert await node.say("STREAMS.RESERVE s COUNT 2") == [2, 3]
            assert await node.say("STREAMS.COMPLETE s 3 3") == 1
        async with streaming(tmp_path, **settings) as (node, port):
            assert "is not reserved" in str(await node.say("STREAMS.COMPLETE s 2 2"))
            assert await node.say("STREAMS.APPEND s 4") == 4
            one = await follow(port, "REPLICATE s 0")
            assert await one.rows(3) == [1, 3, 4]

    run()


@in_loop
async def test_a_new_stream_reaches_who_follows_all(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        one = await follow(port, "REPLICATE ALL NOW")
        named = await follow(port, "REPLICATE")
        await one.lines(4)
        await named.lines(4)
        await node.say("STREAMS.APPEND new 1")
        assert await one.rows(1) == [1]
        assert await named.line() == "RDATA new node-a 1 1"


@in_loop
async def test_another_process_writes_the_same_file(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        await node.say("STREAMS.APPEND s 1")
        one = await follow(port, "REPLICATE s 0")
        table = SqliteTable(str(tmp_path / "streams.db"))
        Writer(table, "s", "other").append('"from elsewhere"')
        assert await one.rows(2) == [1, "from elsewhere"]
        assert await node.say("STREAMS.APPEND s 3") == 3
        assert await one.rows(1) == [3]
        table.close()


@in_loop
async def test_facts_in_the_keyspace_go_on_at_whoever_is_promoted(tmp_path: Path) -> None:
    async with pair(tmp_path, stream_facts=b"keyspace") as (master, replica, port):
        assert await master.say("STREAMS.APPEND s 1") == 1
        assert await master.say("STREAMS.RESERVE s") == 2
        assert await master.say("STREAMS.RESERVE s") == 3
        await master.say("STREAMS.COMPLETE s 3 3")
        await until(lambda: replica.app.node.stream_end == master.app.node.stream_end)
        one = await follow(port, "REPLICATE s 0")
        assert await one.rows(1) == [1]
        assert "READONLY" in str(await replica.say("STREAMS.APPEND s 5"))
        await replica.say("REPLICAOF NO ONE")
        assert await one.rows(1) == [3], "what the master before had left pending holds nobody back"
        assert await replica.say("STREAMS.APPEND s 4") == 4
        assert await one.rows(1) == [4]


@in_loop
async def test_a_table_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "streams.db").write_bytes(b"no database at all, " * 50)
    async with streaming(tmp_path) as (node, _):
        assert "file is not a database" in str(await node.say("STREAMS.APPEND s 1"))
        await until(lambda: node.logged("The table of application streams cannot be used"))
        assert await node.say("PING") == "PONG"


@in_loop
async def test_without_a_stream_port(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert "change streams are off" in str(await node.say("STREAMS.LIST"))


@in_loop
async def test_a_place_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="stream-facts must be keyspace, sqlite:<file>, or postgresql://"):
        async with streaming(tmp_path, stream_facts=b"oracle"):
            raise AssertionError("it started")
