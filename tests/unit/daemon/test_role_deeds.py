"""REPLICAOF and CLIENT KILL: carried out, and answered as the effects promise."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, link_up, running, until


@in_loop
async def test_kill(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer, other = await node.peer(), await node.peer()
        number = await other.say("CLIENT ID")
        assert await peer.say(f"CLIENT KILL ID {number}") == 1
        assert await other.rest() == b""
        assert await peer.error(f"CLIENT KILL 127.0.0.1:{1}") == "ERR No such client"


@in_loop
async def test_a_master_that_is_followed_already(tmp_path: Path) -> None:
    async with running(tmp_path / "one") as master, running(tmp_path / "two") as replica:
        peer = await replica.peer()
        assert await peer.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK"
        await link_up(replica)
        assert await peer.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK Already connected to specified master"
        assert replica.logged("already connected")
        assert await peer.say("REPLICAOF NO ONE") == "OK"
        assert await replica.info("role") == "master"


@in_loop
async def test_the_link_to_the_master_is_a_client_too(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "one") as master,
        running(tmp_path / "two", replicaof=("127.0.0.1", master.port)) as replica,
    ):
        await link_up(replica)
        number = replica.app.roles.link_client_id
        assert await replica.say(f"CLIENT KILL ID {number}") == 1
        await until(
            lambda: not replica.app.node.replication.link_is_up or replica.logged("Connection with master lost")
        )
        await link_up(replica)
