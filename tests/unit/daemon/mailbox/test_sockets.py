"""Sockets in plain Python: what is written comes in order, a slow end is waited for, an end is told once."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import pytest

from pyrepl.daemon.mailbox.sockets import Sockets, TalkSocket
from pyrepl.daemon.wires.plain_wire import PlainWire
from tests.unit.daemon.rig import in_loop, soon, until


class Conn:
    def __init__(self) -> None:
        self.data = b""
        self.resumed = 0
        self.lost: list[str] = []
        self.fails = False

    def data_received(self, data: bytes) -> None:
        assert not self.fails
        self.data += data

    def resume_writing(self) -> None:
        self.resumed += 1

    def connection_lost(self, why: str) -> None:
        self.lost.append(why)


def pair(sockets: Sockets) -> tuple[TalkSocket, Conn, socket.socket]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    conn = Conn()
    return sockets.add(PlainWire(ours), conn), conn, theirs


async def all_of(theirs: socket.socket) -> bytes:
    """Whatever comes until the end."""
    loop, found = asyncio.get_running_loop(), b""
    while data := await soon(loop.sock_recv(theirs, 1 << 20)):
        found += data
    return found


@in_loop
async def test_bytes_pass_in_both_directions() -> None:
    sockets = Sockets()
    ours, conn, theirs = pair(sockets)
    theirs.send(b"hello")
    await until(lambda: conn.data == b"hello")
    ours.write([b"a", b"", b"bc"])
    ours.close()
    assert await all_of(theirs) == b"abc"
    await until(lambda: conn.lost == [""])
    sockets.close()
    assert conn.lost == [""]


@in_loop
async def test_a_slow_end_is_waited_for() -> None:
    sockets = Sockets()
    ours, conn, theirs = pair(sockets)
    sent = [bytes([number]) * 100_000 for number in range(50)]
    ours.write(sent)
    assert 0 < ours.unsent <= 5_000_000
    ours.write([b"end"])
    reading = asyncio.create_task(all_of(theirs))
    await until(lambda: conn.resumed == 1)
    assert ours.unsent == 0
    ours.close()
    assert await reading == b"".join(sent) + b"end"
    sockets.close()


@in_loop
async def test_reading_stops_while_it_is_not_wanted() -> None:
    sockets = Sockets()
    ours, conn, theirs = pair(sockets)
    ours.read_on(False)
    theirs.send(b"hello")
    await asyncio.sleep(0.02)
    assert conn.data == b""
    ours.read_on(True)
    await until(lambda: conn.data == b"hello")
    ours.abort()
    ours.write([b"late"])
    ours.read_on(False)
    await until(lambda: conn.lost)
    sockets.close()


@pytest.mark.parametrize(("size", "waits"), [(1 << 20, False), (10_000_000, True)])
@in_loop
async def test_an_end_that_reads_nothing_is_told_at_once_that_it_was_cut(size: int, waits: bool) -> None:
    """Else its system would ask for minutes whether there is room for what it has to send."""
    sockets, conn = Sockets(), Conn()
    with socket.create_server(("127.0.0.1", 0)) as port, socket.create_connection(port.getsockname()) as theirs:
        ours = sockets.add(PlainWire(port.accept()[0]), conn)
        theirs.setblocking(False)
        ours.read_on(False)
        ours.write([bytes(size)])
        with suppress(BlockingIOError):
            while theirs.send(bytes(1 << 20)):
                pass
        assert ours.unsent if waits else not ours.unsent
        ours.close_if_read()
        await asyncio.sleep(0.02)
        assert conn.lost == []
        ours.cut()
        ours.cut()
        await until(lambda: conn.lost == [""])
        with pytest.raises(ConnectionResetError):
            theirs.send(b"x")
    sockets.close()


@in_loop
async def test_an_end_that_has_read_nearly_everything_is_waited_for_no_longer() -> None:
    sockets, conn = Sockets(), Conn()
    with socket.create_server(("127.0.0.1", 0)) as port, socket.create_connection(port.getsockname()) as theirs:
        ours = sockets.add(PlainWire(port.accept()[0]), conn)
        theirs.setblocking(False)
        ours.write([b"the last line"])
        ours.close_if_read()
        await until(lambda: conn.lost == [""])
        assert await all_of(theirs) == b"the last line"
    sockets.close()


@in_loop
async def test_the_other_end_goes() -> None:
    sockets = Sockets()
    _, conn, theirs = pair(sockets)
    theirs.close()
    await until(lambda: conn.lost == [""])
    sockets.close()


@in_loop
async def test_what_it_said_before_is_still_read() -> None:
    sockets = Sockets()
    ours, conn, theirs = pair(sockets)
    theirs.send(b"hello")
    theirs.close()
    ours.write([b"to nobody"])
    ours.write([b"more"])
    await until(lambda: conn.lost == [""])
    assert conn.data == b"hello" and ours.unsent == 0
    sockets.close()


@in_loop
async def test_a_defect_ends_its_own_connection_alone() -> None:
    sockets = Sockets()
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))
    _, conn, theirs = pair(sockets)
    _, other, others = pair(sockets)
    conn.fails = True
    theirs.send(b"x")
    await until(lambda: conn.lost)
    others.send(b"y")
    await until(lambda: other.data == b"y")
    assert len(told) == 1 and isinstance(told[0], AssertionError)
    sockets.close()
