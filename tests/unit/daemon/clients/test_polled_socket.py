"""One socket: what the kernel does not take waits and goes in order, and its end is told once, in a later turn."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from pyrepl.daemon.clients.client_conn import ClientConn
from pyrepl.daemon.clients.polled_socket import HIGH_BYTES, READ_BYTES, PolledSocket
from pyrepl.daemon.feeding.replica_conn import ReplicaConn, ReplicaOwner
from pyrepl.daemon.wires.plain_wire import PlainWire
from pyrepl.resp.encoder import encode_command
from tests.unit.daemon.rig import RunningNode, in_loop, running, soon, until


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Ours and the peer's end of a connection with small buffers."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    theirs.setblocking(False)
    yield ours, theirs
    theirs.close()
    ours.close()


def served(node: RunningNode, sock: socket.socket) -> tuple[ClientConn, PolledSocket]:
    """The connection that the node makes of our end."""
    clients = node.app.clients
    clients.accept(PlainWire(sock))
    conn = clients.conns[max(clients.conns)]
    return conn, conn.transport


async def read_all(theirs: socket.socket, size: int) -> bytes:
    """`size` bytes, while the loop runs."""
    got = b""
    while len(got) < size:
        got += await asyncio.get_running_loop().sock_recv(theirs, 65536)
    return got


class TestWriting:
    def test_what_waits_goes_in_order(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            data = Random(1).randbytes(HIGH_BYTES * 3)
            async with running(tmp_path) as node:
                _, transport = served(node, ends[0])
                transport.write(data[:100_000])
                assert transport.get_write_buffer_size() > 0
                transport.writelines([data[100_000:100_007], memoryview(data)[100_007:150_000], data[150_000:]])
                assert await read_all(ends[1], len(data)) == data
                await until(lambda: transport.get_write_buffer_size() == 0)

        run()

    def test_many_pieces_at_once(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            pieces = [b"%d," % number for number in range(3000)]
            async with running(tmp_path) as node:
                _, transport = served(node, ends[0])
                transport.writelines(pieces)
                assert await read_all(ends[1], len(b"".join(pieces))) == b"".join(pieces)

        run()


class Owner(ReplicaOwner):
    """Notes that a replica's transport takes more."""

    def __init__(self, told: asyncio.Event) -> None:
        self._told = told

    def drained(self) -> None:
        self._told.set()

    def refuse_to_answer(self, replica: ReplicaConn, argv: list[bytes]) -> None:
        raise AssertionError(argv)


