"""Where clients come in: ports that are taken, other ports and addresses by CONFIG SET, nothing left open."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pyrepl.errors import ConfigError
from tests.peers.certificates import Authority
from tests.peers.ports import free_port
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, open_fds, running, soon, until


@in_loop
async def test_another_port(tmp_path: Path) -> None:
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
async def test_a_taken_port_leaves_the_old_one(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            client = await node.peer()
            error = await client.error(f"CONFIG SET port {taken.getsockname()[1]}")
        assert error.startswith("ERR CONFIG SET failed (possibly related to argument 'port') - ")
        assert await client.say("CONFIG GET port") == [b"port", b"%d" % node.port]
        assert await node.say("PING") == "PONG"


@in_loop
async def test_other_addresses_on_the_same_port(tmp_path: Path) -> None:
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


def _listening() -> set[int]:
    """The ports that this process has open for connections."""
    found = set()
    for item in open_fds():
        number, target = item.split(" ", 1)
        if not target.startswith("socket:"):
            continue
        with suppress(OSError), socket.socket(fileno=os.dup(int(number))) as copy:
            if copy.family == socket.AF_INET and copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                found.add(copy.getsockname()[1])
    return found


@in_loop
async def test_many_ports_leave_no_descriptor(tmp_path: Path) -> None:
    """Looked for are the sockets of these ports, as a descriptor that an earlier test left may be closed meanwhile."""
    async with running(tmp_path) as node:
        client = await node.peer()
        ports = [node.port, *(free_port() for _ in range(5))]
        assert _listening() & set(ports) == {node.port}
        for port in ports[1:]:
            assert await client.say(f"CONFIG SET port {port}") == "OK"
        await until(lambda: _listening() & set(ports) == {ports[-1]}, "closed sockets")


@in_loop
async def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        node = RunningNode(tmp_path, port=taken.getsockname()[1])
        with pytest.raises(ConfigError, match="Address already in use; another process listens there"):
            await node.start()


@in_loop
async def test_nowhere_to_listen(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not listen anywhere"):
        await RunningNode(tmp_path, port=0).start()


@in_loop
async def test_two_ports_move_together_or_not_at_all(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    authority = Authority(tmp_path_factory.mktemp("tls"))
    path = str(authority.issue())
    files: dict[str, Any] = {"tls_cert_file": path, "tls_key_file": path, "tls_ca_cert_file": str(authority.ca_file)}
    async with running(tmp_path, tls_port=free_port(), **files) as node:
        client, new, process = await node.peer(), free_port(), node.app.node.process
        with socket.create_server(("127.0.0.1", 0)) as taken:
            wanted = f"port {new} tls-port {taken.getsockname()[1]}"
            assert "CONFIG SET failed" in await client.error(f"CONFIG SET {wanted}")
        assert (process.tcp_port, await node.say("PING")) == (node.port, "PONG")
        with pytest.raises(OSError):
            await soon(asyncio.open_connection("127.0.0.1", new))
        with pytest.raises(OSError):
            socket.create_server(("127.0.0.1", node.port), reuse_port=True)
        other = free_port()
        assert await client.say(f"CONFIG SET port {new} tls-port {other}") == "OK"
        assert (process.tcp_port, process.tls_port) == (new, other)
