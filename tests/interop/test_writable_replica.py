"""`replica-read-only no`: a replica that its own clients write to, ours beside Redis 8.2, both of one Redis 8.2 master.

Redis's rule: a client's write to a key whose time has passed finds it gone, though no DEL of the master has come; and
keys with a time to live that clients wrote to the replica are ended by the replica.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from tests.peers.lab import Lab, Node, wait_until
from tests.peers.wire import ErrorReply, Reply

SEEDS = {
    "string": ("SET", "q", "5"),
    "list": ("RPUSH", "q", "a", "b"),
    "set": ("SADD", "q", "a", "b"),
    "hash": ("HSET", "q", "f", "1"),
    "zset": ("ZADD", "q", "1", "a"),
    "stream": ("XADD", "q", "1-1", "f", "v"),
}
ALIVE = (("SET", "o", "9"), ("RPUSH", "ol", "a"), ("SADD", "os", "oa"))
COMMANDS = {
    "string": """INCR q; INCRBYFLOAT q 1; APPEND q x; SETRANGE q 1 zz; SETBIT q 1 1; BITFIELD q INCRBY u8 0 1; SET q 7;
        SET q 7 NX; SET q 7 XX; SET q 7 GET; SET q 7 KEEPTTL; SET q 7 EX 100; SETNX q 8; MSETNX q 8; MSET q 1 r 2;
        GETSET q 8; GETDEL q; GETEX q PERSIST; GETEX q EX 100; DEL q; DEL q q o; UNLINK q; RENAME q r; RENAMENX q r;
        RENAMENX o q; RENAME o q; COPY q r; COPY o q; MOVE q 1; PERSIST q; EXPIRE q 100; EXPIRE q 100 NX; GETBIT q 1;
        TTL q; GET q; EXISTS q; TYPE q; TOUCH q; OBJECT ENCODING q; STRLEN q; GETRANGE q 0 -1; DUMP q; DBSIZE;
        BITOP NOT r q; BITOP NOT q o; MGET q o; SORT q STORE r; LCS q o; FLUSHALL; SWAPDB 0 1; RESTORE q 0 x""",
    "list": """LPUSH q z; LPUSHX q z; RPUSHX q z; LPOP q; LMPOP 1 q LEFT; LMOVE q r LEFT LEFT; LMOVE ol q LEFT LEFT;
        LINSERT q BEFORE a x; LREM q 0 a; LSET q 0 z; LTRIM q 0 0; RPOPLPUSH q q; LRANGE q 0 -1; LLEN q; LINDEX q 0;
        SORT q ALPHA STORE r; SORT ol ALPHA STORE q""",
    "set": """SADD q z; SREM q a; SPOP q 2; SMOVE q r a; SMOVE os q oa; SUNIONSTORE r q; SINTERSTORE r q q; SCARD q;
        SDIFFSTORE r q; SINTERSTORE q os os; SMEMBERS q; SISMEMBER q a""",
    "hash": """HSET q g 2; HINCRBY q f 1; HDEL q f; HGETDEL q FIELDS 1 f; HGETEX q PERSIST FIELDS 1 f; HGET q f;
        HEXPIRE q 100 FIELDS 1 f; HSETNX q f 2; HGETALL q; HLEN q""",
    "zset": """ZADD q 2 b; ZADD q XX 2 a; ZINCRBY q 2 a; ZREM q a; ZPOPMIN q; ZMPOP 1 q MIN; ZUNIONSTORE r 1 q;
        ZRANGESTORE r q 0 -1; ZDIFFSTORE r 1 q; ZREMRANGEBYSCORE q 0 9; ZRANGE q 0 -1; ZSCORE q a""",
    "stream": """XADD q 2-1 f v; XADD q NOMKSTREAM 2-1 f v; XTRIM q MAXLEN 0; XDEL q 1-1; XGROUP CREATE q g $;
        XGROUP CREATE q g $ MKSTREAM; XSETID q 5-5; XRANGE q - +; XLEN q""",
}


def _has_no(node: Node, key: str) -> bool:
    return bool(node.call("EXISTS", key) == 0)


def _has_all_of(replica: Node, master: Node) -> bool:
    return replica.offset() == master.offset()


def _is_empty(node: Node) -> bool:
    return not node.info("keyspace")


def _tracks(node: Node, keys: int) -> bool:
    return node.stat("slave_expires_tracked_keys") == keys


class Trio:
    """A real master with a real and one of our replicas, both writable."""

    def __init__(self, lab: Lab) -> None:
        self.master = lab.start("redis8")
        # The master tells of nothing it is not asked for.
        self.master.call("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        writable = {"replica-read-only": "no"}
        self.real, self.ours = (lab.start(kind, self.master, writable) for kind in ("redis8", "pyrepl"))
        for replica in (self.real, self.ours):
            replica.wait_link_up()

    def expired(self, kind: str) -> None:
        """Key q of that type has expired and is still there, on every node; some others are alive."""
        for words in (("FLUSHALL",), *ALIVE, SEEDS[kind], ("PEXPIRE", "q", 2)):
            self.master.call(*words)
        self.caught_up()
        for replica in (self.real, self.ours):
            wait_until("q has expired", partial(_has_no, replica, "q"))

    def caught_up(self) -> None:
        """Both replicas have all that their master has."""
        for replica in (self.real, self.ours):
            wait_until("it has caught up", partial(_has_all_of, replica, self.master))


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    with Lab(tmp_path_factory.mktemp("writable")) as lab:
        yield Trio(lab)


def _reply(node: Node, words: list[str]) -> Reply | str:
    try:
        return node.call(*words)
    except ErrorReply as error:
        return f"error {error}"


def _counters(node: Node) -> list[int]:
    stats = node.info("everything")
    names = ("expired_keys", "keyspace_hits", "keyspace_misses", "rdb_changes_since_last_save")
    return [int(stats[name]) for name in names]


def _story(node: Node, commands: list[list[str]]) -> dict[str, object]:
    """What the commands reply, what they count, and what is there afterwards."""
    before = _counters(node)
    replies = [_reply(node, words) for words in commands]
    counted = [after - was for was, after in zip(before, _counters(node))]
    left = {key: (node.call("TYPE", key), int(node.call("PTTL", key)) > 0) for key in ("q", "r", "o")}
    return {
        "replies": [str(reply) for reply in replies],
        "expired, hits, misses, changes": counted,
        "left": left,
        "keys": node.call("DBSIZE"),
        "digest": node.call("DEBUG", "DIGEST"),
    }


@pytest.mark.parametrize("kind", SEEDS)
@pytest.mark.parametrize("in_multi", [False, True], ids=["plain", "multi"])
def test_an_expired_key_is_gone_for_who_writes(trio: Trio, kind: str, in_multi: bool) -> None:
    differences = []
    for text in COMMANDS[kind].split(";"):
        words = text.split()
        trio.expired(kind)
        commands = [["MULTI"], words, ["EXEC"]] if in_multi else [words]
        real, ours = _story(trio.real, commands), _story(trio.ours, commands)
        if real != ours:
            differences.append((text.strip(), real, ours))
    assert differences == []


@pytest.mark.parametrize(
    ("commands", "real_too"),
    [
        ("SET own 1 PX 30", True),
        ("SET own 1; PEXPIRE own 30", True),
        ("SET own 1; PEXPIREAT own 1", True),
        ("SET own 1; GETEX own PX 30", True),
        ("SELECT 3; SET own 1 PX 30; SELECT 0", True),
        ("SELECT 1; SET own 1 PX 30; MOVE own 2; SELECT 0", True),
        ("MULTI; PSETEX own 30 1; EXEC", True),
        ("HSET own f v; PEXPIRE own 30", True),
        # Redis 8.2 loses track of these, and keeps them for ever.
        ("SET other 1 PX 30; RENAME other own", False),
        ("SET other 1 PX 30; COPY other own", False),
        ("SET own 1 PX 30; SWAPDB 0 1", False),
    ],
)
def test_what_clients_wrote_with_a_time_to_live_goes_by_itself(trio: Trio, commands: str, real_too: bool) -> None:
    """Nobody asks for the keys: they are only counted."""
    trio.master.call("FLUSHALL")
    trio.caught_up()
    for node in (trio.real, trio.ours) if real_too else (trio.ours,):
        expired = node.stat("expired_keys")
        for text in commands.split(";"):
            node.call(*text.split())
        wait_until(f"{node.kind} has no key left", partial(_is_empty, node))
        assert node.stat("expired_keys") > expired
        wait_until(f"{node.kind} tracks none", partial(_tracks, node, 0))


def test_keys_that_are_tracked_are_counted_until_they_go(trio: Trio) -> None:
    trio.master.call("FLUSHALL")
    trio.caught_up()
    for node in (trio.real, trio.ours):
        node.call("MSET", "a", "1", "b", "1", "c", "1")
        for key in ("a", "b", "c"):
            node.call("EXPIRE", key, 1000)
        node.call("EXPIRE", "a", 2000)
        assert node.stat("slave_expires_tracked_keys") == 3
        node.call("DEL", "a")
        node.call("PERSIST", "b")
        wait_until(f"{node.kind} tracks one", partial(_tracks, node, 1))
        node.call("FLUSHALL")
        assert node.stat("slave_expires_tracked_keys") == 0


def test_the_masters_keys_are_left_to_the_master(trio: Trio) -> None:
    """A key of the master's stream whose time has passed stays, whatever the replica's clients have written before."""
    trio.master.call("FLUSHALL")
    trio.caught_up()
    trio.ours.call("SET", "q", "own", "PX", 100_000)
    trio.master.call("SET", "q", "masters", "PX", 5)
    trio.caught_up()
    trio.ours.call("SET", "own", "1", "PX", 30)
    wait_until("the own key is gone", lambda: trio.ours.call("DBSIZE") == 1)
    assert trio.ours.call("GET", "q") is None
    assert trio.ours.stat("slave_expires_tracked_keys") == 0
    assert trio.master.call("DEL", "q") == 0
    trio.caught_up()
    wait_until("the master's DEL has come", lambda: trio.ours.call("DBSIZE") == 0)
