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


class TestKeys:
    @in_loop
    async def test_an_element_is_handed_over_between_two_commands_of_a_batch(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            first, second, pusher = await node.peer(), await node.peer(), await node.peer()
            for number, peer in enumerate((first, second), 1):
                peer.send("BLPOP", "a", "0")
                await until(lambda number=number: len(waiting_at(node, Kind.KEYS)) == number)  # type: ignore[misc]
            assert await node.info("blocked_clients") == "2"
            assert await node.info("total_blocking_keys") == "1"
            for words in (("RPUSH", "a", "x"), ("LLEN", "a"), ("RPUSH", "a", "y", "z"), ("LLEN", "a")):
                pusher.send(*words)
            assert [await pusher.read() for _ in range(4)] == [1, 0, 2, 1]
            assert [await first.read(), await second.read()] == [[b"a", b"x"], [b"a", b"y"]]
            assert await node.info("total_blocking_keys") == "0"

    @in_loop
    async def test_what_is_handed_over_stands_behind_the_transaction_in_the_stream(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            backlog = node.app.node.replication.backlog
            backlog.create()
            waiter, mover, writer = await node.peer(), await node.peer(), await node.peer()
            waiter.send("BLPOP", "b", "0")
            mover.send("BLMOVE", "a", "b", "LEFT", "RIGHT", "0")
            await until(lambda: len(waiting_at(node, Kind.KEYS)) == 2)
            for line in ("MULTI", "RPUSH a x", "SET c 1"):
                await writer.say(line)
            assert await writer.say("EXEC") == [1, "OK"]
            assert await mover.read() == b"x" and await waiter.read() == [b"b", b"x"]
            stream = b"".join(backlog.read(backlog.start, 1 << 20))
            places = [stream.index(word) for word in (b"MULTI", b"RPUSH", b"EXEC", b"LMOVE", b"LPOP")]
            assert places == sorted(places) and stream.count(b"MULTI") == 1

    @in_loop
    async def test_time_runs_out(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            for line in (
                "BLPOP a 0.01",
                "BLMOVE a b LEFT LEFT 0.01",
                "BZMPOP 0.01 1 a MIN",
                "XREAD BLOCK 10 STREAMS a $",
            ):
                assert await peer.say(line) is None
            assert await peer.say("PING") == "PONG"

    @in_loop
    async def test_what_waits_is_counted_once_and_its_failure_as_well(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            number = await peer.say("CLIENT ID")
            peer.send("BLPOP", "a", "0")
            await until(lambda: waiting_at(node, Kind.KEYS))
            assert await node.say("RPUSH a x") == 1
            assert await peer.read() == [b"a", b"x"]
            peer.send("BLPOP", "a", "0")
            await until(lambda: waiting_at(node, Kind.KEYS))
            assert await node.say(f"CLIENT UNBLOCK {number} ERROR") == 1
            assert str(await peer.read()).startswith("UNBLOCKED client")
            stats = node.app.node.stats.of("blpop")
            assert (stats.calls, stats.failed_calls) == (2, 1)
            assert node.app.node.stats.errors["UNBLOCKED"] == 1

    @in_loop
    async def test_whoever_is_killed_or_hangs_up_takes_nothing(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            killed, gone, patient = await node.peer(), await node.peer(), await node.peer()
            number = await killed.say("CLIENT ID")
            for count, peer in enumerate((killed, gone, patient), 1):
                peer.send("BLPOP", "a", "0")
                await until(lambda count=count: len(waiting_at(node, Kind.KEYS)) == count)  # type: ignore[misc]
            gone.close()
            await until(lambda: len(waiting_at(node, Kind.KEYS)) == 2)
            operator = await node.peer()
            for line in ("MULTI", f"CLIENT KILL ID {number}", "RPUSH a x"):
                await operator.say(line)
            assert await operator.say("EXEC") == [1, 1]
            assert await patient.read() == [b"a", b"x"]

    @in_loop
    async def test_the_gates_are_asked_again(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.send("BLMOVE", "a", "b", "LEFT", "LEFT", "0")
            await until(lambda: waiting_at(node, Kind.KEYS))
            pusher = await node.peer()
            for line in ("MULTI", "RPUSH a x", "CONFIG SET min-replicas-to-write 1"):
                await pusher.say(line)
            assert await pusher.say("EXEC") == [1, "OK"]
            assert str(await peer.read()) == "NOREPLICAS Not enough good replicas to write."
            assert await pusher.say("LLEN a") == 1

    @in_loop
    async def test_a_reply_that_is_not_wanted_is_skipped_though_it_comes_later(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.send("CLIENT", "REPLY", "SKIP")
            peer.send("BLPOP", "a", "0")
            peer.send("BLPOP", "a", "0")
            await until(lambda: waiting_at(node, Kind.KEYS))
            await node.say("RPUSH a x")
            await until(lambda: waiting_at(node, Kind.KEYS))
            await node.say("RPUSH a y")
            assert await peer.read() == [b"a", b"y"]

    @in_loop
    async def test_a_pause_holds_no_wait(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.send("BLPOP", "a", "0.05")
            await until(lambda: waiting_at(node, Kind.KEYS))
            assert await node.say("CLIENT PAUSE 100000 ALL") == "OK"
            assert await peer.read() is None

    @in_loop
    async def test_an_expired_stream_ends_the_wait_of_its_consumers(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await node.say("XGROUP CREATE s g $ MKSTREAM")
            peer.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "s", ">")
            await until(lambda: waiting_at(node, Kind.KEYS))
            await node.say("PEXPIRE s 1")
            assert str(await peer.read()).startswith("NOGROUP No such key 's' or consumer group 'g'")

    @in_loop
    async def test_a_reload(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await node.say("XADD s 1-1 f v")
            peer.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            await until(lambda: waiting_at(node, Kind.KEYS))
            assert await node.say("DEBUG RELOAD") == "OK"
            assert await peer.is_silent(0.1)
            await node.say("XADD s 2-1 f v")
            assert await peer.read() == [[b"s", [[b"2-1", [b"f", b"v"]]]]]

    @in_loop
    async def test_a_reader_of_a_replica_hears_of_its_masters_stream(self, tmp_path: Path) -> None:
        for name in ("m", "r"):
            (tmp_path / name).mkdir()
        async with running(tmp_path / "m") as master, running(tmp_path / "r") as replica:
            await replica.say(f"REPLICAOF 127.0.0.1 {master.port}")
            await until(lambda: replica.app.node.replication.link_is_up, "the link")
            reader = await replica.peer()
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            await until(lambda: waiting_at(replica, Kind.KEYS))
            await master.say("XADD s 1-1 f v")
            assert await reader.read() == [[b"s", [[b"1-1", [b"f", b"v"]]]]]
            assert str(await reader.say("BLPOP a 0")).startswith("READONLY")
            reader.send("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
            await until(lambda: waiting_at(replica, Kind.KEYS))
            await replica.say("REPLICAOF 127.0.0.1 1")
            assert str(await reader.read()).startswith("UNBLOCKED force unblock")
