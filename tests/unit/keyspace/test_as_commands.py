"""The data set as commands: each type, in parts of bounded size. That they are loaded again: test_aof_keeper.py."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from pyrepl.keyspace.as_commands import ITEMS, CommandsJob, commands_of
from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.packed import PackedList
from pyrepl.keyspace.values import HashValue, ListValue, SetValue, Value, ZsetValue
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.payload import decode_payload
from pyrepl.rdb.values import IdmpState, PendingEntry, StreamConsumer, StreamEntry, StreamGroup, StreamValue
from pyrepl.rdb.vectors import Q8, VectorNode, VectorSetValue


def shown(value: Value, expires_ms: int | None = None) -> list[str]:
    return [b" ".join(command).decode() for command in commands_of(b"k", value, expires_ms)]


def test_each_type() -> None:
    assert shown(b"v") == ["SET k v"]
    assert shown(b"v", 77) == ["SET k v", "PEXPIREAT k 77"]
    assert shown(ListValue(deque([b"a", b"b"]))) == ["RPUSH k a b"]
    assert shown(SetValue({b"a"})) == ["SADD k a"]
    assert shown(PackedList(encode_listpack([b"a", b"1"]))) == ["RPUSH k a 1"]
    assert shown(ZsetValue({b"a": 1.5, b"b": float("-inf")})) == ["ZADD k 1.5 a -inf b"]
    assert shown(HashValue({b"f": b"v", b"g": b"w"}, {b"g": 5})) == [
        "HSET k f v g w",
        "HPEXPIREAT k 5 FIELDS 1 g",
    ]


def test_a_vector_set_as_its_payload() -> None:
    value = VectorSetValue(1, Q8)
    value.add(VectorNode(b"e", 1, b"x", 1.0, 1.0, [[]]))
    ((name, key, ttl, payload),) = commands_of(b"k", value, None)
    assert (name, key, ttl) == (b"RESTORE", b"k", b"0")
    assert decode_payload(payload) == value


def test_a_stream_with_its_groups() -> None:
    pending = {(1, 1): PendingEntry(1000, 3, b"me")}
    groups = {b"g": StreamGroup((1, 1), 1, pending, {b"me": StreamConsumer(5, 5)}), b"h": StreamGroup((0, 0))}
    stream = StreamValue([((1, 1), (b"f", b"v"))], (2, 0), (1, 1), (2, 0), 2, groups)
    assert shown(stream) == [
        "XADD k 1-1 f v",
        "XSETID k 2-0 ENTRIESADDED 2 MAXDELETEDID 2-0",
        "XGROUP CREATE k g 1-1 ENTRIESREAD 1",
        "XGROUP CREATECONSUMER k g me",
        "XCLAIM k g me 0 1-1 TIME 1000 RETRYCOUNT 3 JUSTID FORCE",
        "XGROUP CREATE k h 0-0",
    ]
    assert shown(StreamValue())[0] == "XADD k MAXLEN 0 0-1 x y"


def test_idempotency_ids_behind_the_groups() -> None:
    """In the order of Redis 8.6.3, which leaves out ids whose entry is gone."""
    producers = {b"p": {b"i": (1, 1), b"gone": (1, 0)}, b"q": {b"i": (2, 0)}}
    entries: list[StreamEntry] = [((1, 1), (b"f", b"v")), ((2, 0), (b"f", b"v"))]
    stream = StreamValue(
        entries, (2, 0), (1, 1), (0, 0), 2, {b"g": StreamGroup((0, 0))}, IdmpState(100, 100, producers)
    )
    records = ["XIDMPRECORD k p i 1-1", "XIDMPRECORD k q i 2-0"]
    assert shown(stream)[3:] == ["XGROUP CREATE k g 0-0", *records]
    assert stream.idmp is not None
    stream.idmp.duration_s = 7
    tuned = "XCFGSET k IDMP-DURATION 7 IDMP-MAXSIZE 100"
    assert shown(stream)[4:] == [tuned, *records]
    assert [b" ".join(command).decode() for command in commands_of(b"k", stream, None, (7, 100))][4:] == records
    plain = [b" ".join(command).decode() for command in commands_of(b"k", StreamValue(), None, (7, 100))]
    assert plain[-1] == "XCFGSET k IDMP-DURATION 100 IDMP-MAXSIZE 100"


def test_large_ones_come_in_parts() -> None:
    value = ListValue(deque(b"%d" % number for number in range(2 * ITEMS + 1)))
    assert [len(command) - 2 for command in commands_of(b"k", value, None)] == [ITEMS, ITEMS, 1]


def test_blocks_are_bounded_and_count_the_keys() -> None:
    keyspace = Keyspace(3)
    for number in range(9000):
        keyspace.databases[2].put(b"k%d" % number, b"x" * 100)
    blocks = list(CommandsJob(keyspace).blocks())
    assert blocks[0][0].startswith(b"*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n*3\r\n")
    assert blocks[-1][1] == 9000 and len(blocks) > 3
    assert max(len(block) for block, _ in blocks) < 512 * 1024
    slow = [done for _, done in CommandsJob(keyspace, key_save_delay_us=5).blocks()]
    assert max(b - a for a, b in pairwise(slow)) == 1
    assert list(CommandsJob(Keyspace(3)).blocks()) == [(b"", 0)]


def test_function_libraries_come_first() -> None:
    keyspace = Keyspace(1)
    keyspace.databases[0].put(b"k", b"v")
    ((block, keys),) = CommandsJob(keyspace, functions=(b"#!lua name=a",)).blocks()
    assert block.startswith(b"*3\r\n$8\r\nFUNCTION\r\n$4\r\nLOAD\r\n$12\r\n#!lua name=a\r\n*2\r\n$6\r\nSELECT\r\n")
    assert keys == 1
