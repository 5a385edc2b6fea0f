"""WAIT: each waiting client is answered once, by enough ACKs or by time."""

from __future__ import annotations

import asyncio

from pyrepl.daemon.waiters import Waiters
from pyrepl.replication.psync import Request
from pyrepl.replication.roster import Roster
from pyrepl.replication.session import Session
from pyrepl.units import Offset, ReplId
from tests.unit.daemon.rig import bare_node, in_loop, until


class Bench:
    """A roster with replicas that continue, and the answers given."""

    def __init__(self, replicas: int = 2) -> None:
        replication = bare_node().replication
        self.roster: Roster = replication.roster
        self.answers: list[tuple[int, int]] = []
        self.waiters = Waiters(self.roster, lambda client_id, acked: self.answers.append((client_id, acked)))
        replication.backlog.create()
        self.sessions = [self._online(number, replication.history.replid) for number in range(replicas)]
        replication.backlog.append(b"x" * 100)
        for session in self.sessions:
            assert session.cursor is not None
            session.cursor.advance(100)

    def ack(self, replica: int, cut: int) -> None:
        self.sessions[replica].receive_command([b"REPLCONF", b"ACK", b"%d" % cut], 2.0)
        self.waiters.look()

    def _online(self, number: int, replid: ReplId) -> Session:
        session = self.roster.open_session(number, "h", 1.0)
        self.roster.request_sync(session, Request(replid, Offset(0)), 1.0)
        return session


@in_loop
async def test_enough_acks() -> None:
    bench = Bench()
    bench.waiters.add(7, 1, 50, 0)
    bench.ack(0, 49)
    assert bench.answers == []
    bench.ack(0, 50)
    assert bench.answers == [(7, 1)] and bench.waiters.waiting == {}


@in_loop
async def test_each_its_own_place_and_number() -> None:
    bench = Bench()
    bench.waiters.add(7, 2, 50, 0)
    bench.waiters.add(8, 1, 100, 0)
    bench.ack(0, 100)
    assert bench.answers == [(8, 1)]
    bench.ack(1, 60)
    assert bench.answers == [(8, 1), (7, 2)]


@in_loop
async def test_time_is_over() -> None:
    bench = Bench()
    bench.ack(0, 100)
    bench.waiters.add(7, 2, 100, 20)
    await until(lambda: bench.answers)
    assert bench.answers == [(7, 1)]


@in_loop
async def test_answered_in_time_is_not_answered_again() -> None:
    bench = Bench()
    bench.waiters.add(7, 1, 100, 20)
    bench.ack(0, 100)
    await asyncio.sleep(0.05)
    assert bench.answers == [(7, 1)]


@in_loop
async def test_gone_is_not_answered() -> None:
    bench = Bench()
    bench.waiters.add(7, 1, 100, 20)
    bench.waiters.forget(7)
    bench.waiters.forget(7)
    bench.ack(0, 100)
    await asyncio.sleep(0.05)
    assert bench.answers == []
