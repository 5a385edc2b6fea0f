"""Make the captured dumps anew: `python -m tests.data.make_dumps`, with the real servers (tests/peers/finder.py).

The bytes differ from run to run (ctime, used-mem, the order of keys, the times of consumers); the contents that
tests/unit/rdb/test_captured.py states do not.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import redis

from tests.peers import finder

HERE: Final = Path(__file__).parent
PORT: Final = 23790
FAR_MS: Final = 4102444800123
"""2100-01-01: an expiry that outlives the tests."""


@contextmanager
def running(kind: str, name: str, *options: str) -> Iterator[Any]:
    """A real server with its client; at the end it saves, and its dump becomes tests/data/NAME."""
    with tempfile.TemporaryDirectory() as directory:
        command = [str(finder.server(kind)), "--port", str(PORT), "--save", "", "--dir", directory, *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            client: Any = redis.Redis(port=PORT)
            _wait_for(client)
            yield client
            client.save()
            shutil.copy(Path(directory) / "dump.rdb", HERE / name)
        finally:
            process.kill()
            process.wait()


def _wait_for(client: Any) -> None:
    for _ in range(100):
        try:
            client.ping()
            return
        except redis.exceptions.ConnectionError:
            time.sleep(0.05)
    raise TimeoutError("the server does not answer")


def fill(client: Any) -> None:
    """Every type in every encoding that a Redis 7.0 writes."""
    _fill_strings(client)
    _fill_collections(client)
    _fill_streams(client)
    client.function_load("#!lua name=mylib\nredis.register_function('f', function() return 1 end)")
    other = redis.Redis(port=PORT, db=3)
    other.set("in db 3", "yes")
    other.set("same", 1)


def _fill_strings(client: Any) -> None:
    for key, value in {"int8": -12, "int16": 1234, "int32": -123456789, "int64": 12345678901234}.items():
        client.set(key, value)
    client.set("plain", "hello world")
    client.set("lzf", "ab" * 100)
    client.set("random", bytes(range(256)))
    client.set("empty", "")
    client.set("123", "numeric key")
    client.set("expiring", "x", pxat=FAR_MS)
    client.set("long", b"x1" + bytes((i * 7919 + i * i) % 251 for i in range(20000)))


def _fill_collections(client: Any) -> None:
    client.rpush("list:small", "a", "1", "-70000", b"\x00\xff" * 50)
    client.rpush("list:long", *[b"item-%d" % i * 10 for i in range(300)])
    client.rpush("list:plain", "z", bytes((i * i) % 251 for i in range(9000)), "q")
    client.sadd("set:intset16", *range(-5, 20))
    client.sadd("set:intset32", 1, 70000)
    client.sadd("set:intset64", 1, 1 << 40)
    client.sadd("set:small", "a", "b", "1")
    client.sadd("set:big", *[f"m{i}" for i in range(200)])
    inf = float("inf")
    client.zadd("zset:small", {"a": 1, "b": 0.1, "c": -1e300, "d": inf, "e": -inf, "f": 1 / 7, "g": 123456789.12345679})
    client.zadd("zset:big", {f"m{i}": i / 7 for i in range(200)})
    client.hset("hash:small", mapping={"f1": "v1", "n": "42", b"bin\x00": "x" * 60})
    client.hset("hash:big", mapping={f"f{i}": f"v{i}" for i in range(600)})
    client.hset("hash:wide", mapping={"f": "y" * 100})


def _fill_streams(client: Any) -> None:
    for i in range(250):
        client.xadd("stream:big", {"a": i, "b": f"v{i}"}, id=f"{1700000000000 + i // 3}-{i % 3}")
    client.xdel("stream:big", "1700000000001-1", "1700000000083-0")
    client.xadd("stream:groups", {"a": 1}, id="5-1")
    client.xadd("stream:groups", {"b": 2, "c": "x"}, id="6-0")
    client.xadd("stream:groups", {"b": 2, "c": "x"}, id="7-0")
    client.xgroup_create("stream:groups", "g1", "0")
    client.xreadgroup("g1", "alice", {"stream:groups": ">"}, count=2)
    client.xreadgroup("g1", "bob", {"stream:groups": ">"}, count=1)
    client.xack("stream:groups", "g1", "5-1")
    client.xgroup_create("stream:groups", "g2", "6-0")
    client.xgroup_createconsumer("stream:groups", "g2", "idle")
    client.xadd("stream:empty", {"a": 1}, id="9-9")
    client.xdel("stream:empty", "9-9")


def _fill_field_ttls(client: Any) -> None:
    client.hset("hash:ttl:small", mapping={"f1": "v1", "f2": "v2", "f3": "3"})
    client.execute_command("HPEXPIREAT", "hash:ttl:small", FAR_MS, "FIELDS", 2, "f1", "f3")
    client.hset("hash:ttl:big", mapping={f"f{i}": f"v{i}" for i in range(600)})
    client.execute_command("HPEXPIREAT", "hash:ttl:big", FAR_MS, "FIELDS", 2, "f1", "f3")
    client.execute_command("HPEXPIREAT", "hash:ttl:big", FAR_MS + 100000, "FIELDS", 1, "f7")


def _fill_idmp(client: Any) -> None:
    add = ("XADD", "stream:idmp", "IDMP")
    for producer, iid in (("p1", "i1"), ("p1", "i2"), ("p1", "i1"), ("p2", "x" * 100), ("p1", "7")):
        client.execute_command(*add, producer, iid, "*", "f", "v")
    client.execute_command("XADD", "stream:idmp", "IDMPAUTO", "p3", "*", "f", "v")
    client.xadd("stream:tuned", {"a": 1}, id="5-1")
    client.execute_command("XCFGSET", "stream:tuned", "IDMP-DURATION", 86400, "IDMP-MAXSIZE", 10000)


def _fill_few(client: Any) -> None:
    client.set("a", 1)
    client.set("b", "hello", pxat=FAR_MS)
    client.rpush("l", 1, 2)


def _fill_slots(client: Any) -> None:
    client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    for _ in range(200):
        if b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"):
            break
        time.sleep(0.05)
    client.set("a", 1)
    client.set("foo", "hello", pxat=FAR_MS)


def main() -> None:
    for kind, name in (("redis7", "redis-7.0.rdb"), ("valkey8", "valkey-8.0.rdb")):
        with running(kind, name) as client:
            fill(client)
    with running("redis8", "redis-8.2.rdb") as client:
        fill(client)
        _fill_field_ttls(client)
    with running("redis86", "redis-8.6.rdb") as client:
        fill(client)
        _fill_field_ttls(client)
        _fill_idmp(client)
    with running("redis7", "redis-7.0-lfu.rdb", "--maxmemory-policy", "allkeys-lfu") as client:
        _fill_few(client)
    with running("redis7", "redis-7.0-lru.rdb", "--maxmemory-policy", "allkeys-lru") as client:
        _fill_few(client)
        time.sleep(2)
    for kind, name in (("redis8", "redis-8.2-cluster.rdb"), ("valkey8", "valkey-8.0-cluster.rdb")):
        with running(kind, name, "--cluster-enabled", "yes", "--cluster-require-full-coverage", "no") as client:
            _fill_slots(client)
    module = str(finder.server("redis8").with_name("falkordb.so"))
    with running("redis8", "redis-8.2-module.rdb", "--loadmodule", module) as client:
        client.set("a", 1)
        client.execute_command("GRAPH.QUERY", "g", "CREATE (:P {name:'x'})-[:K]->(:P {name:'y'})")
        client.set("z", "last")


if __name__ == "__main__":
    main()
