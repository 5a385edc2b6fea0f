"""maxmemory: a new limit is felt at once, and what commands leave to evict goes in slices between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.daemon.rig import RunningNode, in_loop, running, until


def keys(node: RunningNode) -> int:
    return len(node.app.node.keyspace.databases[0].store.values)


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
