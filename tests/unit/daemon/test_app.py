"""A node's life: what it says at the start, why it does not start, what CONFIG SET moves, how it leaves."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from pyrepl.errors import ConfigError
from pyrepl.observability import events
from tests.peers.ports import free_port
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, open_fds, running, soon, until


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

    @in_loop
    async def test_a_pidfile(self, tmp_path: Path) -> None:
        path = tmp_path / "node.pid"
        async with running(tmp_path, pidfile=str(path)):
            assert path.read_text() == f"{os.getpid()}\n"
        assert not path.exists()

    @in_loop
    async def test_a_pidfile_that_cannot_be_written_is_told_and_no_obstacle(self, tmp_path: Path) -> None:
        async with running(tmp_path, pidfile=str(tmp_path / "no" / "node.pid")) as node:
            assert node.logged("No such file or directory")
            assert await node.say("PING") == "PONG"


class TestNoStart:
    @in_loop
    async def test_a_port_in_use(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            node = RunningNode(tmp_path, port=taken.getsockname()[1])
            with pytest.raises(ConfigError, match="Address already in use; another process listens there"):
                await node.start()

    @in_loop
    async def test_no_such_directory(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path / "nowhere")
        with pytest.raises(ConfigError, match=r"Can't chdir to '.*nowhere': No such file or directory"):
            await node.start()

    @in_loop
    async def test_nowhere_to_listen(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="not listen anywhere"):
            await RunningNode(tmp_path, port=0).start()

    @in_loop
    async def test_a_damaged_snapshot_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "dump.rdb").write_bytes(b"REDIS0010" + b"\x00\x01")
        with pytest.raises(ConfigError, match=r"Fatal error loading the DB from .*redis-check-rdb"):
            await RunningNode(tmp_path).start()
        assert (tmp_path / "dump.rdb").read_bytes() == b"REDIS0010" + b"\x00\x01"


class TestConfigSet:
    @in_loop
    async def test_another_port(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            client = await node.peer()
            old, new = node.port, free_port()
            assert await client.say(f"CONFIG SET port {new}") == "OK"
            node.port = new
            assert await node.say("PING") == "PONG"
            assert await client.say("PING") == "PONG", "connections stay"
            with pytest.raises(OSError):
                await soon(asyncio.open_connection("127.0.0.1", old))
            assert await node.info("tcp_port") == str(new)

    @in_loop
    async def test_a_taken_port_leaves_the_old_one(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            with socket.create_server(("127.0.0.1", 0)) as taken:
                client = await node.peer()
                error = await client.error(f"CONFIG SET port {taken.getsockname()[1]}")
            assert error.startswith("ERR CONFIG SET failed (possibly related to argument 'port') - ")
            assert await client.say("CONFIG GET port") == [b"port", b"%d" % node.port]
            assert await node.say("PING") == "PONG"

    @in_loop
    async def test_other_addresses_on_the_same_port(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            client = await node.peer()
            assert await client.call("CONFIG", "SET", "bind", "127.0.0.1 127.0.0.2") == "OK"
            assert await client.say(f"CONFIG SET port {node.port}") == "OK"
            for host in ("127.0.0.1", "127.0.0.2"):
                other = await soon(Peer.to(node.port, host))
                assert await other.say("PING") == "PONG"
                other.close()
            assert await client.say("PING") == "PONG"
            with pytest.raises(OSError):
                socket.create_server(("127.0.0.1", node.port), reuse_port=True)

    @in_loop
    async def test_many_ports_leave_no_descriptor(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            client = await node.peer()
            await client.say("PING")
            before = len(open_fds())
            for _ in range(5):
                assert await client.say(f"CONFIG SET port {free_port()}") == "OK"
            await until(lambda: len(open_fds()) == before, "closed sockets")

    @in_loop
    async def test_another_directory(self, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        async with running(tmp_path, enable_protected_configs="yes") as node:
            assert await node.say(f"CONFIG SET dir {other}") == "OK"
            assert await node.say("SAVE") == "OK"
            assert [path.name for path in other.iterdir()] == ["dump.rdb"]
            client = await node.peer()
            assert "Can't chdir to '/no/such'" in await client.error("CONFIG SET dir /no/such")
            assert await client.say("CONFIG GET dir") == [b"dir", os.fsencode(other)]

    @in_loop
    async def test_what_machines_keep_is_handed_to_them(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            client = await node.peer()
            assert await client.say("CONFIG SET repl-backlog-size 65536 repl-timeout 7 loglevel warning") == "OK"
            assert node.app.node.replication.backlog.capacity == 65536
            assert node.app.node.replication.roster.options.session.timeout_s == 7.0
            lines = len(node.lines)
            assert await client.say("CONFIG SET timeout 0") == "OK"
            assert len(node.lines) == lines, "notices are not logged any more"


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
