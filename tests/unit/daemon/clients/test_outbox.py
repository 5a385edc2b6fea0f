"""Replies wait for the end of a turn, then all connections are written; none is forgotten, none written twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pyrepl.daemon.clients.outbox import MOST, Outbox
from pyrepl.daemon.signals import Signal
from tests.unit.daemon.rig import in_loop, running


class Flushed:
    """Something with a `write_out`, as the outbox knows a connection."""

    def __init__(self) -> None:
        self.count = 0

    def write_out(self) -> None:
        self.count += 1


@in_loop
async def test_outside_a_turn_they_go_in_the_next() -> None:
    outbox, one = Outbox(Signal()), Flushed()
    outbox.add(one)
    assert one.count == 0
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert one.count == 1
    await asyncio.sleep(0.01)
    assert one.count == 1


@in_loop
async def test_those_of_a_turn_go_at_its_end() -> None:
    outbox, one, two = Outbox(Signal()), Flushed(), Flushed()
    outbox.begin_turn()
    outbox.add(one)
    outbox.add(two)
    assert (one.count, two.count) == (0, 0)
    outbox.end_turn()
    assert (one.count, two.count) == (1, 1)
    await asyncio.sleep(0.01)
    assert (one.count, two.count) == (1, 1)


@in_loop
async def test_many_do_not_wait_for_its_end() -> None:
    outbox = Outbox(Signal())
    conns = [Flushed() for _ in range(MOST + 1)]
    outbox.begin_turn()
    for conn in conns:
        outbox.add(conn)
    assert [conn.count for conn in conns] == [1] * MOST + [0]
    outbox.end_turn()
    assert [conn.count for conn in conns] == [1] * (MOST + 1)


@in_loop
async def test_flush_at_once() -> None:
    outbox, one = Outbox(Signal()), Flushed()
    outbox.add(one)
    outbox.flush()
    assert one.count == 1
    outbox.add(one)
    await asyncio.sleep(0.01)
    assert one.count == 2


@in_loop
async def test_what_comes_before_replies_is_done_once() -> None:
    deeds: list[str] = []

    class Written:
        def write_out(self) -> None:
            deeds.append("written")

    before = Signal()
    before.subscribe(lambda: deeds.append("before"))
    outbox = Outbox(before)
    outbox.flush()
    assert deeds == []
    outbox.add(Written())
    outbox.add(Written())
    outbox.flush()
    assert deeds == ["before", "written", "written"]


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
