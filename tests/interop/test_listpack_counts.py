"""Listpacks that do not say how many elements they have: 65535 in the head, which so many must have, and few may have.

Redis 8.2 stands beside: the same snapshot, the same commands, and each loads what the other saved and dumped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import pytest

from pyrepl.rdb.checksum import crc64
from pyrepl.rdb.packed.listpack import COUNT_UNKNOWN, decode_listpack, encode_listpack
from pyrepl.rdb.payload import encode_payload
from pyrepl.rdb.strings import encode_string
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.types.stream_node import encode_nodes
from pyrepl.rdb.values import StreamValue
from pyrepl.rdb.versions import numbered
from tests.peers.lab import Lab, Node
from tests.unit.rdb.compiled.collections_in_rdb import whole
from tests.unit.rdb.old_encodings import ziplist, zipmap

HASH, ZSET, LIST, SET = 16, 17, 18, 20
FEW: Final = {
    b"list": (LIST, [b"one", b"two"]),
    b"hash": (HASH, [b"f", b"1", b"g", b"2"]),
    b"zset": (ZSET, [b"a", b"1", b"b", b"2.5"]),
    b"set": (SET, [b"x", b"y"]),
    b"spare list": (LIST, [b"one", b"two"]),
    b"spare hash": (HASH, [b"f", b"1", b"g", b"2"]),
    b"spare zset": (ZSET, [b"a", b"1", b"b", b"2.5"]),
    b"spare set": (SET, [b"x", b"y"]),
}
WORDS: Final = (
    "LLEN list", "LPOP list", "LLEN list", "RPUSH list three four", "LLEN list", "RPOP list", "LPUSH list zero",
    "LRANGE list 0 -1", "LINDEX list -1", "LINSERT list BEFORE two between", "RPOP list 9", "EXISTS list",
    "RPOP spare_list", "RPOP spare_list", "EXISTS spare_list",
    "HLEN hash", "HSET hash h 3", "HLEN hash", "HSET hash f 4", "HGETALL hash", "HGET hash g",
    "HDEL hash g", "HLEN hash",
    "ZCARD zset", "ZADD zset 2 c", "ZCARD zset", "ZADD zset 9 a", "ZRANGE zset 0 -1 WITHSCORES", "ZSCORE zset b",
    "ZREM zset b", "ZCARD zset",
    "SCARD set", "SADD set z", "SCARD set", "SISMEMBER set x", "SREM set y", "SMEMBERS set",
)  # fmt: skip
LARGE: Final = {
    "hash-max-listpack-entries": "200000",
    "zset-max-listpack-entries": "200000",
    "set-max-listpack-entries": "200000",
}
BORDER: Final = COUNT_UNKNOWN
BELOW: Final = 10
"""How many elements below the border the crossing begins."""


def unknown_count(elements: list[bytes]) -> bytes:
    return uncounted(encode_listpack(elements))


def uncounted(packed: bytes) -> bytes:
    """The same listpack with a head that does not say how many elements there are."""
    return packed[:4] + COUNT_UNKNOWN.to_bytes(2, "little") + packed[6:]


def key(kind: int, name: bytes, packed: bytes) -> bytes:
    return bytes((kind,)) + encode_string(name) + (b"\x01\x02" if kind == LIST else b"") + encode_string(packed)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    path = tmp_path / "few.rdb"
    path.write_bytes(whole(b"".join(key(kind, name, unknown_count(items)) for name, (kind, items) in FEW.items())))
    return path


def said(node: Node, line: str) -> object:
    reply = node.call(*(word.replace("_", " ") for word in line.split()))
    return sorted(reply) if line.startswith("SMEMBERS") else reply


def saved(node: Node) -> Path:
    node.call("SAVE")
    return node.folder / "dump.rdb"


def digest(node: Node) -> object:
    return node.call("DEBUG", "DIGEST")


def test_few_elements_uncounted_are_what_they_are_to_redis(lab: Lab, few: Path) -> None:
    ours, theirs = (lab.start(kind, dump=few) for kind in ("pyrepl", "redis8"))
    for node in (ours, theirs):
        node.wait_loaded()
    for line in WORDS:
        assert said(ours, line) == said(theirs, line), line
    assert digest(ours) == digest(theirs)
    for source in (ours, theirs):
        for kind in ("pyrepl", "redis8"):
            reader = lab.start(kind, dump=saved(source))
            reader.wait_loaded()
            assert digest(reader) == digest(ours), (source.kind, kind)


def test_what_is_loaded_uncounted_is_saved_as_it_is(lab: Lab, few: Path) -> None:
    """Nobody touches it between the load and the save."""
    ours = lab.start("pyrepl", dump=few)
    ours.wait_loaded()
    again, theirs = (lab.start(kind, dump=saved(ours)) for kind in ("pyrepl", "redis8"))
    for node in (again, theirs):
        node.wait_loaded()
        assert digest(node) == digest(ours)
        assert node.call("DBSIZE") == len(FEW)


def test_payloads_of_few_elements_uncounted(lab: Lab) -> None:
    ours, theirs = lab.start("pyrepl"), lab.start("redis8")
    for name, (kind, items) in FEW.items():
        body = key(kind, b"", unknown_count(items))[2:]
        good = encode_payload(b"text", Form(numbered(11), False))
        payload = payload_of(bytes((kind,)) + body, good)
        for node in (ours, theirs):
            assert node.call("RESTORE", name, 0, payload) == "OK"
    assert digest(ours) == digest(theirs)
    for line in WORDS:
        assert said(ours, line) == said(theirs, line), line
    assert digest(ours) == digest(theirs)


def test_payloads_of_other_types_with_parts_uncounted(lab: Lab) -> None:
    """Fields with times to live, a stream's node, and the ziplists and the zipmap of before."""
    timed = encode_listpack([b"f", b"1", b"4000000000000", b"g", b"2", b"0"])
    whole_stream = encode_payload(
        StreamValue([((1, 0), (b"f", b"v")), ((2, 0), (b"g", b"w"))], (2, 0)), Form(numbered(11), False)
    )
    node = encode_nodes([((1, 0), (b"f", b"v")), ((2, 0), (b"g", b"w"))], 4096, 100)[0][1]
    assert whole_stream.count(node) == 1
    packed = ziplist([b"a", b"1", b"b", b"2"])
    bodies = {
        "timed": b"\x19" + (4_000_000_000_000).to_bytes(8, "little") + encode_string(uncounted(timed)),
        "stream": whole_stream[:-10].replace(node, uncounted(node)),
        "list": b"\x0a" + encode_string(packed[:8] + b"\xff\xff" + packed[10:]),
        "hash": b"\x0d" + encode_string(packed[:8] + b"\xff\xff" + packed[10:]),
        "zset": b"\x0c" + encode_string(packed[:8] + b"\xff\xff" + packed[10:]),
        "zipmap": b"\x09" + encode_string(b"\xfe" + zipmap([(b"f", b"v"), (b"g", b"w")])[1:]),
    }
    ours, theirs = lab.start("pyrepl"), lab.start("redis8")
    for node_of_two in (ours, theirs):
        for name, body in bodies.items():
            assert (
                node_of_two.call("RESTORE", name, 0, payload_of(body, encode_payload(b"", Form(numbered(12), False))))
                == "OK"
            ), name
    assert digest(ours) == digest(theirs)
    for name in bodies:
        assert theirs.call("RESTORE", "copy", 0, ours.call("DUMP", name), "REPLACE") == "OK"
        assert theirs.call("DEBUG", "DIGEST-VALUE", "copy") == ours.call("DEBUG", "DIGEST-VALUE", name)


