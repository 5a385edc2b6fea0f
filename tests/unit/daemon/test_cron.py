"""Background work: expiry on masters alone, samples, save points, and a defect in one piece that stops no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pyrepl.keyspace.idmp import remember
from pyrepl.rdb.values import StreamValue
from tests.peers.wire import encode
from tests.unit.daemon.rig import RunningNode, in_loop, link_up, running, until


def keys(node: RunningNode) -> int:
    return len(node.app.node.keyspace.databases[0].store.values)


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
    async def test_idempotency_ids_on_masters_and_replicas_alike(self, tmp_path: Path) -> None:
        """As in Redis 8.6: each forgets by its own clock, as nothing in the stream tells it."""
        for name in ("one", "two"):
            (tmp_path / name).mkdir()

        def tracked(node: RunningNode) -> int:
            stream = node.app.node.keyspace.databases[0].store.values.get(b"s")
            return len(stream.idmp.producers) if isinstance(stream, StreamValue) and stream.idmp is not None else -1

        async with running(tmp_path / "one", hz=100) as master, running(tmp_path / "two", hz=100) as replica:
            await master.say("XADD s IDMP stays i * f v")
            assert await replica.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK"
            await link_up(replica)
            for node in (master, replica):
                db = node.app.node.keyspace.databases[0]
                stream = db.store.values[b"s"]
                assert isinstance(stream, StreamValue)
                remember(db, b"s", stream, b"old", b"i", (5, 1))
            await until(lambda: tracked(master) == tracked(replica) == 1)

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
    async def test_a_replica_ends_what_its_clients_wrote_until_it_is_a_master(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        async with running(tmp_path / "one", hz=100) as master, running(tmp_path / "two", hz=100) as replica:
            assert await replica.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK"
            await link_up(replica)
            await replica.say("CONFIG SET replica-read-only no")
            await replica.say("SET a 1 PX 20")
            await until(lambda: keys(replica) == 0)
            await replica.say("SET a 1 PX 100000")
            assert b"slave_expires_tracked_keys:1" in await replica.say("INFO stats")
            await replica.say("REPLICAOF NO ONE")
            assert b"slave_expires_tracked_keys:0" in await replica.say("INFO stats")

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
    @pytest.mark.parametrize("keys_at_first", [0, 1000])
    def test_a_new_limit_is_felt_by_the_next_command(self, tmp_path: Path, keys_at_first: int) -> None:
        """The clock, which ticks once a second here, has no part in it."""

        @in_loop
        async def run() -> None:
            async with running(tmp_path, hz=1) as node:
                operator, client = await node.peer(), await node.peer()
                for number in range(keys_at_first):
                    client.send("SET", f"k{number}", "v" * 1000)
                    await client.read()
                await operator.say("CONFIG SET maxmemory 1000")
                assert (await client.error("SET a 1")).startswith("OOM")
                assert node.logged("WARNING: the new maxmemory value set via CONFIG SET (1000) is smaller than the")
                await operator.say("CONFIG SET maxmemory 100gb")
                assert await client.say("SET a 1") == "OK"
                await operator.say("CONFIG SET maxmemory 1000")
                await operator.say("CONFIG SET maxmemory-policy allkeys-random")
                await client.say("SET a 1")
                assert keys(node) < 1 + keys_at_first, "it has evicted some, as many as there was time for"
                await operator.say("CONFIG SET maxmemory 0")
                assert await client.say("SET a 1") == "OK"

        run()

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
async def test_what_the_start_took_and_the_most_that_was_used(tmp_path: Path) -> None:
    """What the start took is part of what is used; the files of the program, part of what is held, are not."""
    async with running(tmp_path, hz=100) as node:
        process = node.app.node.process
        assert 1 << 20 < process.startup_bytes < process.rss_bytes
        await node.say(f"SET a {'x' * (1 << 20)}")
        await until(lambda: process.peak_used_bytes > process.startup_bytes + (1 << 20))
        most, at = process.peak_used_bytes, process.peak_used_unix_s
        await node.say("FLUSHALL")
        memory = str(await node.say("INFO memory"))
        assert f"used_memory_peak:{most}" in memory and f"used_memory_peak_time:{at}" in memory


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
