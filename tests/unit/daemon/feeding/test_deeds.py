"""WAIT, REPLCONF and PSYNC as commands: within a transaction nothing waits."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, link_up, running


@in_loop
async def test_wait_within_a_transaction_waits_for_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        await peer.say("MULTI")
        await peer.say("WAIT 3 0")
        assert await peer.say("EXEC") == [0]


@in_loop
async def test_wait_asks_for_what_replicas_have(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "one") as master,
        running(tmp_path / "two", replicaof=("127.0.0.1", master.port)) as replica,
    ):
        await link_up(replica)
        peer = await master.peer()
        await peer.say("SET a 1")
        assert await peer.say("WAIT 1 0") == 1
        assert await peer.say("WAITAOF 0 0 10") == [0, 0]
