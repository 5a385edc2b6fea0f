"""Client libraries and tools as people use them, unchanged, against pyrepl."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import redis
import redis.asyncio

from tests.peers import compare, dataset, finder
from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST
from tests.peers.wire import encode

SCALE = 2000


@pytest.fixture
def node(lab: Lab) -> Node:
    return lab.start("pyrepl")


@pytest.fixture
def filled(lab: Lab, dumps: Path) -> Node:
    node = lab.start("pyrepl", dump=dataset.real_dump("redis7", SCALE, dumps))
    node.wait_loaded()
    return node


def cli(node: Node, *args: object, data: bytes | None = None) -> str:
    """What redis-cli prints; raises when it fails."""
    command = [str(finder.tool("redis-cli")), "-h", HOST, "-p", str(node.port), *map(str, args)]
    done = subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return (done.stdout + done.stderr).decode(errors="replace")


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py(node: Node, protocol: int) -> None:
    client: Any = redis.Redis(HOST, node.port, protocol=protocol, decode_responses=True)
    client.set("a", "1", ex=100)
    assert client.incr("a") == 2
    assert 0 < client.ttl("a") <= 100
    client.hset("h", mapping={"x": "1", "y": "2"})
    assert client.hgetall("h") == {"x": "1", "y": "2"}
    client.zadd("z", {"one": 1, "two": 2.5})
    assert [tuple(pair) for pair in client.zrange("z", 0, -1, withscores=True)] == [("one", 1.0), ("two", 2.5)]
    client.sadd("s", "p", "q")
    assert client.smembers("s") == {"p", "q"}
    entry = client.xadd("x", {"k": "v"})
    assert client.xrange("x") == [(entry, {"k": "v"})]
    assert sorted(client.scan_iter(count=2)) == ["a", "h", "s", "x", "z"]
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        client.lpush("a", "1")
    assert client.info("replication")["role"] == "master"
    assert client.client_info()["resp"] in (protocol, str(protocol))
    client.close()


def test_redis_py_pipelines_transactions_and_watch(node: Node) -> None:
    client: Any = redis.Redis(HOST, node.port, decode_responses=True)
    with client.pipeline(transaction=True) as pipe:
        assert pipe.set("a", 1).incr("a").get("a").execute() == [True, 2, "2"]
    with client.pipeline() as pipe:
        pipe.watch("a")
        client.set("a", "changed by another")
        pipe.multi()
        pipe.set("a", "lost")
        with pytest.raises(redis.WatchError):
            pipe.execute()
    assert client.get("a") == "changed by another"
    client.close()


def test_redis_py_pubsub(node: Node) -> None:
    client: Any = redis.Redis(HOST, node.port, decode_responses=True)
    with client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe("news")
        listener.psubscribe("n?ws")
        listener.get_message(timeout=5)
        listener.get_message(timeout=5)
        assert client.publish("news", "hello") == 2
        heard = [listener.get_message(timeout=5), listener.get_message(timeout=5)]
    assert sorted(message["type"] for message in heard if message) == ["message", "pmessage"]
    client.close()


@pytest.mark.parametrize("protocol", [2, 3])
def test_redis_py_asyncio(node: Node, protocol: int) -> None:
    async def talk() -> None:
        client: Any = redis.asyncio.Redis(host=HOST, port=node.port, protocol=protocol, decode_responses=True)
        await asyncio.gather(*[client.set(f"key:{number}", number) for number in range(80)])
        values = await asyncio.gather(*[client.get(f"key:{number}") for number in range(80)])
        assert values == [str(number) for number in range(80)]
        async with client.pipeline(transaction=True) as pipe:
            assert await pipe.incr("key:1").incr("key:1").execute() == [2, 3]
        assert await client.dbsize() == 80
        await client.aclose()

    asyncio.run(talk())


def test_redis_cli_command_and_info(node: Node) -> None:
    assert cli(node, "SET", "a", "1").strip() == "OK"
    assert cli(node, "INFO", "replication").startswith("# Replication")
    assert cli(node, "-3", "CONFIG", "GET", "port").split() == ["port", str(node.port)]
    assert int(cli(node, "COMMAND", "COUNT")) > 150


def test_redis_cli_stat(node: Node) -> None:
    """One line every interval, with numbers that grow."""
    command = [str(finder.tool("redis-cli")), "-p", str(node.port), "--stat", "-i", "0.1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
    finally:
        process.kill()
        process.wait()
    assert "keys" in lines[1]
    assert all(line.split()[0].isdigit() for line in lines[2:]), lines


def test_redis_cli_bigkeys(filled: Node) -> None:
    output = cli(filled, "--bigkeys")
    assert f"Sampled {filled.call('DBSIZE')} keys in the keyspace!" in output
    for kind in ("string", "list", "set", "hash", "zset", "stream"):
        assert f"Biggest {kind:>6} found" in output, output


def test_redis_cli_memkeys(filled: Node) -> None:
    assert "Sampled" in cli(filled, "--memkeys")


def test_redis_cli_rdb(lab: Lab, filled: Node, tmp_path: Path) -> None:
    """It fetches a snapshot as a replica would; a real server loads the file to the same data."""
    target = tmp_path / "fetched.rdb"
    assert "Transfer finished with success" in cli(filled, "--rdb", target)
    real = lab.start("redis7", dump=target)
    real.wait_loaded()
    compare.assert_equal(filled, real)


def _said(node: Node, seen: int) -> list[str]:
    """The sentences of a master's log from character `seen` on, without what its children, the addresses of clients
    and verbose lines say."""
    lines = re.findall(r"^\d+:M .*? [*#] (.*)$", node.log()[seen:], re.MULTILINE)
    return [re.sub(r" \(rdb-channel\)| by pid .*| \(cause: .*", "", line) for line in lines]


OF_OURS = ("Full resync requested", "Replication backlog created")
"""Lines that differ from Redis's by intent: why a full resync was requested, and the ids of the stream."""
OF_A_RACE = (
    "Diskless rdb transfer, done reading from pipe",
    "RDB transfer completed, rdb only replica",
    "Streamed RDB transfer with replica",
)
"""Lines of a diskless dump that depend on whether the child ends before the client hangs up, and on Redis's pipe."""


