"""The append-only file of a running node: what is on disk when, across rewrites, restarts and changes of role."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl.daemon.aof.writer import AofWriter
from tests.unit.daemon.rig import in_loop, link_up, running, same_data, until


def incr(tmp_path: Path, seq: int) -> bytes:
    return (tmp_path / "appendonlydir" / f"appendonly.aof.{seq}.incr.aof").read_bytes()


def names(tmp_path: Path) -> set[str]:
    return {path.name.removeprefix("appendonly.aof.") for path in (tmp_path / "appendonlydir").iterdir()}


@in_loop
async def test_writes_are_in_the_file_when_they_are_answered(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True, appendfsync="always") as node:
        await node.say("SET a 1")
        assert incr(tmp_path, 1).endswith(b"SET\r\n$1\r\na\r\n$1\r\n1\r\n")
        peer = await node.peer()
        await peer.say("SET a 1")
        assert await peer.say("WAITAOF 1 0 0") == [1, 0]
        end, replid = node.app.node.stream_end, node.app.node.replication.history.replid
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("GET a") == b"1"
        history = node.app.node.replication.history
        assert (history.replid2, history.fork) == (replid, end)


@in_loop
async def test_a_rewrite_makes_a_base_and_a_new_incr(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        await node.say("SET a 1")
        assert str(await node.say("BGREWRITEAOF")) == "Background append only file rewriting started"
        await node.say("SET b 2")
        await until(lambda: node.app.node.persistence.aof.rewrites == 1, "the rewrite")
        assert names(tmp_path) == {"2.base.rdb", "2.incr.aof", "2.stream", "manifest"}
        assert b"SET" in incr(tmp_path, 2)
        assert node.app.node.persistence.aof.last_rewrite_ok
        digest = await node.say("DEBUG DIGEST")
        await node.say("DEBUG LOADAOF")
        assert await node.say("DEBUG DIGEST") == digest


@in_loop
async def test_it_can_be_switched_on_and_off(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.say("SET a 1")
        await node.say("CONFIG SET appendonly yes")
        await until(lambda: node.app.aof.tail.is_on, "the first rewrite")
        await node.say("SET b 2")
        # Later, if the rewrite's fsync is still under way.
        await until(lambda: b"SET" in incr(tmp_path, 1), "the write")
        await node.say("CONFIG SET appendonly no")
        await node.say("SET c 3")
        assert b"$1\r\nc" not in incr(tmp_path, 1)
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("MGET a b c") == [b"1", b"2", None]


@in_loop
async def test_a_replica_begins_anew_after_a_full_sync_and_continues_after_a_restart(tmp_path: Path) -> None:
    for name in ("m", "r"):
        (tmp_path / name).mkdir()
    async with running(tmp_path / "m") as master:
        await master.say("SET a 1")
        async with running(tmp_path / "r", appendonly=True) as replica:
            await replica.say("SET mine 1")
            await replica.say(f"REPLICAOF 127.0.0.1 {master.port}")
            await link_up(replica)
            await until(lambda: replica.app.aof.tail.is_on, "the rewrite after the sync")
            await master.say("SET b 2")
            await same_data(master, replica)
        os.chdir(tmp_path / "m")
        async with running(tmp_path / "r", appendonly=True) as replica:
            assert await replica.say("MGET a b mine") == [b"1", b"2", None]
            assert replica.logged("it can be continued")


@in_loop
async def test_a_full_disk_stops_writes_until_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, appendonly=True) as node:
        await node.say("SET a 1")

        def fail(self: AofWriter, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(AofWriter, "append", fail)
            writer, reader = await node.peer(), await node.peer()
            refused = await writer.rest_after("SET b 2")
            assert refused == b"-MISCONF Errors writing to the AOF file: No space left on device\r\n", "and no +OK"
            assert await reader.say("GET a") == b"1", "who wrote nothing is served"
            peer = await node.peer()
            assert await peer.error("SET c 3") == "MISCONF Errors writing to the AOF file: No space left on device"
            assert await node.info("aof_last_write_status") == "err"
        await until(lambda: not node.app.node.persistence.aof.write_error, "the next try")
        assert await node.say("SET c 3") == "OK"
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("MGET a b c") == [b"1", b"2", b"3"]


@in_loop
async def test_the_first_file_begins_with_the_snapshot(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await node.say("SET a 1")
        await node.say("SAVE")
    async with running(tmp_path, appendonly=True) as node:
        assert node.logged("it begins with the data of")
    (tmp_path / "dump.rdb").unlink()
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("GET a") == b"1"


EVERY_TYPE = (
    "SET s 1",
    "RPUSH l a b",
    "SADD t a b",
    "ZADD z 0.1 a -inf b",
    "HSET h f v g w",
    "HPEXPIREAT h 4102444800000 FIELDS 1 g",
    "XADD x 5-1 f v",
    "XADD x 5-2 f v",
    "XGROUP CREATE x group 0 ENTRIESREAD 0",
    "XREADGROUP GROUP group me COUNT 1 STREAMS x >",
    "XDEL x 5-2",
    "XADD empty 7-7 f v",
    "XTRIM empty MAXLEN 0",
    "PEXPIREAT s 4102444800000",
    "SELECT 3",
    "SET elsewhere 1",
)


@in_loop
async def test_a_base_of_commands_holds_every_type(tmp_path: Path) -> None:
    asked = ("XINFO STREAM x FULL", "XINFO STREAM empty", "HPEXPIRETIME h FIELDS 2 f g", "PEXPIRETIME s")
    async with running(tmp_path, appendonly=True, aof_use_rdb_preamble=False) as node:
        for line in EVERY_TYPE:
            await node.say(line)
        await node.say("BGREWRITEAOF")
        await until(lambda: node.app.node.persistence.aof.rewrites == 1, "the rewrite")
        assert names(tmp_path) == {"2.base.aof", "2.incr.aof", "2.stream", "manifest"}
        digest = await node.say("DEBUG DIGEST")
        await node.say("SELECT 0")
        before = [str(await node.say(line)).replace("seen-time", "") for line in asked]
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("DEBUG DIGEST") == digest
        after = [str(await node.say(line)).replace("seen-time", "") for line in asked]
    assert before[1:] == after[1:]


@in_loop
async def test_it_is_rewritten_by_itself_when_it_has_grown(tmp_path: Path) -> None:
    async with running(
        tmp_path, appendonly=True, auto_aof_rewrite_min_size=2000, auto_aof_rewrite_percentage=100
    ) as node:
        state = node.app.node.persistence.aof
        for _ in range(20):
            await node.say("SET a " + "x" * 50)
        assert state.rewrites == 0, "not below the least size"
        # No more than needed: what is written while the child works counts into the size that the rewrite leaves.
        for _ in range(10_000):
            if state.is_rewriting or state.rewrites:
                break
            await node.say("SET a " + "x" * 50)
        await until(lambda: state.rewrites == 1, "the rewrite")
        assert node.logged("Starting automatic rewriting of AOF on ")
        assert state.base_bytes < 2000
        await node.say("CONFIG SET auto-aof-rewrite-percentage 0")
        for _ in range(200):
            await node.say("SET a " + "x" * 50)
        node.app.aof.tick(node.app.clock.now())
        assert not node.app.node.persistence.aof.is_rewriting


@pytest.mark.parametrize("never", [False, True])
@in_loop
async def test_no_fsync_while_a_child_writes_if_so_wished(tmp_path: Path, never: bool) -> None:
    async with running(
        tmp_path, appendonly=True, rdb_key_save_delay=10_000_000, no_appendfsync_on_rewrite=never
    ) as node:
        peer = await node.peer()
        await peer.say("MSET a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8 i 9 j 10")
        assert await peer.say("WAITAOF 1 0 0") == [1, 0]
        await peer.say("BGREWRITEAOF")
        await peer.say("SET k 1")
        reply = await peer.say(f"WAITAOF 1 0 {2000 if never else 0}")
        assert node.app.node.persistence.aof.is_rewriting
        assert reply == [0 if never else 1, 0]


@in_loop
async def test_a_replica_whose_disk_is_full_keeps_no_more_of_the_stream_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrepl.daemon.aof.tail.MOST_BEHIND_BYTES", 5000)
    monkeypatch.setattr("pyrepl.daemon.aof.keeper.RETRY_S", 0.0)
    for name in ("m", "r"):
        (tmp_path / name).mkdir()
    async with (
        running(tmp_path / "m") as master,
        running(tmp_path / "r", appendonly=True, repl_backlog_size=1000) as replica,
    ):
        await replica.say(f"REPLICAOF 127.0.0.1 {master.port}")
        await link_up(replica)
        await until(lambda: replica.app.aof.tail.is_on, "the rewrite after the sync")

        def fail(self: AofWriter, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(AofWriter, "append", fail)
            for number in range(20):
                await master.say(f"SET k{number} " + "x" * 500)
            await until(lambda: replica.logged("The append only file lacks "), "its giving up")
            assert await replica.info("aof_last_write_status") == "err"
            assert replica.app.node.replication.backlog.held_bytes < 7000
            await same_data(master, replica)
        await until(
            lambda: replica.app.aof.tail.is_on and not replica.app.node.persistence.aof.write_error, "its healing"
        )
        await same_data(master, replica)
        digest = await replica.say("DEBUG DIGEST")
        await replica.say("DEBUG LOADAOF")
        assert await replica.say("DEBUG DIGEST") == digest


@in_loop
async def test_a_rewrite_during_an_fsync_takes_nothing_twice(tmp_path: Path) -> None:
    """With everysec a write waits for an fsync that runs; the base that is made meanwhile has it already."""
    async with running(tmp_path, appendonly=True) as node:
        writer = node.app.aof.tail._writer
        assert writer is not None
        writer.is_syncing = True
        await node.say("INCR a")
        await node.say("INCR a")
        assert b"INCR" not in incr(tmp_path, 1)
        await node.say("BGREWRITEAOF")
        await until(lambda: node.app.node.persistence.aof.rewrites == 1, "the rewrite")
        await node.say("INCR a")
        end, replid = node.app.node.stream_end, node.app.node.replication.history.replid
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("GET a") == b"3"
        history = node.app.node.replication.history
        assert (history.replid2, history.fork) == (replid, end)


@in_loop
async def test_no_rewrite_begins_while_the_file_lacks_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, appendonly=True) as node:

        def fail(self: AofWriter, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(AofWriter, "append", fail)
            assert (await (await node.peer()).rest_after("INCR a")).startswith(b"-MISCONF")
            peer = await node.peer()
            assert (await peer.error("BGREWRITEAOF")).startswith("ERR Can't execute an AOF background rewriting.")
        await until(lambda: not node.app.node.persistence.aof.write_error, "the next try")
        await node.say("BGREWRITEAOF")
        await until(lambda: node.app.node.persistence.aof.rewrites == 1, "the rewrite")
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("GET a") == b"1"


@in_loop
async def test_switched_on_during_a_bgsave_its_rewrite_is_scheduled(tmp_path: Path) -> None:
    """And not any more when it is switched off again, as in a real Redis (8.2)."""
    async with running(tmp_path, rdb_key_save_delay=20_000, hz=100) as node:
        await node.say("DEBUG POPULATE 100")
        operator = await node.peer()
        await operator.say("BGSAVE")
        for value, scheduled in (("yes", "1"), ("no", "0"), ("yes", "1")):
            await operator.say(f"CONFIG SET appendonly {value}")
            assert await node.info("aof_rewrite_scheduled") == scheduled
        node.app.saver.kill("it takes too long")
        await until(lambda: node.app.node.persistence.aof.rewrites == 1, "the rewrite")
        assert await node.info("aof_rewrite_scheduled") == "0"


@in_loop
async def test_a_rewrite_that_nobody_needs_any_more_has_not_failed(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True, hz=100) as node:
        await node.say("DEBUG POPULATE 100")
        operator = await node.peer()
        await operator.say("CONFIG SET rdb-key-save-delay 20000")
        await operator.say("BGREWRITEAOF")
        assert await node.info("aof_rewrite_in_progress") == "1"
        await operator.say("CONFIG SET appendonly no")
        state = node.app.node.persistence.aof
        assert state.last_rewrite_ok and not state.consecutive_failures
        assert await node.info("aof_rewrite_in_progress") == "0"
