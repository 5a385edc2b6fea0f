"""Replies wait a turn or two of the loop, then all connections are written; none is forgotten, none written twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

from pyrepl.daemon.client_conn import ClientConn
from pyrepl.daemon.outbox import ROUNDS, Outbox
from tests.unit.daemon.rig import in_loop, running


class Flushed:
    """Something with a `flush`, as the outbox knows a connection."""

    def __init__(self) -> None:
        self.count = 0

    def flush(self) -> None:
        self.count += 1

    @property
    def conn(self) -> ClientConn:
        return cast(ClientConn, self)


@in_loop
async def test_a_lone_reply_goes_after_one_look() -> None:
    outbox, one = Outbox(), Flushed()
    outbox.add(one.conn)
    assert one.count == 0
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert one.count == 1
    await asyncio.sleep(0.01)
    assert one.count == 1


@in_loop
async def test_all_together_and_not_for_ever_later() -> None:
    """As long as each look brings more they wait, but for ROUNDS looks at most."""
    outbox = Outbox()
    conns = [Flushed() for _ in range(10)]
    looks = 0
    for conn in conns:
        outbox.add(conn.conn)
        if conns[0].count:
            break
        await asyncio.sleep(0)
        looks += 1
    assert conns[0].count == 1 and looks <= ROUNDS + 1
    await asyncio.sleep(0.01)
    assert [conn.count for conn in conns[: looks + 1]] == [1] * (looks + 1)


@in_loop
async def test_flush_at_once() -> None:
    outbox, one = Outbox(), Flushed()
    outbox.add(one.conn)
    outbox.flush()
    assert one.count == 1
    outbox.add(one.conn)
    await asyncio.sleep(0.01)
    assert one.count == 2


@in_loop
async def test_many_connections_that_talk_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peers = [await node.peer() for _ in range(20)]
        for turn in range(5):
            for index, peer in enumerate(peers):
                peer.send("ECHO", f"{turn}-{index}")
                peer.send("ECHO", "again")
            for index, peer in enumerate(peers):
                assert [await peer.read(), await peer.read()] == [b"%d-%d" % (turn, index), b"again"]