@pytest.mark.parametrize(("diskless", "flag"), [("yes", "--rdb"), ("yes", "--functions-rdb"), ("no", "--rdb")])
def test_a_dump_of_redis_cli_is_no_failure_in_the_log(lab: Lab, tmp_path: Path, diskless: str, flag: str) -> None:
    """What the log of Redis 8 says of it ours says as well, and nothing of a child that was killed. The end of the
    connection and that of the child may come in either order."""
    said = []
    apart = OF_OURS + (OF_A_RACE if diskless == "yes" else ())
    for kind in ("redis8", "pyrepl"):
        master = lab.start(kind, directives={"repl-diskless-sync": diskless})
        master.call("SET", "a", "1")
        seen = len(master.log())
        cli(master, flag, tmp_path / f"{kind}.rdb")
        master.wait_log(" terminated with success")
        master.wait_log(" lost.")
        said.append(sorted(line for line in _said(master, seen) if not line.startswith(apart)))
    real, ours = said
    assert ours == real


def test_redis_cli_functions_rdb(lab: Lab, tmp_path: Path) -> None:
    """What `--functions-rdb` fetches has the functions and no key, from pyrepl as from the real server it follows."""
    real = lab.start("redis7")
    real.call("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 1 end)")
    real.call("SET", "a", "1")
    node = lab.start("pyrepl", real)
    node.wait_link_up()
    for source in (real, node):
        target = tmp_path / f"functions-{source.port}.rdb"
        assert "Transfer finished with success" in cli(source, "--functions-rdb", target)
        loaded = lab.start("redis7", dump=target)
        loaded.wait_loaded()
        assert loaded.call("DBSIZE") == 0
        assert loaded.call("FCALL", "f", "0") == 1


def test_redis_cli_replica_shows_the_stream(filled: Node) -> None:
    """`redis-cli --replica` takes a full sync, without any key, and prints what is written after it."""
    command = [str(finder.tool("redis-cli")), "-p", str(filled.port), "--replica"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        while "SYNC done" not in (line := process.stdout.readline()):
            assert line, "it ended before the sync was done"
            assert "error" not in line
        assert int(line.split()[3]) < 500, "bytes of the snapshot"
        filled.call("SET", "seen", "by the replica")
        while "seen" not in (line := process.stdout.readline()):
            assert line, "it ended before the write arrived"
        assert line.strip() == '"SET","seen","by the replica"'
    finally:
        process.kill()
        process.wait()


def test_redis_cli_pipe(node: Node) -> None:
    data = b"".join(encode(("SET", f"key:{number}", number)) for number in range(50_000))
    assert "errors: 0, replies: 50000" in cli(node, "--pipe", data=data)
    assert node.call("DBSIZE") == 50_000


def test_redis_cli_latency_and_monitor(node: Node) -> None:
    process = subprocess.Popen(
        [str(finder.tool("redis-cli")), "-p", str(node.port), "MONITOR"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "OK"
        node.call("SET", "watched", "1")
        while '"watched"' not in (line := process.stdout.readline()):
            assert line
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("depth", [1, 16])
def test_redis_benchmark_defaults(node: Node, depth: int) -> None:
    """All of its default tests; no error reply (it would exit), no stall."""
    command = [str(finder.tool("redis-benchmark")), "-p", str(node.port), "-n", "2000", "-P", str(depth), "--csv"]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith('"')]
    names = {row.split(",")[0].strip('"') for row in rows}
    assert {"PING_INLINE", "SET", "GET", "LPUSH", "LRANGE_600 (first 600 elements)", "MSET (10 keys)"} <= names
    assert time.monotonic() - started < 100


def test_node_redis(node: Node, tmp_path: Path) -> None:
    """node-redis: RESP2 and RESP3, a pipeline, a transaction, pub/sub, a scan."""
    executable, modules = finder.node_packages()
    script = Path(__file__).with_name("node_redis_client.js")
    done = subprocess.run(
        [str(executable), str(script), str(node.port)],
        env={"NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == "all good"
