"""Who may come in, messages to other clients, limits on what waits for them, and the end of the silent."""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from pathlib import Path

import pytest

from pyrepl.acl.addresses import is_local
from pyrepl.acl.denial import Refused
from pyrepl.acl.guessing import FIRST_S, FREE, MOST_LATE
from pyrepl.daemon.clients.client_conn import ClientConn
from pyrepl.daemon.clients.clients import DENIED_TEXT, MAX_CLIENTS_TEXT
from tests.peers.wire import encode
from tests.unit.daemon.rig import Peer, RunningNode, in_loop, running, soon, until


def other_address() -> str | None:
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(sock.getsockname()[0])


async def crowding(port: int) -> Peer:
    """A connection from an address of this machine that the other peers do not have."""
    return Peer(*await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0)))


class TestAdmission:
    @in_loop
    async def test_maxclients(self, tmp_path: Path) -> None:
        async with running(tmp_path, maxclients=2, maxclients_reserve=0) as node:
            peers = [await node.peer() for _ in range(2)]
            assert [await peer.say("PING") for peer in peers] == ["PONG", "PONG"]
            assert await (await node.peer()).rest() == MAX_CLIENTS_TEXT
            peers[0].close()
            await until(lambda: len(node.app.clients.conns) == 1)
            assert await (await node.peer()).say("PING") == "PONG"
            stats = node.app.node.stats
            assert (stats.total_connections_received, stats.rejected_connections) == (4, 1)

    @in_loop
    async def test_who_has_not_logged_in_makes_room(self, tmp_path: Path) -> None:
        async with running(tmp_path, maxclients=4, maxclients_reserve=0, requirepass=b"pw") as node:
            known = [await node.peer() for _ in range(2)]
            assert [await peer.say("AUTH pw") for peer in known] == ["OK", "OK"]
            silent = [await node.peer() for _ in range(2)]
            await until(lambda: len(node.app.clients.conns) == 4)
            newcomer = await node.peer()
            assert await newcomer.say("AUTH pw") == "OK"
            assert await silent[0].rest() == b"", "the oldest one"
            assert await silent[1].is_silent()
            assert [await peer.say("PING") for peer in known] == ["PONG", "PONG"]
            last = await node.peer()
            assert await last.say("AUTH pw") == "OK" and await silent[1].rest() == b""
            assert await (await node.peer()).rest() == MAX_CLIENTS_TEXT, "all of them have logged in"
            assert sum("maxclients is reached" in line for line in node.lines) == 1
            assert node.app.node.stats.rejected_connections == 3

    @in_loop
    async def test_the_address_with_most_of_them_makes_room(self, tmp_path: Path) -> None:
        async with running(tmp_path, maxclients=3, maxclients_reserve=0, requirepass=b"pw") as node:
            slow = await node.peer()
            crowd = [await crowding(node.port) for _ in range(2)]
            await until(lambda: len(node.app.clients.conns) == 3)
            crowd.append(await crowding(node.port))
            assert await crowd[0].rest() == b"" and await crowd[1].is_silent()
            assert await slow.say("AUTH pw") == "OK", "though it came first"

    @in_loop
    async def test_operators_and_replicas_come_in_all_the_same(self, tmp_path: Path) -> None:
        async with running(tmp_path, maxclients=2, maxclients_reserve=3) as node:
            apps = [await node.peer() for _ in range(2)]
            assert [await peer.say("PING") for peer in apps] == ["PONG", "PONG"]
            app = await node.peer()
            assert await app.say("CLIENT SETNAME app") == "OK"
            assert await app.rest_after("GET key") == b"-ERR max number of clients reached\r\n"
            operator = await node.peer()
            assert b"connected_clients:3" in await operator.say("INFO clients")
            replica = await node.peer()
            assert await replica.say("REPLCONF listening-port 1") == "OK"
            replica.send("PSYNC", "?", "-1")
            assert (await replica.line()).startswith(b"+FULLRESYNC")
            silent = await node.peer()
            await until(lambda: len(node.app.clients.conns) == 5)
            last = await node.peer()
            assert await last.say("PING") == "PONG" and await silent.rest() == b"", "the silent one made room"
            assert await (await node.peer()).rest() == MAX_CLIENTS_TEXT
            assert await operator.say("CLIENT KILL TYPE replica") == 1
            for peer in apps:
                peer.close()
            await until(lambda: len(node.app.clients.conns) == 2)
            assert await last.say("SET key value") == "OK", "it is one of the others now"

    @in_loop
    async def test_before_the_login_ten_commands_at_once(self, tmp_path: Path) -> None:
        async with running(tmp_path, requirepass=b"pw") as node:
            stranger, other = await node.peer(), await node.peer()
            for _ in range(25):
                stranger.send("GET", "key")
            stranger.send("AUTH", "pw")
            stranger.send("PING")
            begun = node.app.clock.now()
            assert [str(await stranger.read()) for _ in range(25)] == ["NOAUTH Authentication required."] * 25
            assert await stranger.read() == "OK" and await stranger.read() == "PONG"
            assert node.app.clock.now() - begun >= 0.19, "two pauses of a tenth of a second"
            assert await other.say("AUTH pw") == "OK"
            for _ in range(100):
                other.send("PING")
            begun = node.app.clock.now()
            assert [await other.read() for _ in range(100)] == ["PONG"] * 100

    @in_loop
    async def test_guesses_are_answered_later_and_later(self, tmp_path: Path) -> None:
        async with running(tmp_path, requirepass=b"pw") as node:
            peer = await node.peer()
            wrong = "WRONGPASS invalid username-password pair or user is disabled."
            begun = node.app.clock.now()
            for _ in range(FREE + 2):
                assert await peer.error("AUTH x") == wrong
            assert node.app.clock.now() - begun >= 3 * FIRST_S - 0.01
            assert await (await node.peer()).say("AUTH pw") == "OK", "the right password is not delayed"
            assert node.app.node.acl_log.refused[Refused.AUTH] == 7
            stats = node.app.node.stats
            assert stats.errors["WRONGPASS"] == 7 and stats.of("auth").failed_calls == 7

    @in_loop
    async def test_more_guesses_than_are_looked_at(self, tmp_path: Path) -> None:
        async with running(tmp_path, requirepass=b"pw") as node:
            guesses, now = node.app.node.guesses, node.app.clock.now()
            for _ in range(FREE + MOST_LATE):
                guesses.failed("127.0.0.1:1", now)
            error = await (await node.peer()).error("AUTH pw")
            assert error == "ERR too many failed logins from your address: wait some seconds"
            error = await (await node.peer()).error("HELLO 3 AUTH default pw")
            assert error == "ERR too many failed logins from your address: wait some seconds"

    @in_loop
    async def test_protected_mode(self, tmp_path: Path) -> None:
        address = other_address()
        if address is None:
            assert not is_local("192.0.2.1:5")
            return
        async with running(tmp_path, bind=("127.0.0.1", address)) as node:
            foreign = await soon(Peer.to(node.port, address))
            assert await foreign.rest() == DENIED_TEXT
            assert await node.say("CONFIG SET requirepass pw") == "OK"
            guarded = await soon(Peer.to(node.port, address))
            assert await guarded.error("PING") == "NOAUTH Authentication required."
            assert await guarded.say("AUTH pw") == "OK"


