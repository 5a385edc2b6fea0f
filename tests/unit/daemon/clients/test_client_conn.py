"""One connection: pipelines cut anywhere, the order of replies around holds, CLIENT REPLY, and how it ends."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from pyrepl.daemon.clients.client_conn import HELD_BYTES
from tests.peers.wire import encode
from tests.unit.daemon.rig import Peer, in_loop, running, until

PIPELINE = (
    encode(["SET", "a", "1"])
    + b"INCR a\r\n"
    + encode(["GET", "a"])
    + encode(["NOSUCH"])
    + encode(["SET", "big", "x" * 5000])
    + encode(["STRLEN", "big"])
    + b"\r\n"
    + encode(["GET", "no"])
    + encode(["PING"])
)
ANSWERS = (
    b"+OK\r\n:2\r\n$1\r\n2\r\n-ERR unknown command 'NOSUCH', with args beginning with: \r\n"
    b"+OK\r\n:5000\r\n$-1\r\n+PONG\r\n"
)


class TestPipeline:
    @in_loop
    async def test_whole(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.write(PIPELINE)
            assert await peer.exactly(len(ANSWERS)) == ANSWERS

    @pytest.mark.parametrize("seed", range(3))
    def test_cut_anywhere(self, tmp_path: Path, seed: int) -> None:
        @in_loop
        async def run() -> None:
            dice = random.Random(seed)
            async with running(tmp_path) as node:
                peer = await node.peer()
                rest = PIPELINE
                while rest:
                    size = dice.choice((1, 2, 7, 100, 3000))
                    peer.write(rest[:size])
                    rest = rest[size:]
                    await asyncio.sleep(0.001)
                assert await peer.exactly(len(ANSWERS)) == ANSWERS

        run()

    @in_loop
    async def test_a_value_of_several_megabytes(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            value = random.Random(1).randbytes(6_000_000)
            assert await peer.call("SET", "a", value) == "OK"
            assert await peer.call("GET", "a") == value

    @in_loop
    async def test_a_peer_that_does_not_read_for_a_while(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            value = b"x" * 100_000
            await peer.call("SET", "a", value)
            for _ in range(100):
                peer.send("GET", "a")
            other = await node.peer()
            assert await other.say("PING") == "PONG"
            for _ in range(100):
                assert await peer.read() == value


class TestHold:
    @in_loop
    async def test_what_follows_waits_and_keeps_its_order(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            number = await peer.say("CLIENT ID")
            peer.send("SET", "a", "1")
            peer.send("WAIT", "1", "0")
            peer.send("INCR", "a")
            assert await peer.read() == "OK"
            peer.send("INCR", "a")
            assert await peer.is_silent(0.02)
            assert await node.say("GET a") == b"1"
            assert await node.say(f"CLIENT UNBLOCK {number}") == 1
            assert [await peer.read() for _ in range(3)] == [0, 2, 3]

    @in_loop
    async def test_held_twice_in_one_batch(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            for words in (("WAIT", "1", "20"), ("INCR", "a"), ("WAIT", "2", "20"), ("INCR", "a"), ("PING",)):
                peer.send(*words)
            assert [await peer.read() for _ in range(5)] == [0, 1, 0, 2, "PONG"]

    @in_loop
    async def test_a_pause_in_the_middle_of_a_batch(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.send("CLIENT", "PAUSE", "100000", "WRITE")
            peer.send("GET", "a")
            peer.send("SET", "a", "1")
            peer.send("GET", "a")
            assert [await peer.read(), await peer.read()] == ["OK", None]
            assert await peer.is_silent(0.02)
            assert await node.say("CLIENT UNPAUSE") == "OK"
            assert [await peer.read(), await peer.read()] == ["OK", b"1"]

    @in_loop
    async def test_a_broken_request_behind_it_is_told_after_it(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.write(encode(["WAIT", "1", "20"]) + encode(["PING"]) + b"*1\r\n!\r\n")
            assert await peer.rest() == b":0\r\n+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n"

    @in_loop
    async def test_a_flood_is_left_to_the_kernel(self, tmp_path: Path) -> None:
        """What a held client sends ahead is bounded here, and nothing of it is lost."""
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.say("CLIENT PAUSE 100000 ALL")
            request = encode(["APPEND", "a", "x" * 100_000])
            peer.write(request * 200)
            await asyncio.sleep(0.1)
            (conn,) = node.app.clients.conns.values()
            assert conn._unparsed_bytes < HELD_BYTES + (1 << 20)
            node.app.node.pause.end()
            node.app.clients.waits.pause_changed()
            assert [await peer.read() for _ in range(200)] == [100_000 * (turn + 1) for turn in range(200)]

    @in_loop
    async def test_unauthenticated_batches_are_held_whole(self, tmp_path: Path) -> None:
        """Behind AUTH the parser holds the rest back; a WAIT among it must not change the order."""
        async with running(tmp_path, requirepass=b"pw") as node:
            peer = await node.peer()
            peer.write(encode(["AUTH", "pw"]) + encode(["WAIT", "1", "30"]) + encode(["INCR", "a"]))
            await asyncio.sleep(0.01)
            peer.send("INCR", "a")
            assert [await peer.read() for _ in range(4)] == ["OK", 0, 1, 2]


class TestAuth:
    MANY = encode(["MSET", *map(str, range(40))])
    BIG = encode(["SET", "big", "x" * 100_000])

    @in_loop
    async def test_the_limits_for_strangers_end_with_it(self, tmp_path: Path) -> None:
        async with running(tmp_path, requirepass=b"pw") as node:
            for together in (True, False):
                peer = await node.peer()
                peer.send("AUTH", "pw")
                if not together:
                    assert await peer.read() == "OK"
                peer.write(self.MANY + self.BIG)
                expected = ["OK"] * (3 if together else 2)
                assert [await peer.read() for _ in expected] == expected

    @pytest.mark.parametrize(
        ("request_", "answer"),
        [(MANY, b"unauthenticated multibulk length"), (BIG, b"unauthenticated bulk length")],
    )
    def test_until_then_they_hold(self, tmp_path: Path, request_: bytes, answer: bytes) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path, requirepass=b"pw") as node:
                peer = await node.peer()
                peer.write(encode(["AUTH", "wrong"]) + request_)
                assert (await peer.line()).startswith(b"-WRONGPASS ")
                assert await peer.rest() == b"-ERR Protocol error: " + answer + b"\r\n"

        run()


class TestReply:
    @in_loop
    async def test_off_and_on(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            for line in ("CLIENT REPLY OFF", "INCR a", "NOSUCH", "CLIENT REPLY ON", "GET a"):
                peer.send(*line.split())
            assert await peer.exactly(12) == b"+OK\r\n$1\r\n1\r\n"

    @in_loop
    async def test_skip(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            for line in ("CLIENT REPLY SKIP", "INCR a", "INCR a"):
                peer.send(*line.split())
            assert await peer.read() == 2

    @in_loop
    async def test_on_after_skip_is_answered(self, tmp_path: Path) -> None:
        """As are SUBSCRIBE and UNSUBSCRIBE, in Redis 8.2."""
        async with running(tmp_path) as node:
            peer = await node.peer()
            for line in ("CLIENT REPLY SKIP", "CLIENT REPLY ON", "PING"):
                peer.send(*line.split())
            assert [await peer.read(), await peer.read()] == ["OK", "PONG"]
            for line in ("CLIENT REPLY SKIP", "SUBSCRIBE ch", "CLIENT REPLY SKIP", "UNSUBSCRIBE ch"):
                peer.send(*line.split())
            assert await peer.read() == [b"subscribe", b"ch", 1]

    @in_loop
    async def test_off_silences_what_comes_encoded(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.call("XADD", "s", "1-1", "f", "v")
            await peer.call("HELLO", "3")
            for line in ("CLIENT REPLY OFF", "XREAD STREAMS s 0", "REPLCONF capa eof", "CLIENT REPLY ON"):
                peer.send(*line.split())
            assert await peer.exactly(5) == b"+OK\r\n"

    @in_loop
    async def test_off_silences_replies_and_no_messages(self, tmp_path: Path) -> None:
        """Compared with Redis 7.0: confirmations of SUBSCRIBE come as well."""
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.send("CLIENT", "REPLY", "OFF")
            peer.send("SUBSCRIBE", "ch")
            assert await peer.read() == [b"subscribe", b"ch", 1]
            assert await node.say("PUBLISH ch x") == 1
            assert await peer.read() == [b"message", b"ch", b"x"]

    @in_loop
    async def test_another_protocol_in_the_middle_of_a_batch(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            for line in ("HSET h f v", "HGETALL h", "HELLO 3", "HGETALL h"):
                peer.send(*line.split())
            assert [await peer.read(), await peer.read()] == [1, [b"f", b"v"]]
            hello = await peer.read()
            assert isinstance(hello, dict) and hello[b"proto"] == 3
            assert await peer.read() == {b"f": b"v"}


class TestEnd:
    @pytest.mark.parametrize(
        ("request_", "answer"),
        [
            (b"*1\r\n!3\r\n", b"-ERR Protocol error: expected '$', got '!'\r\n"),
            (b"*x\r\n", b"-ERR Protocol error: invalid multibulk length\r\n"),
            (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
            (b'SET a "x\r\n', b"-ERR Protocol error: unbalanced quotes in request\r\n"),
        ],
    )
    def test_a_broken_request_ends_this_connection_alone(self, tmp_path: Path, request_: bytes, answer: bytes) -> None:
        @in_loop
        async def run() -> None:
            async with running(tmp_path) as node:
                bad, good = await node.peer(), await node.peer()
                assert await good.say("SET a 1") == "OK"
                bad.write(encode(["GET", "a"]) + request_ + encode(["SET", "a", "2"]))
                assert await bad.rest() == b"$1\r\n1\r\n" + answer
                assert await good.say("GET a") == b"1"
                await until(lambda: len(node.app.clients.conns) == 1)

        run()

    @in_loop
    async def test_quit_with_more_behind_it(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.write(encode(["SET", "a", "1"]) + encode(["QUIT"]) + encode(["SET", "a", "2"]))
            assert await peer.rest() == b"+OK\r\n+OK\r\n"
            assert await node.say("GET a") == b"1"

    @in_loop
    async def test_the_request_is_cut_off(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.write(encode(["SET", "a", "1"]) + b"*3\r\n$3\r\nSET\r\n$1\r\na")
            assert await peer.read() == "OK"
            peer.close()
            await until(lambda: not node.app.clients.conns)
            assert await node.say("GET a") == b"1"

    @in_loop
    async def test_half_closed_it_still_gets_its_answers(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            peer.write(PIPELINE)
            peer.writer.write_eof()
            assert await peer.rest() == ANSWERS

    @in_loop
    async def test_killed_by_itself_it_gets_the_reply(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            number = await peer.say("CLIENT ID")
            peer.send("CLIENT", "KILL", "ID", number, "SKIPME", "no")
            assert await peer.rest() == b":1\r\n"


@in_loop
async def test_bytes_are_counted(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        peer.write(PIPELINE)
        await peer.exactly(len(ANSWERS))
        (conn,) = node.app.clients.conns.values()
        assert conn.client.total_in_bytes == node.app.node.stats.total_net_input_bytes == len(PIPELINE)
        assert conn.client.total_out_bytes == node.app.node.stats.total_net_output_bytes == len(ANSWERS)
        assert conn.client.total_commands == 8


class TestNames:
    @in_loop
    async def test_of_both_ends(self, tmp_path: Path) -> None:
        async with running(tmp_path, unixsocket=str(tmp_path / "sock")) as node:
            peer = await node.peer()
            own = peer.writer.get_extra_info("sockname")[1]
            line = (await peer.say("CLIENT INFO")).decode()
            assert f" addr=127.0.0.1:{own} laddr=127.0.0.1:{node.port} " in line
            local = await Peer.to_unix(str(tmp_path / "sock"))
            assert f" addr={tmp_path}/sock:0 laddr={tmp_path}/sock:0 " in (await local.say("CLIENT INFO")).decode()
            local.close()
