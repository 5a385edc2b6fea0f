"""A connection to a master: its three calls, reading on and off, and silence after abort."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import cast

from pyrepl.daemon.following.link_conn import LinkConn
from pyrepl.daemon.wires.connecting import connect
from pyrepl.resp.encoder import encode_command
from tests.peers.ports import free_port
from tests.unit.daemon.rig import in_loop, until

FLOOD = 8_000_000


class Far(asyncio.Protocol):
    """The other end: keeps what it hears."""

    def __init__(self) -> None:
        self.heard = b""
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False


class Near:
    """Our end, with what it was told."""

    def __init__(self) -> None:
        self.made = 0
        self.data = b""
        self.lost: list[str] = []
        self.takes_back = False
        self.kept = b""
        self.parts: list[tuple[bytes, bytes]] = []
        self.conn = LinkConn(self._made, self._data, self.lost.append, 300, connect, self._take_back)

    def _made(self) -> None:
        self.made += 1

    def _data(self, data: bytes, beginning: bytes) -> None:
        self.data += data + beginning
        if self.takes_back:
            self.parts.append((data, beginning))
            self.kept = beginning

    def _take_back(self) -> bytes | None:
        if not self.takes_back:
            return None
        kept, self.kept = self.kept, b""
        return kept


async def pair() -> tuple[Near, Far]:
    port = free_port()
    far = Far()
    await asyncio.get_running_loop().create_server(lambda: far, "127.0.0.1", port)
    near = Near()
    near.conn.open("127.0.0.1", port)
    await until(lambda: near.made == 1 and far.is_open)
    return near, far


@in_loop
async def test_bytes_go_both_ways() -> None:
    near, far = await pair()
    assert near.conn.send([b"PI", b"NG"]) == 4
    far.transport.write(b"+PONG")
    await until(lambda: far.heard == b"PING" and near.data == b"+PONG")
    assert near.conn.local_address.startswith("127.0.0.1:")


@in_loop
async def test_nothing_is_read_while_it_is_not_wanted() -> None:
    near, far = await pair()
    near.conn.read(False)
    far.transport.write(b"later")
    await asyncio.sleep(0.05)
    assert near.data == b""
    near.conn.read(True)
    await until(lambda: near.data == b"later")


@in_loop
async def test_the_far_end_closes() -> None:
    near, far = await pair()
    far.transport.close()
    await until(lambda: bool(near.lost))
    hint = " before it said a word; if this is its tls-port, set tls-replication to yes"
    assert near.lost == ["the master closed the connection" + hint]
    assert near.conn.send([b"x"]) == 0


@in_loop
async def test_a_dropped_connection_is_told_and_an_aborted_one_is_not() -> None:
    near, far = await pair()
    near.conn.drop()
    await until(lambda: bool(near.lost) and not far.is_open)
    near, far = await pair()
    near.conn.abort()
    await until(lambda: not far.is_open)
    assert near.lost == []


@in_loop
async def test_nobody_there() -> None:
    near = Near()
    near.conn.open("127.0.0.1", free_port())
    await until(lambda: bool(near.lost))
    assert near.made == 0 and "refused" in near.lost[0].lower()


@in_loop
async def test_a_name_that_is_none() -> None:
    near = Near()
    near.conn.open("a..b", 6379)
    await until(lambda: bool(near.lost))
    assert near.made == 0


@in_loop
async def test_aborted_while_it_opens() -> None:
    near = Near()
    near.conn.open("127.0.0.1", free_port())
    near.conn.abort()
    await asyncio.sleep(0.05)
    assert near.made == 0 and near.lost == []


@in_loop
async def test_a_flood_does_not_keep_others_waiting() -> None:
    """Between two large reads the loop takes a turn; when reading is not wanted any more, it stays off."""
    turns: list[int] = []
    reads: list[int] = []
    loop = asyncio.get_running_loop()

    def turn() -> None:
        turns.append(len(reads))
        if sum(reads) < FLOOD:
            loop.call_soon(turn)

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(FLOOD))
        await writer.drain()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    conn = LinkConn(lambda: None, lambda data, beginning: reads.append(len(data)), lambda text: None, 300, connect)
    conn.open("127.0.0.1", server.sockets[0].getsockname()[1])
    loop.call_soon(turn)
    await until(lambda: sum(reads) == FLOOD)
    large = [at for at, size in enumerate(reads) if size >= 64 * 1024]
    assert len(large) > 4
    assert len(set(turns)) >= len(large) / 2
    conn.read(False)
    conn.abort()
    server.close()


@in_loop
async def test_small_pieces_are_gathered_while_a_snapshot_comes() -> None:
    near, far = await pair()
    near.conn.gathers = True
    for piece in (b"ab", b"cd", b"ef"):
        near.conn.data_received(piece)
    assert near.data == b""
    await until(lambda: near.data == b"abcdef")
    near.conn.data_received(b"g" * 300_000)
    assert near.data == b"abcdef" + b"g" * 300_000
    near.conn.data_received(b"h")
    near.conn.gathers = False
    near.conn.data_received(b"i")
    assert near.data.endswith(b"ghi")
    far.transport.close()


@in_loop
async def test_what_is_gathered_comes_before_the_loss() -> None:
    near, far = await pair()
    near.conn.gathers = True
    far.transport.write(b"end")
    far.transport.close()
    await until(lambda: len(near.lost) == 1)
    assert near.data == b"end"


@in_loop
async def test_what_is_gathered_waits_until_it_is_wanted() -> None:
    near, _ = await pair()
    near.conn.gathers = True
    near.conn.data_received(b"later")
    near.conn.read(False)
    await asyncio.sleep(0.02)
    assert near.data == b""
    near.conn.read(True)
    await until(lambda: near.data == b"later")


@in_loop
async def test_nothing_that_is_gathered_comes_after_abort() -> None:
    near, _ = await pair()
    near.conn.gathers = True
    near.conn.data_received(b"never")
    near.conn.abort()
    await asyncio.sleep(0.02)
    assert (near.data, near.lost) == (b"", [])


@in_loop
async def test_a_beginning_is_read_again_with_its_end() -> None:
    near, far = await pair()
    near.takes_back = True
    command = encode_command([b"SET", b"k", b"v"])
    far.transport.write(command + command[:4])
    await until(lambda: bool(near.parts))
    far.transport.write(command[4:] + command[:9])
    await until(lambda: len(near.parts) == 2)
    assert near.parts == [(command, command[:4]), (command, command[:9])]
    far.transport.close()
    await until(lambda: bool(near.lost))
    assert near.parts[2:] == [(b"", command[:9])]


@in_loop
async def test_what_the_kernel_does_not_take_goes_out_later() -> None:
    near, far = await pair()
    far.transport.pause_reading()
    assert near.conn.send([bytes(FLOOD)]) == FLOOD
    assert near.conn.send([b"end"]) == 3
    far.transport.resume_reading()
    await until(lambda: far.heard == bytes(FLOOD) + b"end")
    assert near.conn.send([b"!"]) == 1
    await until(lambda: far.heard.endswith(b"end!"))


@in_loop
async def test_a_write_to_one_who_has_gone_is_a_loss() -> None:
    near, far = await pair()
    near.conn.read(False)
    far.transport.abort()
    await until(lambda: not far.is_open)
    await asyncio.sleep(0.02)
    for _ in range(3):
        near.conn.send([b"x"])
        await asyncio.sleep(0)
    await until(lambda: len(near.lost) == 1)


@in_loop
async def test_reads_grow_with_what_comes_up_to_what_is_allowed() -> None:
    near, far = await pair()
    near.takes_back = True
    near.conn.most_read_bytes = 100_000
    command = encode_command([b"SET", b"k", bytes(1000)])
    far.transport.write(1000 * command)
    await until(lambda: len(near.data) >= 1000 * len(command) and not near.kept)
    sizes = [len(data) for data, _ in near.parts]
    assert max(sizes) <= 100_000 + 2 * len(command)
    assert b"".join(data for data, _ in near.parts) == 1000 * command


def _reset(far: Far) -> None:
    """End the connection as a peer does that dies with bytes unread."""
    sock = far.transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    far.transport.abort()


@in_loop
async def test_a_reset_is_a_loss_at_once() -> None:
    """The loop's own watch on the socket ends with it in silence."""
    near, far = await pair()
    far.transport.write(b"last words")
    await until(lambda: near.data == b"last words")
    _reset(far)
    await until(lambda: near.lost)
    assert len(near.lost) == 1


