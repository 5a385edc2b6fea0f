"""Many sockets in one look: all are served, a defect ends one of them alone, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyrepl.commands.session import connection
from pyrepl.daemon.clients.poller import MOST_EVENTS
from tests.unit.daemon.rig import in_loop, open_fds, running, until


@in_loop
async def test_more_sockets_than_one_look_serves(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peers = [await node.peer() for _ in range(MOST_EVENTS + 44)]
        for number, peer in enumerate(peers):
            peer.send("ECHO", str(number))
        for number, peer in enumerate(peers):
            assert await peer.read() == str(number).encode()
        for peer in peers:
            peer.close()
        await until(lambda: not node.app.clients.conns, "the end of all connections")


@in_loop
async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = open_fds()
    async with running(tmp_path) as node:
        peer = await node.peer()
        assert await peer.say("PING") == "PONG"
        peer.close()
    await until(lambda: open_fds() <= before, "the descriptors to be closed")


def test_a_defect_ends_one_connection_alone(tmp_path: Path) -> None:
    faults: list[dict[str, Any]] = []

    @in_loop
    async def run() -> None:
        async with running(tmp_path) as node:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
            healthy, ill = await node.peer(), await node.peer()
            row = connection.echo
            fn, row.fn = row.fn, _broken
            entry = node.app.dispatcher._by_name[b"ECHO"]
            entry.fn = _broken
            try:
                ill.send("ECHO", "x")
                assert await ill.rest() == b""
            finally:
                row.fn = entry.fn = fn
            assert await healthy.say("ECHO y") == b"y"

    run()
    assert [type(context["exception"]) for context in faults] == [ZeroDivisionError]


def _broken(call: object, word: bytes) -> int:
    return 1 // 0


@in_loop
async def test_a_full_table_of_descriptors_is_waited_out(tmp_path: Path) -> None:
    """accept() fails for want of a descriptor: the connection waits, and is served when there is one again."""
    async with running(tmp_path) as node:
        first = await node.peer()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        waiting = socket.socket()
        waiting.setblocking(False)
        used = max(int(item.split()[0]) for item in open_fds())
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, hard))
        fillers: list[int] = []
        try:
            with suppress(OSError):
                while True:
                    fillers.append(os.open(os.devnull, os.O_RDONLY))
            await asyncio.get_running_loop().sock_connect(waiting, ("127.0.0.1", node.port))
            waiting.send(b"PING\r\n")
            assert await first.say("PING") == "PONG"
            await asyncio.sleep(0.02)
            assert len(node.app.clients.conns) == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for filler in fillers:
                os.close(filler)
        assert await asyncio.get_running_loop().sock_recv(waiting, 7) == b"+PONG\r\n"
        waiting.close()
