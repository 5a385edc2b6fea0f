"""The wire to a peer: the first address that answers, and what is said when none does."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from pyrepl.daemon.wires import connecting as room
from pyrepl.daemon.wires.connecting import connect, connect_unix
from tests.peers.ports import free_port
from tests.unit.daemon.rig import in_loop, open_fds, soon, until


@in_loop
async def test_a_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        wire = await connect("localhost", port)
        far, _ = listening.accept()
        with far:
            assert wire.peer_name() == f"127.0.0.1:{port}"
            far.send(b"hello")
            await until(lambda: wire.receive(10) == b"hello")
        wire.close()


@in_loop
async def test_from_an_address_that_is_ours() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        for source, seen in (("127.0.0.7", "127.0.0.7"), ("192.0.2.1", "127.0.0.1"), ("::1", "127.0.0.1")):
            wire = await connect("127.0.0.1", listening.getsockname()[1], source)
            far, address = listening.accept()
            far.close()
            wire.close()
            assert address[0] == seen, source


@in_loop
async def test_nobody_there() -> None:
    port = free_port()
    before = open_fds()
    with pytest.raises(ConnectionRefusedError):
        await connect("127.0.0.1", port)
    with pytest.raises(socket.gaierror):
        await connect("no.such.host.invalid", 1)
    with pytest.raises(ValueError):
        await connect("x" * 100 + ".org", 1)
    assert open_fds() <= before


@in_loop
async def test_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        address = listening.getsockname()
        filling = [socket.socket() for _ in range(4)]
        for sock in filling:
            sock.setblocking(False)
            sock.connect_ex(address)
        before = open_fds()
        task = asyncio.ensure_future(connect(*address))
        await asyncio.sleep(0.05)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: open_fds() <= before)
        for sock in filling:
            sock.close()


@in_loop
async def test_a_unix_socket_or_none(tmp_path: Path) -> None:
    path, before = str(tmp_path / "socket"), open_fds()
    with pytest.raises(FileNotFoundError):
        await connect_unix(path)
    assert open_fds() == before
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        wire = await connect_unix(path)
        far, _ = listening.accept()
        with far:
            far.send(b"hello")
            await until(lambda: wire.receive(10) == b"hello")
        wire.close()


@in_loop
async def test_an_address_that_drops_packets_does_not_keep_the_next_from_being_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "_MOST_S", 0.05)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent, socket.create_server(("127.0.0.1", 0)) as good:
        filling = [socket.socket() for _ in range(4)]
        for sock in filling:
            sock.setblocking(False)
            sock.connect_ex(silent.getsockname())
        loop, answered = asyncio.get_running_loop(), [silent, silent, good]

        async def found(*args: object, **more: object) -> list[object]:
            kind = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
            return [(*kind, each.getsockname()) for each in answered]

        monkeypatch.setattr(asyncio, "get_running_loop", lambda: Looked(loop, found))
        wire = await soon(connect("mail2.example.org", 7390))
        assert wire.peer_name() == f"127.0.0.1:{good.getsockname()[1]}"
        wire.close()
        for sock in filling:
            sock.close()


class Looked:
    """A loop whose resolver knows other addresses."""

    def __init__(self, loop: asyncio.AbstractEventLoop, found: object) -> None:
        self._loop = loop
        self.getaddrinfo = found

    def __getattr__(self, name: str) -> object:
        return getattr(self._loop, name)
