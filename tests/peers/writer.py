"""A random writer over all types: seeded, bounded in keys and rate, running beside a sync.

It writes what clients write, so that what a master must rewrite for its replicas appears: relative expiries, SPOP,
INCRBYFLOAT, XADD with `*`, approximate trims, GETEX, transactions, several databases. Its keys (`w:*`) are few, so that
its types meet; a WRONGTYPE answer is part of the game, any other error ends it and is raised by `stop`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from tests.peers.dataset import LIBRARIES, library
from tests.peers.lab import Node
from tests.peers.wire import ErrorReply, Word

Command = tuple[Word, ...]

SHORT_TTL_MS: Final = 1500
"""The longest short time to live it sets; after that long without writes, all of those have passed."""

EXPECTED: Final = (
    "WRONGTYPE",
    "BUSYGROUP",
    "NOGROUP",
    "ERR The XGROUP subcommand requires the key to exist",
    "ERR no such key",
    "ERR value is not",
    "ERR hash value is not",
    "ERR index out of range",
    "ERR source and destination objects are the same",
)
BATCH: Final = 20

WRITTEN_GROUPS: Final = b"w:group:"
"""How the keys of streams with consumer groups begin."""


class Writer:
    """A thread that writes until told to stop. Used as `with Writer(node): ...` or by start and stop.

    `field_ttl` adds commands of Redis 7.4 and later on hashes, `newest` those of 8.4 and 8.6, `scripts` those of
    scripts, functions, HyperLogLogs and places, and blocking ones; `without` names commands to leave out.
    """

    def __init__(
        self,
        node: Node,
        seed: int = 1,
        per_second: int = 4000,
        field_ttl: bool = False,
        newest: bool = False,
        scripts: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.written = 0
        self._node = node
        self._rng = random.Random(seed)
        self._per_second = per_second
        self._without = without
        self._moves = [*_MOVES, *(_FIELD_TTL_MOVES if field_ttl else ()), *(_NEWEST_MOVES if newest else ())]
        self._moves += _SCRIPT_MOVES if scripts else ()
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join(30)
        if error is None:
            self.stop()

    def start(self) -> Self:
        """Begin to write."""
        self._thread.start()
        return self

    def stop(self) -> int:
        """End it; how many commands were written. Raises what went wrong, if something did."""
        self._stopped.set()
        self._thread.join(30)
        self.check()
        return self.written

    def check(self) -> None:
        """Raise what ended it, if something did."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with self._node.connect() as wire:
                while not self._stopped.is_set():
                    batch = list(self.batch())
                    for command, reply in zip(batch, wire.pipeline(batch), strict=True):
                        if isinstance(reply, ErrorReply) and not str(reply).startswith(EXPECTED):
                            raise AssertionError(f"{reply} (for {command!r:.200})")
                    self.written += len(batch)
                    time.sleep(len(batch) / self._per_second)
        except BaseException as failure:
            self._failure = failure

    def batch(self) -> Iterator[Command]:
        """The next commands: one database, now and then as a transaction."""
        rng = self._rng
        yield "SELECT", rng.choice((0, 0, 0, 0, 3, 9))
        transaction = rng.random() < 0.2
        if transaction:
            yield ("MULTI",)
        for _ in range(rng.randrange(1, BATCH)):
            command = rng.choice(self._moves)(rng)
            if command[0] not in self._without:
                yield command
        if transaction:
            yield ("EXEC",)


def _key(rng: random.Random, kind: str, count: int = 40) -> str:
    """A key of that type, sometimes one of another."""
    if rng.random() < 0.01:
        kind = rng.choice("slhtzx")
    return f"w:{kind}:{rng.randrange(count)}"


def _any_key(rng: random.Random) -> str:
    return _key(rng, rng.choice("slhtzx"))


def _value(rng: random.Random) -> Word:
    return rng.choice((rng.randrange(-1000, 1000), rng.randbytes(rng.randrange(0, 60)), b"ab" * rng.randrange(60)))


def _values(rng: random.Random, most: int = 5) -> list[Word]:
    return [_value(rng) for _ in range(rng.randrange(1, most + 1))]


def _field(rng: random.Random) -> str:
    return f"f{rng.randrange(30)}"


def _score(rng: random.Random) -> float:
    return rng.randrange(-400, 400) / 4


def _short(rng: random.Random) -> int:
    return rng.randrange(1, SHORT_TTL_MS)


def _long(rng: random.Random) -> int:
    return rng.randrange(100_000, 1_000_000)


