"""The stream port of a node: who may come in, what clients say, what a change of history does."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from pyrepl.acl.guessing import FORGOTTEN_S, FREE, MOST_LATE
from pyrepl.errors import ConfigError
from tests.unit.daemon.clients.test_clients import other_address
from tests.unit.daemon.rig import Peer, in_loop, running, soon, until
from tests.unit.daemon.stream_rig import Follower, call, follow, made, pair, streaming, token_of


@in_loop
async def test_rows_old_and_live_and_the_token_goes_on(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        await node.say("SET a 1")
        one = await follow(port, "REPLICATE keys 0")
        first, position = await one.lines(2)
        token = int(first.split()[2])
        assert first == f'RDATA keys {token} [0,"a","set"]'
        assert position == f"POSITION keys {token}" == f"POSITION keys {token_of(node)}"
        await node.say("MSET b 1 c 2")
        batch, last = await one.lines(2)
        assert batch == 'RDATA keys batch [0,"b","mset"]'
        one.close()
        await node.say("DEL a")
        two = await follow(port, f"REPLICATE keys {last.split()[2]}")
        assert await two.rows(1) == [[0, "a", "del"]]


@in_loop
async def test_without_subscribers_nothing_is_pinned_or_read(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        assert node.app.streams is not None
        one = await follow(port, "REPLICATE keys NOW")
        await one.line()
        assert node.app.streams.replicated.is_pumped
        one.close()
        await until(lambda: not node.app.node.streams.subscribers)
        await node.say("SET a 1")
        await until(lambda: node.app.streams is not None and not node.app.streams.replicated.is_pumped)
        assert node.app.node.replication.backlog.lowest_pin is None


@in_loop
async def test_clients_are_heard(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        listener = await node.peer()
        await listener.say("PSUBSCRIBE pyrepl:*")
        one = await follow(port, "REPLICATE caches NOW")
        await one.line()
        two = await follow(
            port, 'INVALIDATE_CACHE get_user ["u 1"]', "REMOTE_SERVER_UP x.org", "USER_SYNC @a:b start 5"
        )
        lines = sorted(await one.lines(2))
        assert '["get_user",["u 1"],' in lines[0]
        assert lines[1] == "REMOTE_SERVER_UP x.org"
        channels = [(await listener.read())[2:] for _ in range(2)]
        assert [channel for channel, _ in channels] == [b"pyrepl:caches", b"pyrepl:user_sync"]
        two.say("INVALIDATE_CACHE c nonsense")
        assert (await two.end()).startswith("ERROR expected INVALIDATE_CACHE")


@in_loop
async def test_an_invalidation_has_one_time_whoever_reads_it_and_whenever(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        one = await follow(port, "REPLICATE caches 0", 'INVALIDATE_CACHE get_user ["u"]')
        [row] = await one.rows(1)
        while node.app.clock.unix_ms() <= row[2] + 5:
            await asyncio.sleep(0.001)
        later = await follow(port, "REPLICATE caches 0")
        assert await later.rows(1) == [row]


@in_loop
async def test_what_clients_of_others_say_is_taken(tmp_path: Path) -> None:
    """Any text behind PING, and every command in the published lists of a client."""
    async with streaming(tmp_path) as (node, port):
        listener = await node.peer()
        await listener.say("PSUBSCRIBE pyrepl:*")
        one = await follow(
            port,
            "PING hello",
            "PING",
            "USER_SYNC worker-1 @a:b end 5",
            "CLEAR_USER_SYNC worker-1",
            'USER_IP @a:b ["token","10.0.0.1","agent",null,5]',
            "FEDERATION_ACK worker-1 7",
            "REMOVE_PUSHER app key @a:b",
            "REPLICATE keys now",
        )
        assert (await one.line()).startswith("POSITION keys ")
        said = [(await listener.read())[2:] for _ in range(5)]
        assert said == [
            [b"pyrepl:user_sync", b"worker-1 @a:b end 5"],
            [b"pyrepl:clear_user_sync", b"worker-1"],
            [b"pyrepl:user_ip", b'@a:b ["token","10.0.0.1","agent",null,5]'],
            [b"pyrepl:federation_ack", b"worker-1 7"],
            [b"pyrepl:remove_pusher", b"app key @a:b"],
        ]


class Strict:
    """A client as others wrote it: closes at a verb that it does not know and at a name that is not the one expected,
    and keeps the number of the last RDATA or POSITION, nothing else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.token: int | None = None
        self.rows: list[object] = []

    async def follow(self, port: int, rows: int) -> None:
        """One connection, until so many rows are had in all."""
        peer = Peer(*await asyncio.open_connection("127.0.0.1", port))
        asked = "NOW" if self.token is None else str(self.token)
        peer.write(f"NAME strict\nPING hello\nREPLICATE keys {asked}\n".encode())
        while len(self.rows) < rows or self.token is None:
            verb, _, rest = (await peer.line()).decode().rstrip("\n").partition(" ")
            assert verb in ("SERVER", "PING", "POSITION", "RDATA"), f"{verb} {rest}"
            if verb == "SERVER":
                assert rest == self.name, rest
            elif verb == "POSITION":
                self.token = int(rest.split(" ")[1])
            elif verb == "RDATA":
                _, token, row = rest.split(" ", 2)
                self.rows.append(json.loads(row)[1])
                self.token = self.token if token == "batch" else int(token)
        peer.close()