class TestGone:
    @in_loop
    async def test_whatever_it_had_goes_with_it(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            state = node.app.node
            peers = [await node.peer() for _ in range(3)]
            for peer, line in zip(peers, ("WATCH a", "SUBSCRIBE ch", "MONITOR"), strict=True):
                assert await peer.say(line) is not None
            assert state.keyspace.databases[0].watchers and state.monitors and state.conditions.guarded
            for peer in peers:
                peer.close()
            await until(lambda: not node.app.clients.conns)
            assert not state.keyspace.databases[0].watchers and not state.monitors and not state.conditions.guarded
            assert not state.clients
            assert await node.say("PUBLISH ch x") == 0

    @in_loop
    async def test_a_reset_connection(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            sock = socket.create_connection(("127.0.0.1", node.port))
            sock.sendall(encode(["PING"]))
            await until(lambda: node.app.clients.conns)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
            await until(lambda: not node.app.clients.conns)
            assert await node.say("PING") == "PONG"


class TestMessages:
    @in_loop
    async def test_published_within_a_batch(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            subscriber, publisher = await node.peer(), await node.peer()
            assert await subscriber.say("SUBSCRIBE ch") == [b"subscribe", b"ch", 1]
            for number in range(3):
                publisher.send("PUBLISH", "ch", number)
            assert [await publisher.read() for _ in range(3)] == [1, 1, 1]
            assert [await subscriber.read() for _ in range(3)] == [
                [b"message", b"ch", b"%d" % number] for number in range(3)
            ]

    @in_loop
    async def test_monitor(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            monitor, peer = await node.peer(), await node.peer()
            assert await monitor.say("MONITOR") == "OK"
            await peer.say("SET a b")
            line = await monitor.read()
            assert '] "SET" "a" "b"' in line

    @in_loop
    async def test_the_reader_of_messages_is_gone(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            subscriber, publisher = await node.peer(), await node.peer()
            await subscriber.say("SUBSCRIBE ch")
            publisher.send("CLIENT", "KILL", "TYPE", "pubsub")
            publisher.send("PUBLISH", "ch", "x")
            assert await publisher.read() == 1
            assert isinstance(await publisher.read(), int)
            assert await subscriber.rest() == b""


class TestOutputLimit:
    @in_loop
    async def test_a_subscriber_that_does_not_read(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            publisher = await node.peer()
            assert await publisher.call("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0") == "OK"
            subscriber = await node.peer()
            await subscriber.say("SUBSCRIBE ch")
            count = await _publish_until_cut(node, publisher)
            assert count < 400
            assert node.app.node.stats.client_output_buffer_limit_disconnections == 1
            assert node.logged("scheduled to be closed ASAP for overcoming of output buffer limits")
            assert await publisher.say("PING") == "PONG"

    @in_loop
    async def test_a_client_that_does_not_read_its_replies(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.call("CONFIG", "SET", "client-output-buffer-limit", "normal 1mb 0 0")
            await peer.call("SET", "a", "x" * 100_000)
            for _ in range(200):
                peer.send("GET", "a")
            await until(lambda: not node.app.clients.conns, "the end of it")
            assert node.app.node.stats.client_output_buffer_limit_disconnections == 1

    @in_loop
    async def test_a_reply_that_is_too_large_is_not_even_begun(self, tmp_path: Path) -> None:
        """However quickly its client reads; and nothing of 200 MB is put together."""
        async with running(tmp_path) as node:
            operator = await node.peer()
            await operator.call("CONFIG", "SET", "client-output-buffer-limit", "normal 100000 0 0")
            await operator.call("SET", "a", "x" * 1_000_000)
            await operator.call("SET", "fits", "x" * 100_000)
            await operator.call("DEL", "written")
            before = _peak_mb()
            for commands in (
                [["MGET", *["a"] * 200]],
                [["GET", "a"]] * 200 + [["INCR", "written"]],
                [
                    ["MULTI"],
                    *[["GETRANGE", "a", "0", "999990"]] * 200,
                    ["INCR", "in exec"],
                    ["EXEC"],
                    ["INCR", "written"],
                ],
            ):
                peer = await node.peer()
                peer.write(b"".join(encode(words) for words in commands))
                sent = await peer.rest()
                assert len(sent) < 100_000, "only what came before the one too large"
            assert _peak_mb() - before < 50
            assert node.app.node.stats.client_output_buffer_limit_disconnections == 3
            assert await operator.say("EXISTS written") == 0
            assert await operator.call("GET", "in exec") == b"1", "a transaction is executed as a whole"
            assert len(await operator.call("GET", "fits")) == 100_000

    @in_loop
    async def test_messages_and_monitors_are_looked_at_as_they_come(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            operator, subscriber, modern, monitor = [await node.peer() for _ in range(4)]
            await modern.say("HELLO 3")
            await modern.say("SUBSCRIBE ch")
            await subscriber.say("SUBSCRIBE ch")
            await monitor.say("MONITOR")
            await operator.call("CONFIG", "SET", "client-output-buffer-limit", "pubsub 100000 0 0 normal 200000 0 0")
            await operator.call("PUBLISH", "ch", "x" * 90_000)
            await until(lambda: len(node.app.clients.conns) == 4)
            assert await operator.call("PUBLISH", "ch", "x" * 150_000) == 2
            await until(lambda: len(node.app.clients.conns) == 2, "the end of the subscribers")
            await operator.call("PUBLISH", "ch", "x" * 250_000)
            await until(lambda: len(node.app.clients.conns) == 1, "the end of the monitor")
            assert node.app.node.stats.client_output_buffer_limit_disconnections == 3

    @in_loop
    async def test_who_has_not_authenticated_is_owed_little(self, tmp_path: Path) -> None:
        """However much it sends: little is taken, and little is answered."""
        async with running(tmp_path, requirepass=b"pw") as node:
            few, many = await node.peer(), await node.peer()
            many.write(encode(["SET", "k", "v"]) * 400_000)
            await asyncio.sleep(0.35)
            assert node.app.node.stats.errors["NOAUTH"] <= 40
            assert node.app.node.stats.total_net_input_bytes < 1_000_000, "the rest waits in the kernel"
            few.write(encode(["SET", "k", "v"]) * 25)
            for _ in range(25):
                assert str(await few.read()).startswith("NOAUTH")
            assert await few.call("AUTH", "pw") == "OK"
            await few.call("SET", "a", "x" * 1_000_000)
            few.write(encode(["GET", "a"]) * 10)
            for _ in range(10):
                assert len(await few.read()) == 1_000_000

    @pytest.mark.parametrize("kind", ["normal", "pubsub"])
    def test_the_soft_limit_gives_the_seconds_it_says(self, tmp_path: Path, kind: str) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                operator, slow, late = await node.peer(), await node.peer(), await node.peer()
                await operator.call("CONFIG", "SET", "client-output-buffer-limit", f"{kind} 0 1mb 1000")
                await operator.call("SET", "a", "x" * 100_000)
                for peer in (slow, late):
                    if kind == "pubsub":
                        await peer.say("SUBSCRIBE ch")
                for _ in range(150):
                    if kind == "pubsub":
                        await operator.call("PUBLISH", "ch", "x" * 100_000)
                    else:
                        slow.send("GET", "a")
                        late.send("GET", "a")
                await until(lambda: all(conn.output.is_watched for conn in _others(node)), "both are above it")
                first, second = _others(node)
                for _ in range(150):
                    await late.read()
                await until(lambda: not second.output.is_watched, "the late one is below it")
                assert first.output._soft_since is not None
                first.output._soft_since -= 1001
                await until(lambda: len(node.app.clients.conns) == 2, "the end of the slow one")
                assert node.app.node.stats.client_output_buffer_limit_disconnections == 1
                assert (await late.say("PING")) in ("PONG", ["pong", b""], [b"pong", b""])

        run()


def _peak_mb() -> int:
    """The largest size that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _others(node: RunningNode) -> list[ClientConn]:
    """All but the first connection."""
    return list(node.app.clients.conns.values())[1:]


async def _publish_until_cut(node: RunningNode, publisher: Peer) -> int:
    for count in range(400):
        if await publisher.call("PUBLISH", "ch", "x" * 100_000) == 0 or len(node.app.clients.conns) == 1:
            return count
    return 400


class TestQueryBuffer:
    @in_loop
    async def test_an_unfinished_request_beyond_the_limit(self, tmp_path: Path) -> None:
        async with running(tmp_path, client_query_buffer_limit=1 << 20) as node:
            peer = await node.peer()
            peer.write(b"*2\r\n$3\r\nGET\r\n$10000000\r\n" + b"x" * 2_000_000)
            assert await peer.rest() == b""
            assert node.app.node.stats.client_query_buffer_limit_disconnections == 1
            assert node.logged("Closing client that reached max query buffer length")

    @in_loop
    async def test_a_limit_that_is_changed_counts_for_those_that_are_there(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer, other = await node.peer(), await node.peer()
            assert await peer.say("PING") == "PONG"
            assert await other.say("CONFIG SET proto-max-bulk-len 1mb") == "OK"
            peer.write(b"*2\r\n$3\r\nGET\r\n$2000000\r\n")
            assert await peer.rest() == b"-ERR Protocol error: invalid bulk length\r\n"


class TestSilence:
    @in_loop
    async def test_timeout(self, tmp_path: Path) -> None:
        async with running(tmp_path, loglevel="verbose") as node:
            idle, subscriber, monitor = [await node.peer() for _ in range(3)]
            await idle.say("CONFIG SET timeout 100")
            await subscriber.say("SUBSCRIBE ch")
            await monitor.say("MONITOR")
            clients = node.app.clients
            clients.close_idle()
            assert all(not conn.transport.is_closing() for conn in clients.conns.values())
            for conn in clients.conns.values():
                conn.client.last_seen_at -= 101
            clients.close_idle()
            assert await idle.rest() == b""
            await until(lambda: len(clients.conns) == 2)
            assert await monitor.is_silent()
            assert node.logged("Closing idle client")


@in_loop
async def test_sizes_for_client_list(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        peer.write(b"*2\r\n$3\r\nGET\r\n$100\r\n" + b"x" * 50)
        await until(lambda: node.app.node.stats.total_net_input_bytes)
        node.app.clients.measure()
        (conn,) = node.app.clients.conns.values()
        assert conn.client.query_buffer_bytes >= 50


class TestMemoryOfAll:
    @in_loop
    async def test_those_that_take_most_are_cut(self, tmp_path: Path) -> None:
        async with running(tmp_path, maxmemory_clients=4 << 20) as node:
            operator, small, large, spared = [await node.peer() for _ in range(4)]
            assert await spared.say("CLIENT NO-EVICT ON") == "OK"
            half = encode(["SET", "k", "x" * (8 << 20)])[: 3 << 20]
            small.write(encode(["SET", "k", "x" * 100_000])[:50_000])
            spared.write(half)
            await until(lambda: sum(conn.parser.pending_bytes for conn in node.app.clients.conns.values()) > 3 << 20)
            large.write(half)
            assert await large.rest() == b""
            assert await operator.say("PING") == "PONG"
            assert await node.info("evicted_clients") == "1" and node.logged("Evicting client: id=")
            assert await small.is_silent() and await spared.is_silent()
            assert await operator.say("CONFIG SET maxmemory-clients 0") == "OK"