def _function(rng: random.Random) -> Command:
    """Load a library anew, with a text that is another each time."""
    return "FUNCTION", "LOAD", "REPLACE", library(rng.choice(LIBRARIES), rng.randrange(1000))


def _hyperloglog(rng: random.Random) -> str:
    """A key that is never of another type: how a spoilt HyperLogLog is changed is not the same in all servers."""
    return f"w:p:{rng.randrange(6)}"


_MOVES: Final[tuple[Callable[[random.Random], Command], ...]] = (
    lambda r: ("SET", _key(r, "s"), _value(r)),
    lambda r: ("SET", _key(r, "s"), _value(r), "PX", _short(r)),
    lambda r: ("SET", _key(r, "s"), _value(r), "EX", _long(r)),
    lambda r: ("SET", _key(r, "s"), _value(r), "KEEPTTL"),
    lambda r: ("SET", _key(r, "s"), _value(r), "NX", "GET"),
    lambda r: ("SETEX", _key(r, "s"), _long(r), _value(r)),
    lambda r: ("PSETEX", _key(r, "s"), _short(r), _value(r)),
    lambda r: ("SETNX", _key(r, "s"), _value(r)),
    lambda r: ("GETSET", _key(r, "s"), _value(r)),
    lambda r: ("GETDEL", _key(r, "s")),
    lambda r: ("GETEX", _key(r, "s"), "EX", _long(r)),
    lambda r: ("GETEX", _key(r, "s"), "PERSIST"),
    lambda r: ("MSET", _key(r, "s"), _value(r), _key(r, "s"), _value(r)),
    lambda r: ("MSETNX", _key(r, "s"), _value(r), _key(r, "s"), _value(r)),
    lambda r: ("APPEND", _key(r, "s", 4), b"+"),
    lambda r: ("SETRANGE", _key(r, "s"), r.randrange(50), b"range"),
    lambda r: ("SETBIT", _key(r, "s"), r.randrange(400), r.randrange(2)),
    lambda r: ("BITOP", r.choice(("AND", "OR", "XOR")), _key(r, "s"), _key(r, "s"), _key(r, "s")),
    lambda r: ("BITFIELD", _key(r, "s"), "OVERFLOW", "SAT", "INCRBY", "i8", r.randrange(64), r.randrange(-50, 50)),
    lambda r: ("INCR", f"w:count:{r.randrange(10)}"),
    lambda r: ("DECRBY", f"w:count:{r.randrange(10)}", r.randrange(1000)),
    lambda r: ("INCRBYFLOAT", f"w:float:{r.randrange(10)}", r.randrange(-100, 100) / 8),
    lambda r: ("LPUSH", _key(r, "l"), *_values(r)),
    lambda r: ("RPUSH", _key(r, "l"), *_values(r)),
    lambda r: ("RPUSHX", _key(r, "l"), *_values(r)),
    lambda r: ("LPOP", _key(r, "l")),
    lambda r: ("RPOP", _key(r, "l"), r.randrange(1, 6)),
    lambda r: ("LMOVE", _key(r, "l"), _key(r, "l"), r.choice(("LEFT", "RIGHT")), r.choice(("LEFT", "RIGHT"))),
    lambda r: ("LSET", _key(r, "l"), r.randrange(-2, 2), _value(r)),
    lambda r: ("LINSERT", _key(r, "l"), r.choice(("BEFORE", "AFTER")), r.randrange(-1000, 1000), _value(r)),
    lambda r: ("LREM", _key(r, "l"), r.randrange(-2, 3), r.randrange(-1000, 1000)),
    lambda r: ("LTRIM", _key(r, "l"), 0, 200),
    lambda r: ("LMPOP", 2, _key(r, "l"), _key(r, "l"), r.choice(("LEFT", "RIGHT")), "COUNT", 2),
    lambda r: ("HSET", _key(r, "h"), _field(r), _value(r), _field(r), _value(r)),
    lambda r: ("HSETNX", _key(r, "h"), _field(r), _value(r)),
    lambda r: ("HDEL", _key(r, "h"), _field(r), _field(r)),
    lambda r: ("HINCRBY", _key(r, "h"), f"n{r.randrange(5)}", r.randrange(-9, 99)),
    lambda r: ("HINCRBYFLOAT", _key(r, "h"), f"d{r.randrange(5)}", r.randrange(-99, 99) / 4),
    lambda r: ("SADD", _key(r, "t"), *_values(r)),
    lambda r: ("SADD", _key(r, "t"), *r.sample(range(-99, 99), 4)),
    lambda r: ("SREM", _key(r, "t"), *r.sample(range(-99, 99), 4)),
    lambda r: ("SPOP", _key(r, "t")),
    lambda r: ("SPOP", _key(r, "t"), r.randrange(1, 5)),
    lambda r: ("SMOVE", _key(r, "t"), _key(r, "t"), r.randrange(-99, 99)),
    lambda r: (r.choice(("SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE")), _key(r, "t"), _key(r, "t"), _key(r, "t")),
    lambda r: ("ZADD", _key(r, "z"), _score(r), _field(r), _score(r), _field(r)),
    lambda r: ("ZADD", _key(r, "z"), "GT", "CH", _score(r), _field(r)),
    lambda r: ("ZINCRBY", _key(r, "z"), _score(r), _field(r)),
    lambda r: ("ZREM", _key(r, "z"), _field(r)),
    lambda r: (r.choice(("ZPOPMIN", "ZPOPMAX")), _key(r, "z"), r.randrange(1, 3)),
    lambda r: ("ZMPOP", 1, _key(r, "z"), "MIN"),
    lambda r: ("ZREMRANGEBYRANK", _key(r, "z"), 0, 1),
    lambda r: ("ZREMRANGEBYSCORE", _key(r, "z"), -100, -80),
    lambda r: ("ZUNIONSTORE", _key(r, "z"), 2, _key(r, "z"), _key(r, "z"), "WEIGHTS", 0.5, 0.5, "AGGREGATE", "MAX"),
    lambda r: ("ZINTERSTORE", _key(r, "z"), 2, _key(r, "z"), _key(r, "z"), "AGGREGATE", "MIN"),
    lambda r: ("ZRANGESTORE", _key(r, "z"), _key(r, "z"), 0, 10),
    lambda r: ("XADD", _key(r, "x", 8), "*", "field", _value(r)),
    lambda r: ("XADD", _key(r, "x", 8), "MAXLEN", "~", 200, "*", "a", _value(r), "b", _value(r)),
    lambda r: ("XADD", _key(r, "x", 8), "NOMKSTREAM", "MAXLEN", "=", 300, "*", "a", "1"),
    lambda r: ("XTRIM", _key(r, "x", 8), "MAXLEN", "~", 250),
    lambda r: (
        ("XGROUP", "CREATE", f"w:group:{r.randrange(4)}", "g", "$", "MKSTREAM")
        if r.random() < 0.1
        else ("XADD", f"w:group:{r.randrange(4)}", "MAXLEN", 100, "*", "n", r.randrange(9))
    ),
    lambda r: ("XREADGROUP", "GROUP", "g", r.choice("ab"), "COUNT", 3, "STREAMS", f"w:group:{r.randrange(4)}", ">"),
    lambda r: ("XREADGROUP", "GROUP", "g", "c", "NOACK", "COUNT", 1, "STREAMS", f"w:group:{r.randrange(4)}", ">"),
    lambda r: ("XAUTOCLAIM", f"w:group:{r.randrange(4)}", "g", r.choice("ab"), 0, "0", "COUNT", 5),
    lambda r: ("XGROUP", "SETID", f"w:group:{r.randrange(4)}", "g", r.choice("0$")),
    lambda r: ("SORT", _key(r, "t"), "ALPHA", "STORE", _key(r, "l")),
    lambda r: ("EXPIRE", _any_key(r), _long(r)),
    lambda r: ("PEXPIRE", _any_key(r), _short(r)),
    lambda r: ("EXPIRE", _any_key(r), _long(r), "GT"),
    lambda r: ("PEXPIREAT", _any_key(r), 4_000_000_000_000 + r.randrange(1000)),
    lambda r: ("PERSIST", _any_key(r)),
    lambda r: ("DEL", _any_key(r)) if r.random() < 0.2 else ("TOUCH", _any_key(r)),
    lambda r: ("UNLINK", _any_key(r), _any_key(r)) if r.random() < 0.2 else ("EXISTS", _any_key(r)),
    lambda r: ("RENAME", _key(r, "s"), _key(r, "s")),
    lambda r: ("RENAMENX", _key(r, "h"), _key(r, "h")),
    lambda r: ("COPY", _key(r, "z"), _key(r, "z"), "REPLACE"),
    lambda r: ("COPY", _key(r, "h"), _key(r, "h"), "DB", 3),
    lambda r: ("MOVE", _any_key(r), 9),
    lambda r: ("PUBLISH", "news", _value(r)),
    lambda r: ("FLUSHDB",) if r.random() < 0.002 else ("DBSIZE",),
)


