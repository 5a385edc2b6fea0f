"""A data set of every type and encoding, as commands, and a real server's dump.rdb of it.

`commands(scale, seed)` yields (database, command) pairs: the same for the same arguments. A scale of 200,000 gives
about that many keys; the shapes (what an encoding needs to appear) stay the same at any scale above 1,000. The
encodings named here are those of Redis 7.0 and later: int, embstr, raw; quicklist and listpack; intset, listpack and
hashtable sets; listpack and hashtable hashes; listpack and skiplist sorted sets; streams with groups, consumers and
pending entries; HyperLogLogs, sparse and dense; places (geo); two libraries of functions.

Times to live are hours away, so that nothing expires between two looks at it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.peers.lab import Lab, Node
from tests.peers.wire import ErrorReply, Word

Command = tuple[Word, ...]
Item = tuple[int, Command]

FULL: Final = 200_000
BATCH: Final = 500
HOURS_MS: Final = 3_600_000
DATABASES: Final = (0, 1, 15)
LIBRARIES: Final = ("counters", "queues")
"""The libraries of functions. Each has a function of its own name, which adds its second argument to a number."""

SHARES: Final[dict[str, float]] = {
    "strings": 0.60,
    "hashes": 0.12,
    "lists": 0.08,
    "sets": 0.09,
    "zsets": 0.09,
    "streams": 0.02,
}


def commands(scale: int, seed: int = 1, field_ttl: bool = False, exact_scores: bool = True) -> Iterator[Item]:
    """The whole data set as (database, command).

    field_ttl    also hashes whose fields expire (Redis 7.4 and later, pyrepl)
    exact_scores only scores that every version prints alike (see DEBUG DIGEST in Redis 7.0); False adds the others
    """
    rng = random.Random(seed)
    kinds = {
        "strings": _string,
        "hashes": _hash,
        "lists": _list,
        "sets": _set,
        "zsets": _zset,
        "streams": _stream,
    }
    for kind, make in kinds.items():
        for index in range(int(scale * SHARES[kind])):
            database = 0 if index % 10 else rng.choice(DATABASES)
            key = f"{kind}:{index}"
            for command in make(rng, key, index):
                yield database, command
            if rng.random() < 0.15:
                yield database, ("PEXPIRE", key, rng.randrange(1, 100) * HOURS_MS + rng.randrange(1000))
    yield from ((0, command) for command in _odd_ones(rng))
    yield from ((0, command) for command in _hyperloglogs(rng, max(10, scale // 1000)))
    yield from ((0, command) for command in _places(rng, max(10, scale // 1000)))
    yield from ((0, ("FUNCTION", "LOAD", "REPLACE", library(name, 1))) for name in LIBRARIES)
    if field_ttl:
        yield from ((0, command) for command in _field_ttls(rng, max(10, scale // 500)))
    if not exact_scores:
        yield 0, ("ZADD", "zset:scores", *_pairs([1 / 7, 123456789.12345679, 9999999999999999, 1e300, 5e-324, -0.0]))


def fill(node: Node, items: Iterator[Item]) -> int:
    """Send it all through pipelines; how many commands. Raises ErrorReply naming the command that was refused."""
    sent = 0
    with node.connect() as wire:
        current = 0
        batch: list[Command] = []
        for database, command in items:
            if database != current:
                batch.append(("SELECT", database))
                current = database
            batch.append(command)
            if len(batch) >= BATCH:
                sent += _send(wire.pipeline(batch), batch)
                batch = []
        sent += _send(wire.pipeline(batch), batch)
    return sent


def real_dump(kind: str, scale: int, folder: Path, field_ttl: bool = False, exact_scores: bool = True) -> Path:
    """A dump.rdb of the data set, written by that real server; kept in `folder` and made once.

    Two test workers may make it at the same time; both then have the file of whoever was first. So two nodes that are
    given it one after another hold the same, times to live included.
    """
    path = folder / f"{kind}-{scale}{'-ttl' if field_ttl else ''}{'' if exact_scores else '-scores'}.rdb"
    if path.exists():
        return path
    with tempfile.TemporaryDirectory(dir=folder) as making, Lab(Path(making)) as lab:
        node = lab.start(kind)
        fill(node, commands(scale, field_ttl=field_ttl, exact_scores=exact_scores))
        node.call("SAVE")
        with suppress(FileExistsError):
            path.hardlink_to(node.folder / "dump.rdb")
    return path


def _send(replies: list[object], batch: list[Command]) -> int:
    for reply, command in zip(replies, batch, strict=True):
        if isinstance(reply, ErrorReply):
            raise ErrorReply(f"{reply} (for {' '.join(str(word)[:40] for word in command[:6])})")
    return len(batch)


def _string(rng: random.Random, key: str, index: int) -> Iterator[Command]:
    match index % 8:
        case 0:
            yield "SET", key, rng.randrange(-(2**63), 2**63)
        case 1:
            yield "SET", key, rng.randrange(-40_000, 40_000)
        case 2:
            yield "SET", key, rng.randbytes(rng.randrange(1, 44))
        case 3:
            yield "SET", key, b"the same again and again, " * rng.randrange(2, 20)
        case 4 if index % 1000 == 4:
            yield "SET", key, rng.randbytes(70_000)
        case 5 if index % 2000 == 5:
            yield "SET", key, b"x" * 300_000
        case 6 if index % 64 == 6:
            yield "SETBIT", key, rng.randrange(4096), 1
        case 7 if index % 64 == 7:
            yield "SET", key, b""
        case _:
            yield "SET", key, rng.randbytes(100)


def _hash(rng: random.Random, key: str, index: int) -> Iterator[Command]:
    if index % 200 == 0:
        yield "HSET", key, *_fields(rng, 600)
    elif index % 50 == 0:
        yield "HSET", key, "long", b"v" * 200, *_fields(rng, 3)
    else:
        yield "HSET", key, *_fields(rng, rng.randrange(1, 8))


def _fields(rng: random.Random, count: int) -> Iterator[Word]:
    for number in range(count):
        yield f"field:{number}"
        yield rng.choice((rng.randrange(-(2**31), 2**31), rng.randbytes(12), b"text", b""))


def _list(rng: random.Random, key: str, index: int) -> Iterator[Command]:
    if index % 200 == 0:
        yield "RPUSH", key, *[rng.randbytes(40) for _ in range(800)]
    elif index % 100 == 50:
        yield "RPUSH", key, b"first", rng.randbytes(20_000), b"last"
    else:
        push = rng.choice(("LPUSH", "RPUSH"))
        yield push, key, *[rng.choice((number, f"item {number}", rng.randbytes(9))) for number in range(index % 12 + 1)]


def _set(rng: random.Random, key: str, index: int) -> Iterator[Command]:
    match index % 6:
        case 0:
            yield "SADD", key, *rng.sample(range(-30_000, 30_000), 6)
        case 1:
            yield "SADD", key, *rng.sample(range(-(2**31), 2**31), 6)
        case 2:
            yield "SADD", key, *rng.sample(range(-(2**60), 2**60), 6)
        case 3 if index % 300 == 3:
            yield "SADD", key, *[f"member:{number}" for number in range(700)]
        case 4 if index % 300 == 4:
            yield "SADD", key, *rng.sample(range(100_000), 600)
        case _:
            yield "SADD", key, *[rng.randbytes(rng.randrange(1, 30)) for _ in range(rng.randrange(1, 9))]


def _zset(rng: random.Random, key: str, index: int) -> Iterator[Command]:
    count = 300 if index % 200 == 0 else rng.randrange(1, 9)
    scores: list[float | str] = [rng.randrange(-4000, 4000) / 4 for _ in range(count)]
    if index % 20 == 1:
        scores += ["-inf", "+inf", 2**53, -(2**53)]
    yield "ZADD", key, *_pairs(scores)
    if index % 50 == 2:
        yield "ZADD", key, 3, b"m" * 100


def _pairs(scores: list[float] | list[float | str]) -> Iterator[Word]:
    for number, score in enumerate(scores):
        yield score
        yield f"member:{number}"


def _stream(rng: random.Random, key: str, index: int) -> Iterator[Command]:
    count = 350 if index % 40 == 0 else rng.randrange(4, 12)
    ids = [f"{1_700_000_000_000 + number * 7}-{number % 3}" for number in range(count)]
    for number, entry in enumerate(ids):
        fields = ("temperature", number, "place", b"north") if number % 3 else (f"f{number}", rng.randbytes(8))
        yield "XADD", key, entry, *fields
    if index % 3 == 0:
        yield "XGROUP", "CREATE", key, "readers", "0"
        yield "XREADGROUP", "GROUP", "readers", "ann", "COUNT", max(1, count // 2), "STREAMS", key, ">"
        yield "XREADGROUP", "GROUP", "readers", "bob", "COUNT", 2, "STREAMS", key, ">"
        yield "XACK", key, "readers", ids[0]
        yield "XGROUP", "CREATE", key, "idle", ids[-1]
    if index % 4 == 0:
        yield "XDEL", key, ids[count // 2]
    if index % 40 == 0:
        yield "XTRIM", key, "MAXLEN", "=", 200
    if index % 7 == 0:
        yield "XSETID", key, "1800000000000-5"


def _odd_ones(rng: random.Random) -> Iterator[Command]:
    """One each of what appears once in a real database and breaks a reader."""
    yield "SET", b"binary\r\n\x00\xff key", b"\r\n\x00\xff"
    yield "SET", b"", b"the empty key"
    yield "SET", b"k" * 3000, b"a long key"
    yield "SET", "number-like", b"007"
    yield "SET", "number-like:float", b"1.0"
    yield "SET", "big", rng.randbytes(1_200_000)
    yield (
        "RPUSH",
        "list:numbers",
        *[2**exponent - 1 for exponent in range(0, 64, 3)],
        *[-(2**e) for e in range(0, 64, 7)],
    )
    yield "RPUSH", "list:sizes", *[b"z" * size for size in (0, 1, 63, 64, 4095, 4096, 9000)]
    yield "XADD", "stream:emptied", "5-1", "a", "b"
    yield "XDEL", "stream:emptied", "5-1"
    yield "XGROUP", "CREATE", "stream:created", "g", "$", "MKSTREAM"
    yield "XGROUP", "CREATECONSUMER", "stream:created", "g", "nobody yet"


def library(name: str, version: int) -> str:
    """The text of a library: `FCALL name 1 key number`."""
    return (
        f"#!lua name={name}\n-- version {version}\n"
        f"redis.register_function('{name}', function(keys, argv) return redis.call('INCRBY', keys[1], argv[1]) end)\n"
    )


def _hyperloglogs(rng: random.Random, count: int) -> Iterator[Command]:
    """Of a few elements (sparse), of thousands (dense), with a cardinality that is kept and one that is not."""
    for index in range(count):
        key = f"hyperloglog:{index}"
        for _ in range(12 if index % 5 == 0 else 1):
            yield "PFADD", key, *[rng.randrange(10**9) for _ in range(rng.randrange(1, 400))]
        if index % 2:
            yield "PFCOUNT", key
    yield "PFADD", "hyperloglog:empty"
    yield "PFMERGE", "hyperloglog:merged", *[f"hyperloglog:{index}" for index in range(count)]


def _places(rng: random.Random, count: int) -> Iterator[Command]:
    for index in range(count):
        places = [(rng.uniform(-180, 180), rng.uniform(-85, 85), f"place:{number}") for number in range(index % 20 + 1)]
        yield "GEOADD", f"places:{index}", *[word for place in places for word in place]


def _field_ttls(rng: random.Random, count: int) -> Iterator[Command]:
    for index in range(count):
        key = f"volatile-hash:{index}"
        size = 600 if index % 9 == 0 else 5
        yield "HSET", key, *_fields(rng, size)
        seconds = rng.randrange(3600, 360_000)
        yield "HEXPIRE", key, seconds, "FIELDS", 2, "field:0", f"field:{size - 1}"
