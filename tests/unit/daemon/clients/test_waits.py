"""Clients that wait, through real connections: WAIT, WAITAOF, pauses, and how each wait ends."""

from __future__ import annotations

from pathlib import Path

from pyrepl.node.waits import WAITAOF_WITHOUT_AOF, Kind, Wait
from tests.unit.daemon.rig import RunningNode, in_loop, running, soon, until


def waiting_at(node: RunningNode, kind: Kind) -> list[Wait]:
    return node.app.node.waiting.waits_of(kind)


class TestWait:
    @in_loop
    async def test_time_runs_out(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer, patient = await node.peer(), await node.peer()
            patient.send("WAIT", "1", "100000")
            await until(lambda: waiting_at(node, Kind.ACKED))
            peer.send("WAIT", "1", "20")
            peer.send("PING")
            assert [await peer.read(), await peer.read()] == [0, "PONG"]
            assert await patient.is_silent(0.03)

    @in_loop
    async def test_whoever_waits_and_goes_is_forgotten(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            writer = await node.peer()
            writer.send("WAIT", "1", "0")
            await until(lambda: waiting_at(node, Kind.ACKED))
            writer.close()
            await until(lambda: not node.app.clients.conns, "the end of the connection")
            assert waiting_at(node, Kind.ACKED) == []

    @in_loop
    async def test_a_client_that_another_unblocks(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            writer = await node.peer()
            number = await writer.say("CLIENT ID")
            assert await node.say(f"CLIENT UNBLOCK {number}") == 0
            writer.send("WAIT", "1", "0")
            await until(lambda: waiting_at(node, Kind.ACKED))
            assert await node.info("blocked_clients") == "1"
            assert await node.say(f"CLIENT UNBLOCK {number}") == 1
            assert await writer.read() == 0
            writer.send("WAIT", "1", "0")
            await until(lambda: waiting_at(node, Kind.ACKED))
            assert await node.say(f"CLIENT UNBLOCK {number} ERROR") == 1
            assert str(await writer.read()) == "UNBLOCKED client unblocked via CLIENT UNBLOCK"
            assert await node.say(f"CLIENT UNBLOCK {number}") == 0
            assert await writer.say("PING") == "PONG"
            assert await node.info("blocked_clients") == "0"

    @in_loop
    async def test_who_is_unblocked_within_a_transaction_goes_on_behind_it(self, tmp_path: Path) -> None:
        """What the client has sent meanwhile is no part of the other's transaction."""
        async with running(tmp_path) as node:
            node.app.node.replication.backlog.create()
            writer, operator = await node.peer(), await node.peer()
            number = await writer.say("CLIENT ID")
            writer.send("WAIT", "1", "0")
            writer.send("SET", "theirs", "1")
            await until(lambda: waiting_at(node, Kind.ACKED))
            for line in ("MULTI", "SET a 1", f"CLIENT UNBLOCK {number}", "SET b 1"):
                await operator.say(line)
            assert await operator.say("EXEC") == ["OK", 1, "OK"]
            assert [await writer.read(), await writer.read()] == [0, "OK"]
            backlog = node.app.node.replication.backlog
            stream = b"".join(backlog.read(backlog.start, 1 << 20))
            assert stream.index(b"EXEC") < stream.index(b"theirs")

    @in_loop
    async def test_a_node_that_becomes_a_replica(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            writer = await node.peer()
            writer.send("WAIT", "1", "0")
            await until(lambda: waiting_at(node, Kind.ACKED))
            assert await node.say("REPLICAOF 127.0.0.1 1") == "OK"
            assert str(await writer.read()).startswith("UNBLOCKED force unblock from blocking operation")

    @in_loop
    async def test_many_are_unblocked_at_once_and_one_has_gone(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peers = [await node.peer() for _ in range(3)]
            for number, peer in enumerate(peers, 1):
                peer.send("WAIT", "1", "0")
                await until(lambda number=number: len(waiting_at(node, Kind.ACKED)) == number)  # type: ignore[misc]
            first = waiting_at(node, Kind.ACKED)[0].client.id
            waits = node.app.clients.waits
            waits.role_changed()
            node.app.clients.kill((first,))
            for peer in peers[1:]:
                assert str(await peer.read()).startswith("UNBLOCKED force unblock")


class TestWaitAof:
    @in_loop
    async def test_it_waits_for_the_fsync_of_everysec(self, tmp_path: Path) -> None:
        async with running(tmp_path, appendonly=True) as node:
            peer = await node.peer()
            await peer.say("SET a 1")
            assert await peer.say("WAITAOF 1 0 4000") == [1, 0]
            assert node.app.node.persistence.aof.synced_cut == node.app.node.stream_end

    @in_loop
    async def test_a_replica_that_comes_by_a_full_sync_counts_once_its_base_is_whole(self, tmp_path: Path) -> None:
        """Nothing more is written, so the base alone has what is asked for."""
        for name in ("m", "r"):
            (tmp_path / name).mkdir()
        async with running(tmp_path / "m", appendonly=True) as master:
            peer = await master.peer()
            await peer.say("SET a 1")
            peer.send("WAITAOF", "1", "1", "0")
            async with running(tmp_path / "r", appendonly=True) as replica:
                await replica.say(f"REPLICAOF 127.0.0.1 {master.port}")
                assert await peer.read() == [1, 1]
                assert replica.app.node.persistence.aof.rewrites == 1

    @in_loop
    async def test_a_file_that_is_kept_no_more_keeps_nobody(self, tmp_path: Path) -> None:
        """As a real Redis (8.2) answers."""
        async with running(tmp_path, appendonly=True, appendfsync="no") as node:
            peer, other = await node.peer(), await node.peer()
            number = await peer.say("CLIENT ID")
            await peer.say("SET a 1")
            peer.send("WAITAOF", "1", "0", "0")
            await until(lambda: node.app.node.clients[number].is_blocked)
            await other.say("CONFIG SET appendonly no")
            assert str(await peer.read()) == WAITAOF_WITHOUT_AOF
            assert await peer.say("GET a") == b"1"

    @in_loop
    async def test_time_runs_out_without_replicas(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.say("SET a 1")
            assert await peer.say("WAITAOF 0 1 30") == [0, 0]
            assert await peer.say("WAITAOF 0 0 0") == [0, 0]
            assert await peer.say("GET a") == b"1"

    @in_loop
    async def test_a_client_that_is_unblocked(self, tmp_path: Path) -> None:
        async with running(tmp_path, appendonly=True) as node:
            peer = await node.peer()
            number = await peer.say("CLIENT ID")
            blocked = node.app.node.clients[number]

            async def wait() -> None:
                peer.send("WAITAOF", "0", "1", "0")
                await until(lambda: blocked.is_blocked)

            await wait()
            assert await node.say(f"CLIENT UNBLOCK {number} TIMEOUT") == 1
            assert await peer.read() == [1, 0]
            await wait()
            assert await node.say(f"CLIENT UNBLOCK {number} ERROR") == 1
            assert str(await peer.read()) == "UNBLOCKED client unblocked via CLIENT UNBLOCK"
            await wait()
            assert await node.say("REPLICAOF 127.0.0.1 1") == "OK"
            assert str(await peer.read()).startswith("UNBLOCKED force unblock from blocking operation")


class TestPause:
    @in_loop
    async def test_all_go_on_in_their_order(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peers = [await node.peer() for _ in range(3)]
            operator = await node.peer()
            assert await operator.say("CLIENT PAUSE 100000 WRITE") == "OK"
            for number, peer in enumerate(peers, 1):
                peer.send("RPUSH", "order", "x")
                await until(lambda number=number: len(waiting_at(node, Kind.PAUSED)) == number)  # type: ignore[misc]
            assert await peers[0].is_silent(0.02)
            assert await operator.say("CLIENT UNPAUSE") == "OK"
            assert [await peer.read() for peer in peers] == [1, 2, 3]
            assert not node.app.node.conditions.guarded

    @in_loop
    async def test_unpause(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            operator, peer = await node.peer(), await node.peer()
            assert await operator.say("CLIENT PAUSE 100000 WRITE") == "OK"
            peer.send("SET", "a", "1")
            assert await peer.is_silent(0.02)
            assert await operator.say("CLIENT UNPAUSE") == "OK"
            assert await peer.read() == "OK"

    @in_loop
    async def test_transactions_wait_at_exec(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            operator, peer = await node.peer(), await node.peer()
            await operator.say("CLIENT PAUSE 100000 WRITE")
            for line in ("MULTI", "SET a 1", "EXEC"):
                peer.send(*line.split())
            assert [await peer.read(), await peer.read()] == ["OK", "QUEUED"]
            assert await peer.is_silent(0.02)
            await operator.say("CLIENT UNPAUSE")
            assert await peer.read() == ["OK"]

    @in_loop
    async def test_reads_go_on_when_their_pause_ends_before_that_of_writes(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            await node.say("CLIENT PAUSE 60000 WRITE")
            await node.say("CLIENT PAUSE 100 ALL")
            assert await soon(node.say("GET a")) is None
            assert node.app.node.pause.until_ms() > 0
            await node.say("CLIENT UNPAUSE")
            assert await soon(node.say("SET a 1")) == "OK"

    @in_loop
    async def test_the_end_of_a_pause_that_holds_nobody(self, tmp_path: Path) -> None:
        """The node is guarded no longer than it lasts."""
        async with running(tmp_path) as node:
            await node.say("CLIENT PAUSE 60 WRITE")
            await node.say("CLIENT PAUSE 20 ALL")
            assert node.app.node.conditions.guarded
            await until(lambda: not node.app.node.conditions.guarded)
            assert node.app.node.pause.until_ms() == 0