def _lasting(rng: random.Random) -> str:
    """A field that never gets a short time to live.

    Only such are made to persist: a real Redis 8.2 that lags ignores HPERSIST of a field whose time has passed by its
    own clock, and then differs from its master, whoever that is.
    """
    return f"p{rng.randrange(9)}"


_FIELD_TTL_MOVES: Final[tuple[Callable[[random.Random], Command], ...]] = (
    lambda r: ("HPEXPIRE", _key(r, "h"), _short(r), "FIELDS", 1, _field(r)),
    lambda r: ("HEXPIRE", _key(r, "h"), _long(r), "FIELDS", 2, _field(r), _lasting(r)),
    lambda r: ("HSET", _key(r, "h"), _lasting(r), _value(r)),
    lambda r: ("HPERSIST", _key(r, "h"), "FIELDS", 1, _lasting(r)),
)

_NEWEST_MOVES: Final[tuple[Callable[[random.Random], Command], ...]] = (
    lambda r: ("SET", _key(r, "s"), _value(r), "IFEQ", _value(r)),
    lambda r: ("SET", _key(r, "s"), _value(r), "IFNE", _value(r), "PX", _long(r) * 1000),
    lambda r: ("SET", _key(r, "s"), _value(r), "IFDNE", "0" * 16),
    lambda r: ("DELEX", _key(r, "s"), "IFEQ", _value(r)),
    lambda r: ("DELEX", _key(r, "s"), "IFDNE", "0" * 16) if r.random() < 0.2 else ("DIGEST", _key(r, "s")),
    lambda r: ("MSETEX", 2, _key(r, "s"), _value(r), _key(r, "s"), _value(r), "PX", _short(r)),
    lambda r: ("MSETEX", 2, _key(r, "s"), _value(r), _key(r, "s"), _value(r), r.choice(("NX", "XX")), "KEEPTTL"),
    lambda r: ("XADD", _key(r, "x", 8), "IDMP", r.choice("pq"), f"id:{r.randrange(200)}", "*", "field", _value(r)),
    lambda r: ("XADD", _key(r, "x", 8), "IDMPAUTO", "auto", "MAXLEN", 300, "*", "n", r.randrange(40)),
    lambda r: ("XCFGSET", _key(r, "x", 8), "IDMP-MAXSIZE", r.randrange(20, 90)),
)

