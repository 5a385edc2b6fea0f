"""WAITAOF: answered once what was written is on disk, or when the time is over."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_it_waits_for_the_fsync_of_everysec(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        peer = await node.peer()
        await peer.say("SET a 1")
        assert await peer.say("WAITAOF 1 0 4000") == [1, 0]
        assert node.app.node.persistence.aof.synced_cut == node.app.node.stream_end


@in_loop
async def test_time_runs_out_without_replicas(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        await peer.say("SET a 1")
        assert await peer.say("WAITAOF 0 1 30") == [0, 0]
        assert await peer.say("WAITAOF 0 0 0") == [0, 0]
        assert await peer.say("GET a") == b"1"


@in_loop
async def test_a_client_that_is_unblocked(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        peer = await node.peer()
        number = await peer.say("CLIENT ID")
        blocked = node.app.node.clients[number]

        async def wait() -> None:
            peer.send("WAITAOF", "0", "1", "0")
            await until(lambda: blocked.is_blocked)

        await wait()
        assert await node.say(f"CLIENT UNBLOCK {number} TIMEOUT") == 1
        assert await peer.read() == [1, 0]
        await wait()
        assert await node.say(f"CLIENT UNBLOCK {number} ERROR") == 1
        assert str(await peer.read()) == "UNBLOCKED client unblocked via CLIENT UNBLOCK"
        await wait()
        assert await node.say("REPLICAOF 127.0.0.1 1") == "OK"
        assert str(await peer.read()).startswith("UNBLOCKED force unblock from blocking operation")