@in_loop
async def test_a_wire_that_has_to_receive_before_it_sends() -> None:
    """As TLS does in a handshake: to wait until it can be written would be in vain."""
    near, far = await pair()
    assert near.conn._wire is not None
    near.conn._wire.sends_when_readable = True
    near.conn.send([bytes(FLOOD)])
    await asyncio.sleep(0.05)
    assert 0 < len(far.heard) < FLOOD
    while len(far.heard) < FLOOD:
        before = len(far.heard)
        far.transport.write(b"go on")
        await until(lambda at=before: len(far.heard) > at)  # type: ignore[misc]


@in_loop
async def test_a_reset_while_nothing_is_read_is_heard_of_later() -> None:
    near, far = await pair()
    near.conn.read(False)
    far.transport.write(b"last words")
    _reset(far)
    await until(lambda: not far.is_open)
    await asyncio.sleep(0)
    near.conn.read(True)
    await until(lambda: near.lost)
    assert near.data == b"last words" and len(near.lost) == 1


@in_loop
async def test_a_reset_before_all_is_written_is_a_loss() -> None:
    near, far = await pair()
    near.conn.read(False)
    far.transport.pause_reading()
    near.conn.send([bytes(FLOOD)])
    _reset(far)
    await until(lambda: near.lost)
