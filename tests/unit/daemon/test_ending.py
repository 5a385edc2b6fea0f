"""How a node ends: who is waited for, what is saved, who is answered when it does not end after all."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pyrepl.node.waits import Kind
from tests.unit.daemon.rig import (
    Peer,
    RunningNode,
    children,
    in_loop,
    link_up,
    running,
    same_data,
    soon,
    until,
)


async def lagging_replica(node: RunningNode) -> Peer:
    """A replica that continues, and does not acknowledge what is written next."""
    peer = await node.peer()
    node.app.node.replication.backlog.create()
    peer.send("PSYNC", node.app.node.replication.history.replid, 1)
    assert (await peer.line()).startswith(b"+CONTINUE")
    assert await node.say("SET a 1") == "OK"
    await until(node.app.replicas.lagging)
    return peer


def end_of_stream(node: RunningNode) -> int:
    return node.app.node.replication.backlog.end


class TestCommand:
    @in_loop
    async def test_without_replicas_it_is_at_once_and_without_a_word(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=10)
        await node.start()
        assert await (await node.peer()).rest_after("SHUTDOWN") == b""
        assert node.life is not None
        await soon(node.life)
        assert node.lines[-1].endswith("bye bye...") and node.logged("User requested shutdown")
        await node.stop()

    @in_loop
    async def test_save_and_nosave(self, tmp_path: Path) -> None:
        for save_points, words, saved in (
            ((), "SHUTDOWN", False),
            ((), "SHUTDOWN SAVE", True),
            (((3600, 1),), "SHUTDOWN NOSAVE", False),
            (((3600, 1),), "SHUTDOWN", True),
        ):
            node = RunningNode(tmp_path, save=save_points)
            await node.start()
            assert await node.say("SET a 1") == "OK"
            await (await node.peer()).rest_after(words)
            await node.stop()
            assert (tmp_path / "dump.rdb").exists() is saved, words
            (tmp_path / "dump.rdb").unlink(missing_ok=True)

    @in_loop
    async def test_a_save_that_fails_keeps_the_node(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            (tmp_path / "dump.rdb").mkdir()
            assert await peer.error("SHUTDOWN SAVE") == "ERR Errors trying to SHUTDOWN. Check logs."
            assert await peer.say("SET a 1") is not None
            assert node.logged("Error trying to save the DB, can't exit")
            assert node.logged("Errors trying to shut down the server.") and "SHUTDOWN NOSAVE" in node.lines[-1]

    @in_loop
    async def test_unless_it_is_forced(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path)
        await node.start()
        (tmp_path / "dump.rdb").mkdir()
        assert await (await node.peer()).rest_after("SHUTDOWN SAVE FORCE") == b""
        assert node.life is not None
        await soon(node.life)
        await node.stop()


class TestWaiting:
    @in_loop
    async def test_until_the_replica_has_it_all(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=10)
        await node.start()
        replica, operator, writer, reader = await lagging_replica(node), *[await node.peer() for _ in range(3)]
        operator.send("SHUTDOWN")
        await until(lambda: node.logged("Waiting for replicas before shutting down"))
        writer.send("SET", "b", "1")
        assert await reader.say("GET a") == b"1"
        assert await writer.is_silent(0.05)
        replica.send("REPLCONF", "ACK", end_of_stream(node))
        assert node.life is not None
        await soon(node.life)
        assert node.logged("1 of 1 replicas are in sync when shutting down")
        stream = await replica.rest()
        assert b"SET\r\n$1\r\na" in stream and b"GETACK" in stream
        await node.stop()

    @in_loop
    async def test_a_replica_that_takes_a_snapshot_is_not_in_sync(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=10, repl_diskless_sync_delay=60)
        await node.start()
        replica = await node.peer()
        assert await replica.say("REPLCONF capa eof") == "OK"
        replica.send("PSYNC", "?", "-1")
        await until(lambda: node.app.node.replication.roster.sessions)
        assert await node.say("SET a 1") == "OK"
        (await node.peer()).send("SHUTDOWN")
        assert node.life is not None
        await soon(node.life)
        assert not node.logged("Waiting for replicas"), "a snapshot takes longer than a shutdown may"
        assert node.logged(f"reported offset {end_of_stream(node)} behind master, lag=0, state=wait_bgsave.")
        assert node.logged("0 of 1 replicas are in sync when shutting down")
        await node.stop()

    @in_loop
    async def test_not_for_ever(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=1)
        await node.start()
        await lagging_replica(node)
        (await node.peer()).send("SHUTDOWN")
        assert node.life is not None
        await soon(node.life)
        assert node.logged("Lagging replica") and node.logged("0 of 1 replicas are in sync")
        await node.stop()

    @in_loop
    async def test_now_does_not_wait(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=100)
        await node.start()
        await lagging_replica(node)
        assert await (await node.peer()).rest_after("SHUTDOWN NOW") == b""
        await node.stop()

    @in_loop
    async def test_abort(self, tmp_path: Path) -> None:
        async with running(tmp_path, shutdown_timeout=10) as node:
            await lagging_replica(node)
            operator, writer = await node.peer(), await node.peer()
            assert await writer.error("SHUTDOWN ABORT") == "ERR No shutdown in progress."
            operator.send("SHUTDOWN")
            await until(lambda: node.logged("Waiting for replicas before shutting down"))
            writer.send("SET", "b", "1")
            assert await writer.is_silent(0.02)
            assert await node.say("SHUTDOWN ABORT") == "OK"
            assert str(await operator.read()) == "ERR Errors trying to SHUTDOWN. Check logs."
            assert await writer.read() == "OK"
            assert await operator.say("PING") == "PONG"

    @in_loop
    async def test_a_replica_takes_nothing_more_while_its_own_replicas_catch_up(self, tmp_path: Path) -> None:
        above, below = tmp_path / "above", tmp_path / "below"
        above.mkdir()
        below.mkdir()
        async with running(above) as master, running(below, shutdown_timeout=10) as node:
            await node.say(f"REPLICAOF 127.0.0.1 {master.port}")
            await link_up(node)
            peer = await node.peer()
            history = node.app.node.replication.history
            peer.send("PSYNC", history.replid, end_of_stream(node) + 1)
            assert (await peer.line()).startswith(b"+CONTINUE")
            await master.say("SET a 1")
            await until(node.app.replicas.lagging)
            operator = await node.peer()
            operator.send("SHUTDOWN")
            await until(lambda: node.logged("Waiting for replicas before shutting down"))
            end = end_of_stream(node)
            await master.say("SET a 2")
            await asyncio.sleep(0.05)
            assert end_of_stream(node) == end
            assert await node.say("SHUTDOWN ABORT") == "OK"
            await link_up(node)
            await same_data(master, node)
            assert await master.info("sync_full") == "1"

    @in_loop
    async def test_abort_answers_everybody_who_asked(self, tmp_path: Path) -> None:
        async with running(tmp_path, shutdown_timeout=10) as node:
            await lagging_replica(node)
            operators = [await node.peer() for _ in range(2)]
            for operator in operators:
                operator.send("SHUTDOWN")
            await until(lambda: len(node.app.node.waiting.waits_of(Kind.SHUTDOWN)) == 2)
            assert await node.say("SHUTDOWN ABORT") == "OK"
            for operator in operators:
                assert str(await operator.read()) == "ERR Errors trying to SHUTDOWN. Check logs."


class TestSnapshotChild:
    @in_loop
    async def test_it_goes_and_leaves_nothing(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, rdb_key_save_delay=100_000)
        await node.start()
        await node.say("DEBUG POPULATE 1000")
        assert await node.say("BGSAVE") == "Background saving started"
        await until(lambda: os.listdir(tmp_path), "the temporary file")
        assert await (await node.peer()).rest_after("SHUTDOWN NOSAVE") == b""
        await node.stop()
        assert children() == [] and os.listdir(tmp_path) == []

    @in_loop
    async def test_a_node_that_goes_on_can_save_again(self, tmp_path: Path) -> None:
        async with running(tmp_path, rdb_key_save_delay=100_000) as node:
            await node.say("DEBUG POPULATE 100")
            assert await node.say("BGSAVE") == "Background saving started"
            await node.say("CONFIG SET rdb-key-save-delay 0")
            (tmp_path / "dump.rdb").mkdir()
            assert await (await node.peer()).error("SHUTDOWN SAVE")
            assert await node.info("rdb_bgsave_in_progress") == "0"
            (tmp_path / "dump.rdb").rmdir()
            assert await node.say("BGSAVE") == "Background saving started"
            await until(lambda: not node.app.saver.is_busy)
            assert os.listdir(tmp_path) == ["dump.rdb"]

    @pytest.mark.parametrize("diskless", [True, False])
    def test_with_one_replica_served_and_another_that_waits(self, tmp_path: Path, diskless: bool) -> None:
        @in_loop
        async def run() -> None:
            node = RunningNode(tmp_path, rdb_key_save_delay=100_000, repl_diskless_sync=diskless)
            await node.start()
            await node.say("DEBUG POPULATE 1000")
            for count in (1, 2):
                peer = await node.peer()
                await peer.say("REPLCONF capa eof capa psync2")
                peer.send("PSYNC", "?", "-1")
                await until(lambda count=count: len(node.app.node.replication.roster.sessions) == count)  # type: ignore[misc]
                await until(children)
            assert await (await node.peer()).rest_after("SHUTDOWN NOSAVE") == b""
            await node.stop()
            assert children() == [] and os.listdir(tmp_path) == []

        run()


class TestSignals:
    @in_loop
    async def test_one(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path)
        await node.start()
        node.app.ending.signal("SIGTERM")
        assert node.life is not None
        await soon(node.life)
        assert node.logged("Received SIGTERM scheduling shutdown...")
        await node.stop()

    @in_loop
    async def test_the_second_waits_for_nobody(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=100)
        await node.start()
        await lagging_replica(node)
        node.app.ending.signal("SIGINT")
        await asyncio.sleep(0.05)
        assert node.life is not None and not node.life.done()
        node.app.ending.signal("SIGINT")
        await soon(node.life)
        await node.stop()

    @in_loop
    async def test_after_a_failed_save_the_next_one_counts_as_the_first(self, tmp_path: Path) -> None:
        async with running(tmp_path, save=((3600, 1),)) as node:
            (tmp_path / "dump.rdb").mkdir()
            for _ in range(2):
                node.app.ending.signal("SIGTERM")
                assert node.life is not None and not node.life.done()
            assert await node.say("DBSIZE") == 0

    @in_loop
    async def test_each_ends_as_its_directive_says(self, tmp_path: Path) -> None:
        for options, save_points, saved in (
            ("save", (), True),
            ("nosave", ((3600, 1),), False),
            ("default", ((3600, 1),), True),
            ("default", (), False),
        ):
            for name, other in (("sigint", "sigterm"), ("sigterm", "sigint")):
                node = RunningNode(tmp_path, save=save_points)
                await node.start()
                against = "nosave" if saved else "save"
                operator = await node.peer()
                assert await operator.call("CONFIG", "SET", f"shutdown-on-{name}", options) == "OK"
                assert await operator.call("CONFIG", "SET", f"shutdown-on-{other}", against) == "OK"
                node.app.ending.signal(name.upper())
                assert node.life is not None
                await soon(node.life)
                await node.stop()
                assert (tmp_path / "dump.rdb").exists() is saved, (options, name)
                (tmp_path / "dump.rdb").unlink(missing_ok=True)

    @in_loop
    async def test_now_waits_for_no_replica(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_timeout=100, shutdown_on_sigterm=("now",))
        await node.start()
        await lagging_replica(node)
        node.app.ending.signal("SIGTERM")
        assert node.life is not None
        await soon(node.life)
        assert not node.logged("Waiting for replicas")
        await node.stop()

    @in_loop
    async def test_force_ends_although_it_cannot_save(self, tmp_path: Path) -> None:
        node = RunningNode(tmp_path, shutdown_on_sigterm=("save", "force"))
        await node.start()
        (tmp_path / "dump.rdb").mkdir()
        node.app.ending.signal("SIGTERM")
        assert node.life is not None
        await soon(node.life)
        assert (tmp_path / "dump.rdb").is_dir()
        await node.stop()
