"""Master or replica at run time: follow, change the master, promote, and what that means to others."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pyrepl.config.kinds import MasterAddress
from pyrepl.config.settings import Settings
from pyrepl.daemon.roles import introduction
from pyrepl.keyspace.database import Expiry
from pyrepl.node.node import Process
from tests.peers.wire import encode
from tests.unit.daemon.rig import RunningNode, in_loop, link_up, running, same_data, until


async def follow(replica: RunningNode, master: RunningNode) -> None:
    assert await replica.say(f"REPLICAOF 127.0.0.1 {master.port}") == "OK"
    await link_up(replica)


def folders(base: Path, count: int) -> list[Path]:
    made = [base / str(number) for number in range(count)]
    for path in made:
        path.mkdir()
    return made


class TestFollow:
    @in_loop
    async def test_the_data_comes_and_the_role_changes(self, tmp_path: Path) -> None:
        one, two = folders(tmp_path, 2)
        async with running(one) as master, running(two) as replica:
            await master.say("SET a 1")
            await replica.say("SET own 1")
            await follow(replica, master)
            await same_data(master, replica)
            assert (await replica.say("ROLE"))[:3] == [b"slave", b"127.0.0.1", master.port]
            assert replica.app.node.keyspace.expiry is Expiry.HIDE
            assert str(await replica.say("SET b 1")).startswith("READONLY ")
            assert await replica.say("CONFIG GET replicaof") == [b"replicaof", b"127.0.0.1 %d" % master.port]
            await master.say("SET b 1")
            await same_data(master, replica)
            state = (await master.info("slave0")).split(",")
            assert state[:3] == ["ip=127.0.0.1", f"port={replica.port}", "state=online"]

    @in_loop
    async def test_by_configuration(self, tmp_path: Path) -> None:
        one, two = folders(tmp_path, 2)
        async with running(one) as master:
            await master.say("SET a 1")
            settings = {"replicaof": MasterAddress("127.0.0.1", master.port)}
            async with running(two, None, **settings) as replica:
                await link_up(replica)
                await same_data(master, replica)
                assert (await master.info("slave0")).startswith(f"ip=127.0.0.1,port={replica.port},")

    @in_loop
    async def test_another_master(self, tmp_path: Path) -> None:
        one, two, three = folders(tmp_path, 3)
        async with running(one) as first, running(two) as second, running(three) as replica:
            await first.say("SET a 1")
            await second.say("SET a 2")
            await follow(replica, first)
            await follow(replica, second)
            await same_data(second, replica)
            await until(lambda: not first.app.node.replication.roster.sessions)
            assert len([client for client in replica.app.node.clients.values() if client.is_master_link]) == 1

    @in_loop
    async def test_a_master_that_is_not_there(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            for host in ("127.0.0.1", "a..b", "x" * 70):
                node.lines.clear()
                assert await node.say(f"REPLICAOF {host} 1") == "OK"
                await until(lambda: node.logged("again in"), "the next try")
            assert await node.info("master_link_status") == "down"
            assert await node.say("GET a") is None

    @in_loop
    async def test_a_chain_carries_the_same_bytes(self, tmp_path: Path) -> None:
        nodes = [RunningNode(path) for path in folders(tmp_path, 3)]
        for node in nodes:
            await node.start()
        master, middle, end = nodes
        await follow(middle, master)
        await follow(end, middle)
        await master.say("SET a 1")
        await same_data(master, end)
        histories = {node.app.node.replication.history.replid for node in nodes}
        assert len(histories) == 1
        assert len({node.app.node.replication.backlog.end for node in nodes}) == 1
        for node in reversed(nodes):
            await node.stop()


class TestPromote:
    @in_loop
    async def test_the_stream_goes_on_under_a_new_name(self, tmp_path: Path) -> None:
        one, two = folders(tmp_path, 2)
        async with running(one) as master, running(two) as replica:
            await master.say("SET a 1")
            await follow(replica, master)
            old = master.app.node.replication.history.replid
            assert await replica.say("REPLICAOF NO ONE") == "OK"
            history = replica.app.node.replication.history
            assert history.replid2 == old != history.replid
            assert replica.app.node.keyspace.expiry is Expiry.DELETE
            assert await replica.say("SET b 1") == "OK"
            assert await replica.say("CONFIG GET replicaof") == [b"replicaof", b""]
            assert not [client for client in replica.app.node.clients.values() if client.is_master_link]
            await until(lambda: not master.app.node.replication.roster.sessions)

    @in_loop
    async def test_the_old_master_continues_from_the_new_one(self, tmp_path: Path) -> None:
        one, two = folders(tmp_path, 2)
        async with running(one) as master, running(two) as replica:
            await follow(replica, master)
            await master.say("SET a 1")
            await same_data(master, replica)
            await replica.say("REPLICAOF NO ONE")
            await replica.say("SET b 1")
            await follow(master, replica)
            await same_data(replica, master)
            assert await replica.info("sync_partial_ok") == "1"
            assert await replica.info("sync_full") == "0"

    @in_loop
    async def test_twice_is_no_change(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            before = node.app.node.replication.history.replid
            assert await node.say("REPLICAOF NO ONE") == "OK"
            assert node.app.node.replication.history.replid == before


@in_loop
async def test_a_restarted_replica_continues_from_its_snapshot(tmp_path: Path) -> None:
    one, two = folders(tmp_path, 2)
    async with running(one) as master:
        settings = {"replicaof": MasterAddress("127.0.0.1", master.port)}
        async with running(two, None, **settings) as replica:
            await link_up(replica)
            await master.say("SET a 1")
            await same_data(master, replica)
            assert await replica.say("SAVE") == "OK"
        await master.say("SET b 1")
        async with running(two, None, **settings) as replica:
            await link_up(replica)
            await same_data(master, replica)
        assert await master.info("sync_full") == "1"
        assert await master.info("sync_partial_ok") == "1"


@in_loop
async def test_killing_the_link_makes_it_anew(tmp_path: Path) -> None:
    one, two = folders(tmp_path, 2)
    async with running(one) as master, running(two) as replica:
        await follow(replica, master)
        assert await replica.say("CLIENT KILL TYPE master") == 1
        await until(lambda: not replica.app.node.replication.link_is_up)
        await link_up(replica)
        await asyncio.sleep(0)
        assert await master.info("sync_partial_ok") == "1"


def test_introduction() -> None:
    process = Process(1, "0" * 40, 0, 0.0)
    process.tls_port = 7001
    assert introduction(Settings(), process).listening_port == 7001, "there is no other port"
    process.tcp_port = 7000
    assert introduction(Settings(tls_replication=True), process).listening_port == 7001
    plain = introduction(Settings(), process)
    assert (plain.listening_port, plain.announce_ip, plain.user, plain.password) == (7000, "", "", "")
    told = introduction(
        Settings(replica_announce_port=1, replica_announce_ip="1.2.3.4", masteruser=b"u", masterauth=b"p"), process
    )
    assert (told.listening_port, told.announce_ip, told.user, told.password) == (1, "1.2.3.4", "u", "p")
    assert told.version == "9.0.0", "a Valkey 9 writes fields that expire for a Valkey 9 alone"


@in_loop
async def test_what_expired_while_the_node_was_down_is_told_to_those_who_continue(tmp_path: Path) -> None:
    """The deletions stand in the stream behind the place of the snapshot, under the new id (Redis 7.0)."""
    settings: dict[str, object] = {"save": ((3600, 1),), "repl_backlog_size": 1 << 20}
    async with running(tmp_path, None, **settings) as node:
        node.app.node.replication.backlog.create()
        await node.say("DEBUG SET-ACTIVE-EXPIRE 0")
        peer = await node.peer()
        for db in (0, 3):
            await peer.say(f"SELECT {db}")
            await peer.say("SET gone v PX 1")
            await peer.say("SET stays v PX 1000000")
        await asyncio.sleep(0.002)
        await peer.say("SAVE")
        saved = node.app.node.stream_end
    async with running(tmp_path, None, **settings) as node:
        assert await node.info("rdb_last_load_keys_expired") == "2"
        replication = node.app.node.replication
        backlog = replication.backlog
        assert replication.history.fork == saved == backlog.start
        stream = b"".join(backlog.read(saved, backlog.end - saved))
        assert stream == b"".join(
            encode(words) for words in (("SELECT", "0"), ("DEL", "gone"), ("SELECT", "3"), ("DEL", "gone"))
        )
        assert not node.app.node.keyspace.expired


@in_loop
async def test_what_a_reload_leaves_out_is_told_as_well(tmp_path: Path) -> None:
    async with running(tmp_path, save=((3600, 1),), enable_debug_command="yes") as node:
        backlog = node.app.node.replication.backlog
        backlog.create()
        peer = await node.peer()
        await peer.say("DEBUG SET-ACTIVE-EXPIRE 0")
        await peer.say("SET gone v PX 1")
        await asyncio.sleep(0.002)
        before = backlog.end
        await peer.say("DEBUG RELOAD")
        assert b"".join(backlog.read(before, backlog.end - before)) == encode(("DEL", "gone"))
