"""A node with a stream port, and a small line client for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pyrepl.changes.history_digits import digits_of, token_at
from pyrepl.config.kinds import MasterAddress
from tests.peers.ports import free_port
from tests.peers.wire import Word
from tests.unit.daemon.rig import Peer, RunningNode, link_up, running


class Follower:
    """One connection to a stream port."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    def say(self, *lines: str) -> None:
        for line in lines:
            self.peer.write(line.encode() + b"\n")

    async def line(self) -> str:
        """The next line but PING, "" when the node has closed."""
        while True:
            line = (await self.peer.line()).decode()
            if not line.startswith("PING"):
                return line.removesuffix("\n")

    async def lines(self, count: int) -> list[str]:
        return [await self.line() for _ in range(count)]

    async def rows(self, count: int) -> list[Any]:
        """The next rows, whatever stands between them."""
        found: list[Any] = []
        while len(found) < count:
            line = await self.line()
            assert line, f"closed after {found}"
            if line.startswith("RDATA "):
                found.append(json.loads(line.split(" ", 3)[3]))
        return found

    async def end(self) -> str:
        """The ERROR that ends the connection."""
        last = ""
        while line := await self.line():
            last = line
        return last

    def close(self) -> None:
        self.peer.close()


@asynccontextmanager
async def streaming(folder: Path, **settings: Any) -> AsyncIterator[tuple[RunningNode, int]]:
    """A running node and its stream port."""
    port = free_port()
    async with running(folder, stream_port=port, stream_name="node-a", **settings) as node:
        yield node, port


@asynccontextmanager
async def pair(folder: Path, **settings: Any) -> AsyncIterator[tuple[RunningNode, RunningNode, int]]:
    """A master, its replica, whose link is up, and the replica's stream port."""
    both = {"stream_port": free_port(), "stream_name": "node-m", **settings}
    async with running(made(folder, "m"), **both) as master:
        address = MasterAddress("127.0.0.1", master.port)
        async with streaming(made(folder, "r"), replicaof=address, **settings) as (replica, port):
            await link_up(replica)
            yield master, replica, port


async def follow(port: int, *lines: str) -> Follower:
    """A connection that has been greeted and has said `lines`."""
    follower = Follower(Peer(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)))
    assert await follower.line() == "SERVER node-a"
    follower.say(*lines)
    return follower


def token_of(node: RunningNode, replid: str = "", cut: int | None = None) -> int:
    """The token that this node gives for a cut, its end without one, under its history's name, or another."""
    replication = node.app.node.replication
    at = replication.backlog.end if cut is None else cut
    return token_at(int(at), digits_of(replid or replication.history.replid))


async def call(node: RunningNode, *words: Word) -> Any:
    """The reply to one command whose words may hold anything."""
    peer = await Peer.to(node.port)
    try:
        return await peer.call(*words)
    finally:
        peer.close()


def made(folder: Path, name: str) -> Path:
    """A new folder in `folder`."""
    (folder / name).mkdir()
    return folder / name
