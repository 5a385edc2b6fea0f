"""The timer: each service when it is due and no more often, and a defect in one stops no other."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.cron import Cron
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.service import Service, Services
from tests.unit.daemon.rig import KeptLog, RunningNode, bare_node, in_loop, running, until


def keys(node: RunningNode) -> int:
    return len(node.app.node.keyspace.databases[0].store.values)


class Ticks(Service):
    """Notes when it was ticked, and wants to be every `period_s`."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.at: list[float] = []

    def tick(self, now: float) -> None:
        self.at.append(now)
        if self.period_s < 0:
            raise ValueError("a defect")

    def next_deadline(self, now: float) -> float:
        return now + self.period_s


async def ticked(*services: Ticks, hz: int, until_first_has: int) -> KeptLog:
    """Let a timer of `hz` drive them until the first one was ticked so often."""
    kept = KeptLog()
    node = bare_node(hz=hz, event_log="none")
    faults = Faults(kept.log, EventLog(node, Clock(), kept.log))
    cron = Cron(node, Services(*services), faults, Clock())
    cron.start()
    await until(lambda: len(services[0].at) >= until_first_has)
    cron.stop()
    return kept


@in_loop
async def test_each_at_its_deadline() -> None:
    always, seldom, once = Ticks(0.0), Ticks(0.1), Ticks(math.inf)
    await ticked(always, seldom, once, hz=100, until_first_has=30)
    assert len(once.at) == 1, "the first tick of the timer is everybody's"
    assert 2 <= len(seldom.at) <= 1 + (always.at[-1] - always.at[0]) / 0.1
    assert all(later - earlier >= 0.1 for earlier, later in zip(seldom.at, seldom.at[1:]))
    assert set(seldom.at) <= set(always.at), "one look at the clock for all"


@in_loop
async def test_a_deadline_does_not_wake_the_node() -> None:
    soon, always = Ticks(0.001), Ticks(0.0)
    await ticked(soon, always, hz=20, until_first_has=4)
    assert soon.at == always.at
    assert all(later - earlier > 0.04 for earlier, later in zip(soon.at, soon.at[1:]))


@in_loop
async def test_what_fails_is_logged_and_tried_again_when_it_is_due() -> None:
    always, broken = Ticks(0.0), Ticks(-1.0)
    kept = await ticked(always, broken, hz=100, until_first_has=3)
    assert len(broken.at) == 3
    assert sum("background work Ticks.tick: ValueError: a defect" in line for line in kept.lines) == 3


@in_loop
async def test_a_defect_stops_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, hz=100) as node:

        def broken(now: float) -> None:
            raise ValueError("a defect")

        broken.__qualname__ = "tick"
        monkeypatch.setattr(node.app.replicas, "tick", broken)
        await until(lambda: node.logged("background work tick: ValueError: a defect"))
        peer = await node.peer()
        await peer.say("SET a 1 PX 20")
        await until(lambda: keys(node) == 0)


@in_loop
async def test_stopped_it_does_nothing_more(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100) as node:
        node.app.cron.stop()
        await (await node.peer()).say("SET a 1 PX 10")
        await asyncio.sleep(0.05)
        assert keys(node) == 1
