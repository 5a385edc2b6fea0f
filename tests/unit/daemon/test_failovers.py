"""FAILOVER between two nodes in one process: the switch, what clients see of it, and what is put back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pyrepl.daemon.signals import SignalOf
from pyrepl.replication.role import Holder
from tests.unit.daemon.rig import RunningNode, in_loop, link_up, running, same_data, until


async def in_step(master: RunningNode, replica: RunningNode) -> None:
    await master.say("SET a 1")
    await replica.say(f"REPLICAOF 127.0.0.1 {master.port}")
    await link_up(replica)
    await same_data(master, replica)


def folders(base: Path) -> tuple[Path, Path]:
    one, two = base / "1", base / "2"
    one.mkdir()
    two.mkdir()
    return one, two


@in_loop
async def test_the_roles_are_exchanged_without_a_snapshot(tmp_path: Path) -> None:
    one, two = folders(tmp_path)
    async with running(one) as old, running(two) as new:
        await in_step(old, new)
        assert await old.say("FAILOVER") == "OK"
        await link_up(old)
        assert (await old.info("role"), await new.info("role")) == ("slave", "master")
        assert await new.info("sync_full") == "0" and await new.info("sync_partial_ok") == "1"
        assert str(await old.say("SET a 2")).startswith("READONLY ")
        assert await new.say("SET a 3") == "OK"
        await same_data(new, old)
        assert await old.info("master_failover_state") == "no-failover"


@in_loop
async def test_a_paused_write_is_refused_after_the_switch(tmp_path: Path) -> None:
    one, two = folders(tmp_path)
    async with running(one) as old, running(two) as new:
        await in_step(old, new)
        await old.say("FAILOVER")
        assert str(await old.say("SET late 1")).startswith("READONLY ")
        assert await new.say("EXISTS late") == 0


@in_loop
async def test_writes_go_on_when_nobody_can_take_over(tmp_path: Path) -> None:
    one, two = folders(tmp_path)
    async with running(one) as old, running(two) as new:
        await in_step(old, new)
        session = next(iter(old.app.node.replication.roster.sessions.values()))
        session.told.listening_port = 1
        assert await old.say("FAILOVER TO 127.0.0.1 1 TIMEOUT 60000") == "OK"
        await until(lambda: old.app.node.replication.role.is_replica, "it tries to hand over")
        assert await old.say("FAILOVER ABORT") == "OK"
        await until(lambda: not old.app.node.replication.role.is_replica, "it is the master again")
        assert await old.say("SET a 2") == "OK"
        assert old.logged("Failover aborted")


@in_loop
async def test_a_node_that_is_no_replica_refuses(tmp_path: Path) -> None:
    """The former replica was promoted by hand in the meantime: it says no, and we stay the master."""
    one, two = folders(tmp_path)
    async with running(one) as old, running(two) as new:
        await in_step(old, new)
        old.app.node.replication.role.stand_still(Holder.FAILOVER)
        await new.say("REPLICAOF NO ONE")
        old.app.roles.hand_over("127.0.0.1", new.port)
        refused: list[str] = []
        old.app.signals.handed_over = SignalOf()
        old.app.signals.handed_over.subscribe(refused.append)
        await until(lambda: bool(refused), "the refusal")
        assert "PSYNC FAILOVER can't be sent to a master" in refused[0]
        old.app.roles.take_back()
        assert await old.info("role") == "master"
        await asyncio.sleep(0)


async def waiting(one: RunningNode, two: RunningNode) -> None:
    """A failover that cannot go on: no replica seems to have everything."""
    await in_step(one, two)
    one.app.node.replication.failover._complete = lambda: None  # type: ignore[method-assign]
    assert await one.say("FAILOVER") == "OK"


@in_loop
async def test_no_other_master_meanwhile(tmp_path: Path) -> None:
    one, two = folders(tmp_path)
    async with running(one) as old, running(two) as new:
        await waiting(old, new)
        for words in ("NO ONE", f"127.0.0.1 {new.port}"):
            assert str(await old.say(f"REPLICAOF {words}")) == "ERR REPLICAOF not allowed while failing over."
        assert await old.say("FAILOVER ABORT") == "OK"
        assert await old.say("REPLICAOF NO ONE") == "OK"


@in_loop
async def test_the_end_of_the_stream_stands_still(tmp_path: Path) -> None:
    """Neither CLIENT UNPAUSE nor a key that a read finds expired moves it."""
    one, two = folders(tmp_path)
    async with running(one) as old, running(two) as new:
        await old.say("SET short 1 PX 1")
        await old.say("DEBUG SET-ACTIVE-EXPIRE 0")
        await waiting(old, new)
        end = old.app.node.replication.backlog.end
        assert await old.say("CLIENT UNPAUSE") == "OK"
        assert await old.say("EXISTS short") == 0
        writing = asyncio.ensure_future(old.say("SET late 1"))
        await asyncio.sleep(0.05)
        assert old.app.node.replication.backlog.end == end and not writing.done()
        assert await old.say("FAILOVER ABORT") == "OK"
        assert await writing == "OK"
        assert await old.say("EXISTS short") == 0
        await until(lambda: old.app.node.replication.backlog.end > end, "the DEL, and the write")
