"""Handshakes of a node that runs: who gets in, who does not and is told why, and what silent ones can do."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires import handshakes
from pyrepl.daemon.wires.handshakes import ONLY_TLS
from pyrepl.daemon.wires.tls_contexts import client_context
from tests.peers.certificates import Authority
from tests.peers.ports import free_port
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, open_fds, running, soon, until
from tests.unit.daemon.wires.tls_rig import settings_of


def wanted(authority: Authority, **more: Any) -> dict[str, Any]:
    """Settings of a node with a port for TLS."""
    path = str(authority.issue())
    return {
        "tls_port": free_port(),
        "tls_cert_file": path,
        "tls_key_file": path,
        "tls_ca_cert_file": str(authority.ca_file),
        **more,
    }


async def connect(node: RunningNode, settings: Settings) -> Peer:
    """A client with TLS."""
    port = node.app.node.process.tls_port
    context = client_context(settings)
    return Peer(*await soon(asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")))


@in_loop
async def test_clients(tmp_path: Path, authority: Authority) -> None:
    async with running(tmp_path, **wanted(authority)) as node:
        peers = [await connect(node, settings_of(authority)) for _ in range(5)]
        for peer in peers:
            assert await peer.say("PING") == "PONG"
        large = b"x" * 3_000_000
        assert await peers[0].call("SET", "key", large) == "OK"
        assert await peers[1].call("GET", "key") == large
        assert node.logged("Ready to accept connections tls")
        assert await node.info("connected_clients") == "6"
        for peer in peers:
            peer.close()
        await until(lambda: len(node.app.clients.conns) == 0, "all clients left")


@in_loop
async def test_only_tls(tmp_path: Path, authority: Authority) -> None:
    settings = wanted(authority)
    async with running(tmp_path, port=0, **settings) as node:
        node.port = settings["tls_port"]
        peer = await connect(node, settings_of(authority))
        info = (await peer.say("INFO server")).decode()
        assert f"tcp_port:{node.port}\r\n" in info
        peer.close()


@in_loop
async def test_plain_clients_are_told(tmp_path: Path, authority: Authority) -> None:
    async with running(tmp_path, **wanted(authority)) as node:
        peer = await soon(Peer.to(node.app.node.process.tls_port))
        assert await peer.rest_after("PING") == ONLY_TLS
        await until(lambda: node.logged("failed: the client does not speak TLS; let it use TLS (redis-cli --tls)"))
        assert await node.info("tls_handshakes_failed") == "1"
        assert await node.info("total_connections_received") == "2", "it never was a client"


@in_loop
async def test_tls_on_the_plain_port(tmp_path: Path, authority: Authority) -> None:
    async with running(tmp_path) as node:
        context = client_context(settings_of(authority))
        for _ in range(3):
            with pytest.raises(ssl.SSLError):
                await soon(asyncio.open_connection("127.0.0.1", node.port, ssl=context))
        await until(lambda: node.logged("speaks TLS to a port without TLS, so it was closed: let it connect to"))
        assert sum("speaks TLS" in line for line in node.lines) == 1, "one line a second"


@in_loop
async def test_refused_ones_share_a_line(tmp_path: Path, authority: Authority) -> None:
    async with running(tmp_path, **wanted(authority)) as node:
        stranger = settings_of(authority, tls_cert_file="", tls_key_file="", tls_protocols=("TLSv1.2",))
        for _ in range(4):
            with pytest.raises(OSError):
                await connect(node, stranger)
        await until(
            lambda: node.logged("failed: the client has no certificate; give it one, or set tls-auth-clients to")
        )
        await until(lambda: node.logged("(2 more failed since the last such line)"))
        assert await node.info("tls_handshakes_failed") == "4"


@in_loop
async def test_silent_ones_cost_a_descriptor_and_go(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "MOST_PENDING", 20)
    monkeypatch.setattr(handshakes, "HANDSHAKE_S", 0.5)
    async with running(tmp_path, **wanted(authority)) as node:
        port = node.app.node.process.tls_port
        (await connect(node, settings_of(authority))).close()
        await until(lambda: len(node.app.clients.conns) == 0)
        before = len(open_fds())
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
        for sock in silent[::2]:
            sock.send(b"\x16\x03\x01\x02\x00")
        peer = await connect(node, settings_of(authority))
        assert await peer.say("PING") == "PONG", "the oldest made room for it"
        assert len(open_fds()) - before - len(silent) < 30
        await until(lambda: node.logged("failed: it took longer than"), "they are cut")
        peer.close()
        for sock in silent:
            sock.close()
        await until(lambda: len(open_fds()) <= before, "nothing is left")
        assert node.logged("it has made room for the newest of 20 handshakes")


@in_loop
async def test_the_node_ends_meanwhile(tmp_path: Path, authority: Authority) -> None:
    before = open_fds()
    async with running(tmp_path, **wanted(authority)) as node:
        port = node.app.node.process.tls_port
        silent = socket.create_connection(("127.0.0.1", port))
        silent.send(b"\x16\x03\x01\x02\x00")
        await asyncio.sleep(0.05)
    silent.close()
    assert open_fds() <= before


@in_loop
async def test_another_port(tmp_path: Path, authority: Authority) -> None:
    async with running(tmp_path, **wanted(authority)) as node:
        peer = await connect(node, settings_of(authority))
        new = free_port()
        assert await peer.say(f"CONFIG SET tls-port {new}") == "OK"
        assert node.app.node.process.tls_port == new
        other = await connect(node, settings_of(authority))
        assert await other.say("PING") == await peer.say("PING") == "PONG"
        assert await other.say("CONFIG SET tls-port 0") == "OK"
        with pytest.raises(OSError):
            await soon(asyncio.open_connection("127.0.0.1", new))
        assert await peer.say("PING") == "PONG", "connections stay"
        peer.close()
        other.close()


@in_loop
async def test_a_port_opened_later(tmp_path: Path, authority: Authority) -> None:
    settings = wanted(authority)
    port, path = settings.pop("tls_port"), settings["tls_cert_file"]
    async with running(tmp_path, **{**settings, "tls_cert_file": ""}) as node:
        peer = await node.peer()
        assert "a port with TLS needs a certificate" in await peer.error(f"CONFIG SET tls-port {port}")
        assert await peer.say("CONFIG GET tls-port") == [b"tls-port", b"0"]
        assert await peer.say(f"CONFIG SET tls-port {port} tls-cert-file {path}") == "OK"
        secured = await connect(node, settings_of(authority))
        assert await secured.say("PING") == "PONG"
        secured.close()


@in_loop
async def test_a_new_certificate(tmp_path: Path, authority: Authority) -> None:
    # A certificate of its own: one more for the node's name would be a new file already.
    client = settings_of(authority, authority.issue("client"))
    async with running(tmp_path, **wanted(authority)) as node:
        before = await connect(node, client)
        first = before.writer.get_extra_info("peercert")["serialNumber"]
        authority.issue()
        await until(lambda: node.logged("The files of TLS have changed. New connections use them"), "the new file")
        after = await connect(node, client)
        assert after.writer.get_extra_info("peercert")["serialNumber"] != first
        assert await before.say("PING") == await after.say("PING") == "PONG"
        before.close()
        after.close()


@in_loop
async def test_an_address_with_many_harms_itself(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is its connections that make room, and those of others have their turns."""
    monkeypatch.setattr(handshakes, "MOST_PENDING", 10)
    async with running(tmp_path, **wanted(authority)) as node:
        port = node.app.node.process.tls_port
        slow = socket.create_connection(("127.0.0.1", port))
        slow.send(b"\x16\x03\x01\x02\x00")
        crowd = [socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.9", 0)) for _ in range(40)]
        await until(lambda: node.app.node.stats.tls_handshakes_failed >= 31, "the crowd made room")
        slow.setblocking(False)
        with pytest.raises(BlockingIOError):
            slow.recv(1)
        for sock in (slow, *crowd):
            sock.close()
