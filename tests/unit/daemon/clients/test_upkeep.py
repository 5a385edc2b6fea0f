"""Clients as time passes: their sizes are measured, the idle are cut, and new limits reach those who are there."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_sizes_come_up_to_date_by_themselves(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100) as node:
        peer = await node.peer()
        await peer.say("PING")
        peer.write(b"*2\r\n$4\r\nECHO\r\n$1000\r\n" + b"x" * 500)
        (client,) = node.app.node.clients.values()
        await until(lambda: client.query_buffer_bytes >= 500, "a measure")


@in_loop
async def test_the_idle_are_cut(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100, timeout=1) as node:
        peer = await node.peer()
        await peer.say("PING")
        assert await peer.rest() == b""
        assert not node.app.clients.conns


@in_loop
async def test_a_limit_reaches_those_who_are_there(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        assert await peer.say("CONFIG SET proto-max-bulk-len 1048576") == "OK"
        peer.write(b"*2\r\n$4\r\nECHO\r\n$2000000\r\n")
        assert "invalid bulk length" in str(await peer.read())