class TestFile:
    def test_out_in_parts_behind_what_waits(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            first, data = Random(3).randbytes(300_000), Random(4).randbytes(3_000_000)
            (tmp_path / "file").write_bytes(data)
            async with running(tmp_path) as node:
                conn, transport = served(node, ends[0])
                replication = node.app.node.replication
                session = replication.roster.open_session(999, "h", 0.0)
                told = asyncio.Event()
                conn.replica = ReplicaConn(conn, session, replication.backlog, Owner(told))
                sent: list[int] = []
                with (tmp_path / "file").open("rb") as file:
                    transport.write(first)
                    assert transport.get_write_buffer_size() > 0
                    reading = asyncio.ensure_future(read_all(ends[1], len(first + data)))
                    while sum(sent) < len(data):
                        sent.append(transport.send_file(file.fileno(), sum(sent), len(data) - sum(sent)))
                        if sum(sent) < len(data):
                            await soon(told.wait())
                            told.clear()
                conn.replica = None
                assert sent[0] == 0, "not before what was written"
                assert len(sent) > 2
                assert await reading == first + data

        run()

    def test_one_that_is_too_short(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            (tmp_path / "file").write_bytes(b"1234")
            async with running(tmp_path) as node:
                _, transport = served(node, ends[0])
                with (tmp_path / "file").open("rb") as file:
                    assert transport.send_file(file.fileno(), 2, 5) == 2
                    with pytest.raises(OSError, match="too early"):
                        transport.send_file(file.fileno(), 4, 1)
                assert await read_all(ends[1], 2) == b"34"

        run()

    def test_to_a_peer_that_is_gone(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            (tmp_path / "file").write_bytes(b"1234")
            async with running(tmp_path) as node:
                conn, transport = served(node, ends[0])
                ends[1].close()
                with (tmp_path / "file").open("rb") as file:
                    assert transport.send_file(file.fileno(), 0, 4) == 0
                    assert transport.is_closing()
                    assert transport.send_file(file.fileno(), 0, 4) == 0
                await until(lambda: conn.client.id not in node.app.clients.conns)

        run()


class TestEnd:
    def test_close_writes_first(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            data = Random(2).randbytes(300_000)
            async with running(tmp_path) as node:
                conn, transport = served(node, ends[0])
                transport.write(data)
                transport.close()
                assert transport.is_closing()
                assert conn.client.id in node.app.clients.conns
                assert await read_all(ends[1], len(data)) == data
                await until(lambda: conn.client.id not in node.app.clients.conns)
                assert await asyncio.get_running_loop().sock_recv(ends[1], 1) == b""

        run()

    def test_abort_does_not(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                conn, transport = served(node, ends[0])
                transport.write(bytes(300_000))
                transport.abort()
                assert transport.get_write_buffer_size() == 0
                # Told later, as whoever aborts may be in the middle of something.
                assert conn.client.id in node.app.clients.conns
                await until(lambda: conn.client.id not in node.app.clients.conns)
                transport.write(b"too late")
                transport.writelines([b"too", b"late"])
                transport.abort()

        run()

    def test_a_peer_that_is_gone(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                conn, transport = served(node, ends[0])
                ends[1].close()
                transport.write(b"x")
                assert transport.is_closing()
                await until(lambda: conn.client.id not in node.app.clients.conns)

        run()


class TestReading:
    @pytest.mark.parametrize("size", [1, 1000, 15_000])
    def test_a_request_is_one_read(self, tmp_path: Path, size: int) -> None:
        assert _reads(tmp_path, READ_BYTES, [size] * 3)[0] == [1, 1, 1]

    def test_large_ones_are_too_once_there_was_one(self, tmp_path: Path) -> None:
        """The short end of one that was cut, or a small one between, does not lead back at once."""
        reads, asked = _reads(tmp_path, 4 * READ_BYTES, [20_000, 100, 20_000, 20_000])
        assert reads == [1, 1, 1, 1]
        assert asked == 2 * READ_BYTES

    def test_small_ones_lead_back(self, tmp_path: Path) -> None:
        assert _reads(tmp_path, 16 * READ_BYTES, [100] * 10) == ([1] * 10, READ_BYTES)


def _reads(tmp_path: Path, asked: int, sizes: list[int]) -> tuple[list[int], int]:
    """How many reads each of some ECHOs took on a connection that asks for `asked` bytes, and what it asks for then."""
    reads: list[int] = []

    @in_loop
    async def run() -> None:
        nonlocal asked
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        async with running(tmp_path) as node:
            stats = node.app.node.stats
            _, transport = served(node, ours)
            transport._read_bytes = asked
            # What takes long is asked for in smaller pieces; here nothing does.
            transport._poller.now = lambda: 0.0
            for size in sizes:
                before = stats.total_reads_processed
                request = encode_command([b"ECHO", bytes(size)])
                assert theirs.send(request) == len(request)
                await read_all(theirs, len(b"$%d\r\n" % size) + size + 2)
                reads.append(stats.total_reads_processed - before)
            asked = transport._read_bytes
            theirs.close()

    run()
    return reads, asked


class TestPause:
    def test_nothing_is_read_meanwhile(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                conn, transport = served(node, ends[0])
                transport.pause_reading()
                ends[1].send(b"PING\r\n")
                await asyncio.sleep(0.02)
                assert conn.client.total_in_bytes == 0
                transport.resume_reading()
                assert await read_all(ends[1], 7) == b"+PONG\r\n"

        run()


class Looks:
    """What looks at sockets, by hand."""

    def __init__(self) -> None:
        self.now = lambda: 0.0
        self.wanted: tuple[bool, bool] | None = None
        """For reading, for writing."""

    def watch(self, fd: int, *, reading: bool, writing: bool) -> None:
        self.wanted = (reading, writing)

    def drop(self, fd: int) -> None:
        self.wanted = None

    def later(self, callback: Callable[[Exception | None], None], error: Exception | None) -> None:
        callback(error)


class TestWireThatGoesTheOtherWay:
    """As TLS does in a handshake."""

    def test_to_send_it_has_to_receive(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                conn, _ = served(node, socket.socket())
                looks, wire = Looks(), PlainWire(ends[0])
                transport = PolledSocket(looks, wire, conn)
                wire.sends_when_readable = True
                transport.write(bytes(1_000_000))
                assert looks.wanted == (True, False)
                transport.pause_reading()
                assert looks.wanted == (True, False), "or it could never be sent"
                waiting = transport.get_write_buffer_size()
                ends[1].recv(1_000_000)
                transport.on_readable()
                assert transport.get_write_buffer_size() < waiting and looks.wanted == (True, False)
                wire.sends_when_readable = False
                transport.on_writable()
                transport.resume_reading()
                assert looks.wanted == (True, True)

        run()

    def test_to_receive_it_has_to_send(self, tmp_path: Path, ends: tuple[socket.socket, socket.socket]) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                conn, _ = served(node, socket.socket())
                looks, wire = Looks(), PlainWire(ends[0])
                transport = PolledSocket(looks, wire, conn)
                wire.receives_when_writable = True
                transport.on_readable()
                assert looks.wanted == (False, True)
                ends[1].send(b"*1\r\n")
                transport.on_writable()
                assert conn.client.total_in_bytes == 4
                wire.receives_when_writable = False
                transport.on_writable()
                assert looks.wanted == (True, False)

        run()
