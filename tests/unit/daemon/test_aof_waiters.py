"""WAITAOF: answered once what was written is on disk, or when the time is over."""

from __future__ import annotations

from pathlib import Path

from pyrepl.commands.aof import WAITAOF_WITHOUT_AOF
from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_it_waits_for_the_fsync_of_everysec(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        peer = await node.peer()
        await peer.say("SET a 1")
        assert await peer.say("WAITAOF 1 0 4000") == [1, 0]
        assert node.app.node.persistence.aof.synced_cut == node.app.node.stream_end


@in_loop
async def test_a_replica_that_comes_by_a_full_sync_counts_once_its_base_is_whole(tmp_path: Path) -> None:
    """Nothing more is written, so the base alone has what is asked for."""
    for name in ("m", "r"):
        (tmp_path / name).mkdir()
    async with running(tmp_path / "m", appendonly=True) as master:
        peer = await master.peer()
        await peer.say("SET a 1")
        peer.send("WAITAOF", "1", "1", "0")
        async with running(tmp_path / "r", appendonly=True) as replica:
            await replica.say(f"REPLICAOF 127.0.0.1 {master.port}")
            assert await peer.read() == [1, 1]
            assert replica.app.node.persistence.aof.rewrites == 1


@in_loop
async def test_a_file_that_is_kept_no_more_keeps_nobody(tmp_path: Path) -> None:
    """As a real Redis (8.2) answers."""
    async with running(tmp_path, appendonly=True, appendfsync="no") as node:
        peer, other = await node.peer(), await node.peer()
        number = await peer.say("CLIENT ID")
        await peer.say("SET a 1")
        peer.send("WAITAOF", "1", "0", "0")
        await until(lambda: node.app.node.clients[number].is_blocked)
        await other.say("CONFIG SET appendonly no")
        assert str(await peer.read()) == WAITAOF_WITHOUT_AOF
        assert await peer.say("GET a") == b"1"


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