def payload_of(body: bytes, like: bytes) -> bytes:
    """`body` with the version of `like`, and its own checksum."""
    data = body + like[-10:-8]
    return data + crc64(data).to_bytes(8, "little")


Command = tuple[str | bytes | int, ...]


def almost_full(tmp_path: Path) -> Path:
    """Hash, sorted set and set below the border, as a snapshot: to add each element costs a walk over all before it."""
    pairs = range(BORDER // 2 - BELOW)
    packed = {
        "hash": (HASH, [word for at in pairs for word in (b"f%d" % at, b"%d" % at)]),
        "zset": (ZSET, [word for at in pairs for word in (b"m%d" % at, b"%d" % at)]),
        "set": (SET, [b"m%d" % at for at in range(BORDER - BELOW)]),
    }
    path = tmp_path / "almost.rdb"
    keys = (key(kind, name.encode(), encode_listpack(items)) for name, (kind, items) in packed.items())
    path.write_bytes(whole(b"".join(keys)))
    return path


def crossing(kind: str) -> Iterator[Command]:
    """From `almost_full` over the border by one at a time, and some more; a list from nothing."""
    if kind == "hash":
        yield from (("HSET", kind, f"f{at}", at) for at in range(BORDER // 2 - BELOW, BORDER // 2 + 3))
    elif kind == "zset":
        yield from (("ZADD", kind, at, f"m{at}") for at in range(BORDER // 2 - BELOW, BORDER // 2 + 3))
    elif kind == "set":
        yield from (("SADD", kind, f"m{at}") for at in range(BORDER - BELOW, BORDER + 3))
    else:
        yield from (("RPUSH", kind, at % 100) for at in range(BORDER + 3))


def back(kind: str) -> Iterator[Command]:
    """Below the border again."""
    for at in range(5):
        if kind == "hash":
            yield "HDEL", kind, f"f{at}"
        elif kind == "zset":
            yield "ZREM", kind, f"m{at}"
        elif kind == "set":
            yield "SREM", kind, f"m{at}"
        else:
            yield "LPOP" if at & 1 else "RPOP", kind


SIZES: Final[dict[str, str]] = {"list": "LLEN", "hash": "HLEN", "zset": "ZCARD", "set": "SCARD"}


def run(node: Node, commands: Iterator[Command]) -> None:
    with node.connect() as wire:
        while some := list(islice(commands, 1000)):
            wire.pipeline(some)


def dumps_cross(lab: Lab, ours: Node, theirs: Node) -> None:
    """What one saved the other loads, and what one dumped the other restores."""
    for source, other in ((ours, theirs), (theirs, ours)):
        reader = lab.start(other.kind, dump=saved(source), directives=LARGE)
        reader.wait_loaded()
        assert digest(reader) == digest(source) == digest(other)
        for kind in SIZES:
            assert other.call("RESTORE", "copy", 0, source.call("DUMP", kind)) == "OK"
            assert other.call("DEBUG", "DIGEST-VALUE", "copy") == source.call("DEBUG", "DIGEST-VALUE", kind)
            assert other.call("DEL", "copy") == 1
        reader.end()


def test_more_elements_than_a_head_can_say(lab: Lab, tmp_path: Path) -> None:
    """Over the border by pushes and back by pops: at each side of it, both load and restore what the other wrote."""
    dump = almost_full(tmp_path)
    ours, theirs = (lab.start(kind, directives=LARGE, dump=dump) for kind in ("pyrepl", "redis8"))
    for node in (ours, theirs):
        node.wait_loaded()
        assert [node.call("OBJECT", "ENCODING", kind) for kind in ("hash", "zset", "set")] == [b"listpack"] * 3
    assert digest(ours) == digest(theirs)
    moves: list[Callable[[str], Iterator[Command]]] = [crossing, back]
    for move in moves:
        for kind, size in SIZES.items():
            for node in (ours, theirs):
                run(node, move(kind))
            assert ours.call(size, kind) == theirs.call(size, kind)
        assert digest(ours) == digest(theirs)
        dumps_cross(lab, ours, theirs)


@pytest.mark.parametrize("count", [BORDER - 1, BORDER, BORDER + 1, 2 * BORDER])
def test_one_node_of_a_list_with_as_many_as_its_head_can_say(lab: Lab, tmp_path: Path, count: int) -> None:
    """Redis never fills a node of a list so far. Of one that has more it loses the count (LLEN 0 of 65,536)."""
    elements = [b"%d" % (at % 128) for at in range(count)]
    packed = encode_listpack(elements)
    assert int.from_bytes(packed[4:6], "little") == min(count, COUNT_UNKNOWN) and decode_listpack(packed) == elements
    path = tmp_path / "large.rdb"
    path.write_bytes(whole(b"".join(key(LIST, name, packed) for name in (b"untouched", b"pushed", b"popped"))))
    ours = lab.start("pyrepl", dump=path)
    nodes = [ours]
    if count <= BORDER:
        nodes.append(lab.start("redis8", dump=path))
    for node in nodes:
        node.wait_loaded()
        assert node.call("LLEN", "untouched") == count
        assert [node.call("RPUSH", "pushed", "x") for _ in range(3)] == [count + 1, count + 2, count + 3]
        assert [node.call("LPOP", "popped") for _ in range(3)] == [b"0", b"1", b"2"]
        assert node.call("RPOP", "popped") == elements[-1]
        assert node.call("LLEN", "popped") == count - 4
    for kind in ("pyrepl", "redis8"):
        reader = lab.start(kind, dump=saved(ours))
        reader.wait_loaded()
        assert [reader.call("LLEN", name) for name in ("untouched", "pushed", "popped")] == [
            count,
            count + 3,
            count - 4,
        ]
        assert {digest(node) for node in (*nodes, reader)} == {digest(ours)}