_INCREMENT: Final = """local n = redis.call('INCR', KEYS[1])
redis.call('RPUSH', KEYS[2], n)
redis.call('PEXPIRE', KEYS[2], 500000)
return n"""

_SCRIPT_MOVES: Final[tuple[Callable[[random.Random], Command], ...]] = (
    lambda r: ("EVAL", _INCREMENT, 2, f"w:count:{r.randrange(10)}", f"w:lua:{r.randrange(5)}"),
    lambda r: ("EVAL", "return redis.call('SPOP', KEYS[1], 2)", 1, _key(r, "t")),
    lambda r: ("FCALL", r.choice(LIBRARIES), 1, f"w:count:{r.randrange(10)}", r.randrange(-9, 99)),
    _function,
    lambda r: ("PFADD", _hyperloglog(r), *[r.randrange(10**6) for _ in range(r.randrange(1, 200))]),
    lambda r: ("PFCOUNT", _hyperloglog(r)),
    lambda r: ("PFMERGE", _hyperloglog(r), _hyperloglog(r), _hyperloglog(r)),
    lambda r: ("GEOADD", _key(r, "z"), r.uniform(-180, 180), r.uniform(-85, 85), _field(r)),
    lambda r: ("GEOSEARCHSTORE", "w:places", "w:z:1", "FROMLONLAT", 0, 0, "BYRADIUS", 20000, "km"),
    lambda r: ("BLPOP", _key(r, "l"), _key(r, "l"), 0.001),
    lambda r: ("BRPOP", _key(r, "l"), 0.001),
    lambda r: ("BLMOVE", _key(r, "l"), _key(r, "l"), "LEFT", "RIGHT", 0.001),
    lambda r: ("BLMPOP", 0.001, 1, _key(r, "l"), "LEFT", "COUNT", 3),
    lambda r: ("BZPOPMIN", _key(r, "z"), 0.001),
    lambda r: ("BZMPOP", 0.001, 1, _key(r, "z"), "MAX"),
)
