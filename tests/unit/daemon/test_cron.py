"""Background work: expiry on masters alone, samples, save points, and a defect in one piece that stops no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.peers.wire import encode
from tests.unit.daemon.rig import RunningNode, in_loop, link_up, running, until


def keys(node: RunningNode) -> int:
    return len(node.app.node.keyspace.databases[0].values)


class TestExpiry:
    @in_loop
    async def test_nobody_needs_to_ask_for_a_key(self, tmp_path: Path) -> None:
        async with running(tmp_path, hz=100) as node:
            peer = await node.peer()
            for number in range(100):
                peer.send("SET", f"k{number}", "v", "PX", "20")
            await peer.call("SET", "stays", "v")
            await until(lambda: keys(node) == 1)
            assert node.app.node.keyspace.expired_keys_count == 100

    @in_loop
    async def test_many_at_once_do_not_wait_for_the_next_tick(self, tmp_path: Path) -> None:
        """A slice of two milliseconds a second would take half a minute for these."""
        async with running(tmp_path, hz=1) as node:
            keyspace = node.app.node.keyspace
            db = keyspace.databases[0]
            due_ms = node.app.clock.unix_ms() + 1
            for number in range(30_000):
                db.put(b"%d" % number, b"v")
                db.expire_at(b"%d" % number, due_ms)
            await until(lambda: keyspace.expired_keys_count >= 10_000)
            await until(lambda: keyspace.expired_keys_count >= 20_000)
            await until(lambda: keyspace.expired_keys_count == 30_000)

    @in_loop
    async def test_fields_of_hashes(self, tmp_path: Path) -> None:
        async with running(tmp_path, hz=100) as node:
            peer = await node.peer()
            await peer.say("HSET h f v g v")
            await peer.say("HPEXPIRE h 20 FIELDS 2 f g")
            await until(lambda: keys(node) == 0)

    @in_loop
    async def test_a_replica_waits_until_it_is_told(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        async with running(tmp_path / "one", hz=100) as master, running(tmp_path / "two", hz=100) as replica:
            assert await replica.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK"
            await link_up(replica)
            await master.say("DEBUG SET-ACTIVE-EXPIRE 0")
            await master.say("SET a 1 PX 20")
            await until(lambda: keys(replica) == 1)
            await asyncio.sleep(0.1)
            assert keys(replica) == keys(master) == 1
            assert await replica.say("GET a") is None and await replica.say("DBSIZE") == 1
            await master.say("DEBUG SET-ACTIVE-EXPIRE 1")
            await until(lambda: keys(replica) == keys(master) == 0)

    @in_loop
    async def test_not_during_a_pause(self, tmp_path: Path) -> None:
        async with running(tmp_path, hz=100) as node:
            peer = await node.peer()
            peer.write(encode(["SET", "a", "1", "PX", "20"]) + encode(["CLIENT", "PAUSE", "100000", "WRITE"]))
            assert [await peer.read(), await peer.read()] == ["OK", "OK"]
            await asyncio.sleep(0.1)
            assert keys(node) == 1
            await peer.say("CLIENT UNPAUSE")
            await until(lambda: keys(node) == 0)


class TestEviction:
    @in_loop
    async def test_many_at_once_do_not_wait_for_the_next_tick(self, tmp_path: Path) -> None:
        """Three milliseconds a second would take minutes for these, and no command comes that would help."""
        async with running(tmp_path, hz=1, maxmemory_policy="allkeys-random") as node:
            peer = await node.peer()
            await peer.say("CONFIG SET maxmemory 100gb")
            await peer.call("MSET", *(word for number in range(40_000) for word in (f"k{number}", "v" * 100)))
            memory = node.app.node.memory
            await peer.say(f"CONFIG SET maxmemory {memory.overhead_bytes + memory.data.total_bytes // 4}")
            await until(lambda: keys(node) < 20_000)

    @in_loop
    async def test_not_during_a_pause(self, tmp_path: Path) -> None:
        async with running(tmp_path, hz=100, maxmemory_policy="allkeys-random") as node:
            peer = await node.peer()
            await peer.call("MSET", *(word for number in range(1000) for word in (f"k{number}", "v" * 100)))
            await peer.say("CLIENT PAUSE 100000 WRITE")
            await peer.say("CONFIG SET maxmemory 1")
            ticks = node.app.node.process.now
            await until(lambda: node.app.node.process.now > ticks + 0.1)
            assert keys(node) == 1000
            await peer.say("CLIENT UNPAUSE")
            await until(lambda: keys(node) == 0)


@in_loop
async def test_samples(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100) as node:
        peer = await node.peer()
        while not node.app.node.stats.ops.per_second:
            assert await peer.say("PING") == "PONG"
        assert node.app.node.process.rss_bytes > 1 << 20 and node.app.node.process.cpu_user_s > 0


@in_loop
async def test_a_save_point(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100, save=((1, 2),)) as node:
        node.app.node.persistence.last_save_unix_s -= 10
        await node.say("MSET a 1 b 2")
        await until(lambda: (tmp_path / "dump.rdb").exists())


@in_loop
async def test_a_defect_stops_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, hz=100) as node:

        def broken() -> None:
            raise ValueError("a defect")

        broken.__qualname__ = "tick"
        monkeypatch.setattr(node.app.replicas, "tick", broken)
        await until(lambda: node.logged("background work tick: ValueError: a defect"))
        peer = await node.peer()
        await peer.say("SET a 1 PX 20")
        await until(lambda: keys(node) == 0)


@in_loop
async def test_stopped_it_does_nothing_more(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100) as node:
        node.app.cron.stop()
        await (await node.peer()).say("SET a 1 PX 10")
        await asyncio.sleep(0.05)
        assert keys(node) == 1