@in_loop
async def test_a_client_of_others_through_a_cut_and_a_promotion(tmp_path: Path) -> None:
    async with pair(tmp_path) as (master, node, port):
        client = Strict("node-a")
        await client.follow(port, 0)
        await master.say("SET a 1")
        await master.say("MSET b 1 c 1")
        await client.follow(port, 3)
        await node.say("REPLICAOF NO ONE")
        await node.say("SET d 1")
        await client.follow(port, 4)
        following = asyncio.create_task(client.follow(port, 6))
        await until(lambda: bool(node.app.node.streams.subscribers))
        await node.say("SET e 1")
        await node.say("SET f 1")
        await following
        assert client.rows == ["a", "b", "c", "d", "e", "f"]


@in_loop
async def test_cache_rules_take_effect_at_once(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        one = await follow(port, "REPLICATE caches NOW")
        await one.line()
        assert await call(node, "CONFIG", "SET", "stream-cache-rule", "user:* get_user") == "OK"
        await node.say("SET user:1 x")
        assert (await one.rows(1))[0][:2] == ["get_user", ["user:1"]]


@in_loop
async def test_a_password(tmp_path: Path) -> None:
    async with streaming(tmp_path, requirepass=b"secret") as (_, port):
        assert (await (await follow(port, "REPLICATE keys NOW")).end()).startswith("ERROR NOAUTH")
        assert (await (await follow(port, "AUTH wrong")).end()).startswith("ERROR WRONGPASS")
        one = await follow(port, "NAME me secret", "REPLICATE keys NOW")
        assert (await one.line()).startswith("POSITION keys ")


@in_loop
async def test_users_are_those_of_the_redis_port(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        assert await node.say("ACL SETUSER reader on >top +psync") == "OK"
        assert await node.say("ACL SETUSER worker on >low &pyrepl:caches +subscribe +publish") == "OK"
        reader = await follow(port, "NAME r", "AUTH reader top", "REPLICATE keys NOW")
        assert (await reader.line()).startswith("POSITION keys ")
        worker = await follow(port, "AUTH worker low", "REPLICATE caches NOW", 'INVALIDATE_CACHE c ["k"]')
        assert (await worker.rows(1))[0][:2] == ["c", ["k"]]
        assert "user=reader," in await node.info("stream_client0")
        refused = await follow(port, "AUTH worker low", "REPLICATE keys NOW")
        assert (await refused.end()).startswith("ERROR NOPERM User worker has no permissions to run the 'psync'")
        assert (await (await follow(port, "AUTH worker wrong")).end()).startswith("ERROR WRONGPASS")
        failed, lacking = await node.say("ACL LOG 2")
        assert failed[3] == b"auth" and failed[9] == b"worker" and b" user=default " in failed[13]
        assert lacking[3] == b"command" and lacking[7] == b"psync" and lacking[9] == b"worker"
        assert await node.info("acl_access_denied_auth") == await node.info("acl_access_denied_cmd") == "1"
        await node.say("SET a 1")
        assert await reader.rows(1) == [[0, "a", "set"]]
        assert await node.say("ACL SETUSER reader -psync") == "OK"
        assert (await reader.end()).startswith("ERROR NOPERM User reader has no permissions")
        assert await node.say("ACL DELUSER worker") == 1
        assert await worker.end() == "ERROR NOPERM the user worker was deleted"


@in_loop
async def test_wrong_passwords_are_counted_by_address(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        # One less than are too many, whose answers are late for longer than a busy machine needs for two more.
        a_minute_on = asyncio.get_running_loop().time() + FORGOTTEN_S
        for _ in range(FREE + MOST_LATE - 1):
            node.app.node.guesses.failed("127.0.0.1:1", a_minute_on)
        assert (await (await follow(port, "AUTH nobody x")).end()).startswith("ERROR WRONGPASS")
        assert (await (await follow(port)).end()).startswith("ERROR BUSY too many wrong passwords")


@in_loop
async def test_too_many_and_from_elsewhere(tmp_path: Path) -> None:
    address = other_address() or "127.0.0.1"
    async with streaming(tmp_path, stream_maxclients=1, stream_bind=("127.0.0.1", address)) as (node, port):
        one = await follow(port)
        assert (await (await follow(port)).end()).startswith("ERROR BUSY")
        one.close()
        await until(lambda: not node.app.node.streams.subscribers)
        foreign = Follower(await soon(Peer.to(port, address)))
        end = "" if address == "127.0.0.1" else await foreign.end()
        assert address == "127.0.0.1" or end.startswith("ERROR DENIED")
        assert node.app.node.streams.rejected_connections == (1 if address == "127.0.0.1" else 2)


@in_loop
async def test_the_nodes_own_events_are_those_of_the_event_log(tmp_path: Path) -> None:
    async with streaming(tmp_path, event_log=str(tmp_path / "events.jsonl")) as (node, port):
        one = await follow(port, "REPLICATE sync NOW")
        await one.line()
        await node.say("CONFIG SET repl-backlog-size 5mb")
        rows = await one.rows(2)
        assert [row["event"] for row in rows] == ["backlog_resized", "settings_in_force"]
        assert rows[0]["role"] == "master" and rows[1]["seq"] == rows[0]["seq"] + 1
        await until(lambda: len((tmp_path / "events.jsonl").read_text().splitlines()) >= rows[1]["seq"])
        logged = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
        assert [line for line in logged if line["seq"] >= rows[0]["seq"]] == rows


@in_loop
async def test_events_without_an_event_log(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        one = await follow(port, "REPLICATE sync NOW")
        await one.line()
        await node.say("CONFIG SET repl-backlog-size 5mb")
        rows = await one.rows(2)
        assert [row["event"] for row in rows] == ["backlog_resized", "settings_in_force"]
        assert rows[0]["node"].endswith(f":{node.port}")


@in_loop
async def test_a_promotion_gives_the_history_another_name(tmp_path: Path) -> None:
    async with pair(tmp_path) as (master, node, port):
        one = await follow(port, "REPLICATE keys NOW")
        await one.line()
        named = await follow(port, "REPLICATE")
        await master.say("SET a 1")
        assert await one.rows(1) == [[0, "a", "set"]]
        old = node.app.node.replication.history.replid
        fork = node.app.node.stream_end
        await node.say("REPLICAOF NO ONE")
        new = node.app.node.replication.history.replid
        assert await one.line() == f"POSITION keys {token_of(node, new, fork)}"
        await node.say("SET b 1")
        assert await one.rows(1) == [[0, "b", "set"]]
        line = ""
        while not line.startswith(f"POSITION keys {new}"):
            line = await named.line()
        forked, end = token_of(node, new, fork), token_of(node, old)
        assert line == f"POSITION keys {new} {forked} {forked}"
        before = token_of(node, old, fork)
        for asked in (f"{before} {old}", f"{before}", f"{forked} {new}", f"{forked}"):
            assert (await (await follow(port, f"REPLICATE keys {asked}")).rows(1)) == [[0, "b", "set"]], asked
        for asked in (f"{end} {old}", f"{end}"):
            refused = await (await follow(port, f"REPLICATE keys {asked}")).end()
            assert refused.startswith(f"ERROR FORKED {forked} token {end} lies beyond the fork"), asked


@in_loop
async def test_a_full_sync_ends_who_follows_the_old_history(tmp_path: Path) -> None:
    async with running(made(tmp_path, "m")) as master, streaming(made(tmp_path, "r")) as (node, port):
        await node.say("SET a 1")
        one = await follow(port, "REPLICATE keys NOW", "PING 5")
        await one.line()
        events = await follow(port, "REPLICATE sync NOW")
        await node.say(f"REPLICAOF 127.0.0.1 {master.port}")
        assert (await one.end()).startswith("ERROR LOADING ")
        await until(lambda: node.app.node.replication.link_is_up)
        assert await events.rows(3)
        two = await follow(port, "REPLICATE keys NOW")
        assert (await two.line()).startswith("POSITION keys ")
        await master.say("SELECT 3")
        await master.say("SET b 1")
        assert (await two.rows(1))[0][1] == "b"


@in_loop
async def test_on_a_replica_nothing_is_added_to_the_stream(tmp_path: Path) -> None:
    async with pair(tmp_path) as (master, _, port):
        one = await follow(port, "INVALIDATE_CACHE c null")
        end = await one.end()
        assert end.startswith("ERROR this node is a replica of 127.0.0.1:") and "PUBLISH pyrepl:caches" in end
        two = await follow(port, "REPLICATE caches NOW")
        await two.line()
        await call(master, "PUBLISH", "pyrepl:caches", '["c",["k"]]')
        assert (await two.rows(1))[0][:2] == ["c", ["k"]]


@in_loop
async def test_a_name_that_cannot_be_a_writers(tmp_path: Path) -> None:
    for name in ("17", "a b", "NOW"):
        with pytest.raises(ConfigError, match="stream-name cannot be"):
            async with running(tmp_path, stream_port=1, stream_name=name):
                raise AssertionError("it started")


@in_loop
async def test_the_end_of_the_node_is_told(tmp_path: Path) -> None:
    async with streaming(tmp_path) as (node, port):
        one = await follow(port)
        node.app.ending.signal("SIGTERM")
        assert await one.end() == "ERROR server stopping"


@in_loop
async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        try:
            async with running(tmp_path, stream_port=port):
                raise AssertionError("it started")
        except Exception as error:
            assert f":{port}: bind: " in str(error)
