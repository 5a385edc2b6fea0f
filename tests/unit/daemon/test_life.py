"""A node's life: what it says at the start, why it does not start, what CONFIG SET moves, how it leaves."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from pyrepl.errors import ConfigError
from pyrepl.observability import events
from tests.peers.wire import encode
from tests.unit.daemon.rig import RunningNode, in_loop, open_fds, running, until


class TestStart:
    @in_loop
    async def test_it_says_what_people_and_scripts_look_for(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path)
        await node.start(events.NoConfigurationFile())
        try:
            texts = [line.partition(" * ")[2] or line.partition(" # ")[2] for line in node.lines]
            assert texts[-1] == "Ready to accept connections tcp"
            assert any(f"port={node.port}" in text for text in texts)
            assert node.logged(events.NoConfigurationFile().text())
        finally:
            await node.stop()
        assert node.lines[-1].endswith("bye bye...")

    @in_loop
    async def test_the_directory_becomes_the_working_directory(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            assert Path.cwd() == tmp_path
            assert await node.say("CONFIG GET dir") == [b"dir", os.fsencode(tmp_path)]


class TestNoStart:
    @in_loop
    async def test_no_such_directory(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path / "nowhere")
        with pytest.raises(ConfigError, match=r"Can't chdir to '.*nowhere': No such file or directory"):
            await node.start()

    @in_loop
    async def test_a_damaged_snapshot_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "dump.rdb").write_bytes(b"REDIS0010" + b"\x00\x01")
        with pytest.raises(ConfigError, match=r"Fatal error loading the DB from .*redis-check-rdb"):
            await RunningNode(tmp_path).start()
        assert (tmp_path / "dump.rdb").read_bytes() == b"REDIS0010" + b"\x00\x01"

    @in_loop
    async def test_nobody_is_served_what_was_loaded_in_part(self, tmp_path: Path) -> None:
        folder = tmp_path / "appendonlydir"
        folder.mkdir()
        (folder / "appendonly.aof.manifest").write_text("file appendonly.aof.1.incr.aof seq 1 type i\n")
        writes = b"".join(encode(("SET", f"key:{number}", "x" * 1000)) for number in range(2000))
        (folder / "appendonly.aof.1.incr.aof").write_bytes(writes + b"\0\0\r\n" + writes)
        node = RunningNode(tmp_path, appendonly=True)
        answers: list[str] = []

        async def ask() -> None:
            while True:
                with suppress(OSError, asyncio.IncompleteReadError):
                    peer = await node.peer()
                    while True:
                        answers.append(str(await peer.say("GET key:1")))
                await asyncio.sleep(0)

        asking = asyncio.get_running_loop().create_task(ask())
        with pytest.raises(ConfigError, match=r"Bad file format"):
            await node.start()
        asking.cancel()
        assert answers and {answer.partition(" ")[0] for answer in answers} == {"LOADING"}


class TestLeave:
    @in_loop
    async def test_replies_under_way_are_sent(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            client = await node.peer()
            big = "x" * 3_000_000
            assert await client.call("SET", "big", big) == "OK"
            client.send("GET", "big")
            client.send("SHUTDOWN", "NOSAVE")
            assert len(await client.rest()) == len(big) + len(b"$3000000\r\n\r\n")

    @in_loop
    async def test_nothing_stays_open(self, tmp_path: Path) -> None:
        async with running(tmp_path):
            pass
        before = open_fds()
        async with running(tmp_path, unixsocket=str(tmp_path / "sock")) as node:
            await node.say("PING")
        await until(lambda: open_fds() <= before, "closed descriptors")
        assert not (tmp_path / "sock").exists()
