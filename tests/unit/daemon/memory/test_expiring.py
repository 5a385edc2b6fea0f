"""What has expired is deleted by masters alone, though nobody asks for it; idempotency ids by everybody."""

from __future__ import annotations

import asyncio
from pathlib import Path

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
    async def test_the_latency_monitor_hears_of_each_slice(self, tmp_path: Path) -> None:
        async with running(tmp_path, hz=100) as node:
            monitor = node.app.node.latency_monitor
            monitor.limit_s = 0.0
            await until(lambda: "expire-cycle" in monitor.series)

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
