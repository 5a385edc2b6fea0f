"""From the pipe of a child to a wire: in order, at the wire's pace, and to the last byte."""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from pyrepl.daemon.feeding.relay import Relay
from tests.unit.daemon.rig import in_loop, open_fds, until

MANY = 3_000_000


class Transport:
    """A transport whose wire takes bytes when it is told to."""

    def __init__(self) -> None:
        self.taken = b""
        self.waiting = b""
        self.is_open = True
        self.asked = 0

    def write(self, data: bytes) -> None:
        if self.is_open:
            self.taken += data
        else:
            self.waiting += data

    def get_write_buffer_size(self) -> int:
        return len(self.waiting)

    def tell_when_writable(self) -> None:
        self.asked += 1

    def drain(self) -> None:
        self.taken, self.waiting = self.taken + self.waiting, b""


def begun() -> tuple[Relay, Transport, int]:
    """A relay, its transport, and the child's end of the pipe."""
    transport = Transport()
    relay = Relay(transport)  # type: ignore[arg-type]
    child = os.dup(relay.child_fd)
    relay.begin()
    return relay, transport, child


async def write(fd: int, data: bytes) -> None:
    """As the child does, which waits for room."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            await asyncio.sleep(0)


@in_loop
async def test_all_of_it() -> None:
    before = open_fds()
    relay, transport, child = begun()
    data = random.Random(1).randbytes(MANY)
    await write(child, data)
    os.close(child)
    relay.finish()
    assert transport.taken == data
    relay.close()
    assert open_fds() <= before


@in_loop
async def test_the_wire_sets_the_pace() -> None:
    relay, transport, child = begun()
    transport.is_open = False
    data = random.Random(2).randbytes(MANY)
    writing = asyncio.ensure_future(write(child, data))
    await until(lambda: transport.asked)
    for _ in range(20):
        await asyncio.sleep(0)
    assert transport.asked == 1 and len(transport.waiting) < 600_000 and not writing.done(), "the child waits"
    while not writing.done():
        transport.drain()
        relay.go_on()
        await asyncio.sleep(0)
    os.close(child)
    relay.finish()
    transport.drain()
    assert transport.taken == data


@in_loop
async def test_nobody_reads_any_more() -> None:
    relay, _, child = begun()
    relay.close()
    relay.go_on()
    relay.finish()
    with pytest.raises(BrokenPipeError):
        os.write(child, b"x")
    os.close(child)


@in_loop
async def test_without_a_child() -> None:
    before = open_fds()
    relay = Relay(Transport())  # type: ignore[arg-type]
    relay.go_on()
    relay.close()
    assert open_fds() <= before


@in_loop
async def test_the_end_of_the_pipe_alone_says_nothing() -> None:
    """The child may have been killed: who reaps it knows."""
    relay, transport, child = begun()
    os.close(child)
    await asyncio.sleep(0.02)
    assert transport.taken == b""
    relay.finish()
