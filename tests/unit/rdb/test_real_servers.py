"""Files that we write, before real servers: redis-check-rdb accepts them, and who loads them has the original's data.

The originals are the captured dumps. DEBUG DIGEST says whether all keys, values and expiries are equal; it leaves out
consumer groups, so these are compared by XINFO.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from pyrepl.rdb.events import FunctionLibrary
from pyrepl.rdb.packed.listpack import encode_listpack
from pyrepl.rdb.payload import decode_payload, encode_payload
from pyrepl.rdb.types.row import Form
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.versions import numbered
from pyrepl.rdb.writer import RdbWriter
from tests.peers import finder
from tests.peers.lab import Lab, Node
from tests.unit.rdb.loading import Loaded, load
from tests.unit.rdb.old_encodings import key, snapshot, text, ziplist, zipmap

DATA = Path(__file__).parents[2] / "data"


def write(loaded: Loaded, version: int, compress: bool, without: Iterable[type] = ()) -> bytes:
    """The same data in another version, values of some types left out."""
    left_out = tuple(without)
    writer = RdbWriter(numbered(version), compress=compress)
    parts = [writer.begin([(b"redis-ver", b"7.0.15")])]
    if version >= 10:
        parts.append(writer.functions([event.text for event in loaded.others if isinstance(event, FunctionLibrary)]))
    for db, values in loaded.values.items():
        kept = [(name, value) for name, value in values.items() if not isinstance(value, left_out)]
        parts.append(writer.select_db(db, len(kept), len(loaded.expires[db])))
        parts.append(writer.encode_keys(kept, loaded.expires[db]))
    parts.append(writer.end())
    return b"".join(parts)


def start_with(lab: Lab, kind: str, data: bytes) -> Node:
    path = lab.folder / f"{len(lab.nodes)}.rdb"
    path.write_bytes(data)
    node = lab.start(kind, dump=path)
    node.wait_loaded()
    return node


def contents(node: Node) -> tuple[object, ...]:
    groups = node.call("XINFO", "STREAM", "stream:groups", "FULL") if node.call("EXISTS", "stream:groups") else None
    return node.call("DEBUG", "DIGEST"), node.call("DBSIZE"), node.call("FUNCTION", "LIST"), groups


@pytest.mark.parametrize(
    ("kind", "name", "version", "compress"),
    [
        ("redis7", "redis-7.0.rdb", 10, False),
        ("redis7", "redis-7.0.rdb", 10, True),
        ("valkey8", "valkey-8.0.rdb", 11, True),
        ("redis8", "redis-8.2.rdb", 12, False),
        ("redis8", "redis-8.2.rdb", 12, True),
        ("redis8", "valkey-8.0.rdb", 11, False),
    ],
)
def test_rewritten_dumps_load_as_the_original(lab: Lab, kind: str, name: str, version: int, compress: bool) -> None:
    original = (DATA / name).read_bytes()
    expected = contents(start_with(lab, kind, original))
    assert contents(start_with(lab, kind, write(load(original), version, compress))) == expected


@pytest.mark.parametrize(
    ("version", "without"), [(9, ()), (8, (StreamValue,)), (6, (StreamValue,)), (3, (StreamValue,))]
)
def test_old_versions_hold_the_same_data(lab: Lab, version: int, without: tuple[type, ...]) -> None:
    """Written in an old version, loaded by Redis 7.0; against the same keys in version 10."""
    loaded = load((DATA / "redis-7.0.rdb").read_bytes())
    expected = start_with(lab, "redis7", write(loaded, 10, False, without)).call("DEBUG", "DIGEST")
    assert start_with(lab, "redis7", write(loaded, version, True, without)).call("DEBUG", "DIGEST") == expected


def test_a_newer_dump_comes_down_to_an_older_server(lab: Lab) -> None:
    """What Redis 8.2 and 7.0 cannot do between themselves (RDB versions 12 and 10)."""
    loaded = load((DATA / "redis-8.2.rdb").read_bytes())
    for kind in ("redis7", "valkey8"):
        node = start_with(lab, kind, write(loaded, 10, True, [HashWithTtls]))
        saved = node.folder / "dump.rdb"
        node.call("SAVE")
        again = load(saved.read_bytes())
        kept = {
            name: value for name, value in loaded.values[0].items() if not isinstance(value, HashWithTtls | StreamValue)
        }
        found = {name: value for name, value in again.values[0].items() if not isinstance(value, StreamValue)}
        assert found == kept
        assert again.expires == loaded.expires


@pytest.mark.parametrize("version", [1, 2, 3, 5, 6, 7, 8, 9, 10])
@pytest.mark.parametrize("checksum", [False, True])
def test_redis_check_rdb_accepts(tmp_path: Path, version: int, checksum: bool) -> None:
    loaded = load((DATA / "redis-7.0.rdb").read_bytes())
    values = {
        name: value for name, value in loaded.values[0].items() if version >= 9 or not isinstance(value, StreamValue)
    }
    writer = RdbWriter(numbered(version), checksum)
    path = tmp_path / "dump.rdb"
    expires = {b"expiring": 2_000_000_000_000}
    path.write_bytes(
        writer.begin([(b"redis-ver", b"7.0.15")])
        + writer.functions([b"#!lua name=x"] if version >= 10 else [])
        + writer.select_db(0, len(values), 1)
        + writer.encode_keys(values.items(), expires)
        + writer.end()
    )
    done = subprocess.run([finder.tool("redis-check-rdb"), path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"[info] {len(values)} keys read" in done.stdout


def saved(node: Node) -> dict[bytes, object]:
    """What the node itself writes of its first database."""
    node.call("SAVE")
    return load((node.folder / "dump.rdb").read_bytes()).values[0]


def test_old_encodings_mean_to_redis_what_they_mean_to_us(lab: Lab) -> None:
    """The files built by hand, which the unit tests of the decoders rest on, are sound: Redis 7.0 reads the same."""
    texts: list[bytes | int] = [b"a", 5, -1, 12, 13, 127, -128, 300, -70000, 1 << 23, 1 << 40, b"x" * 63, b"y" * 300]
    body = (
        key(1, b"list", b"\x02\x01a\xc0\x05")
        + key(9, b"zipmap", text(zipmap([(b"f", b"v"), (b"g", b"w" * 300), (b"h", b"")])))
        + key(10, b"ziplist", text(ziplist(texts)))
        + key(14, b"quicklist", b"\x02" + text(ziplist([b"b", b"z" * 20000, b"c"])) + text(ziplist(texts)))
        + key(11, b"intset", text(b"\x04\0\0\0\x02\0\0\0\xff\xff\xff\xff\x05\0\0\0"))
        + key(12, b"zset ziplist", text(ziplist([b"a", -3, b"b", b"0.25", b"c", 70000])))
        + key(13, b"hash ziplist", text(ziplist([b"f", b"v", 7, -300, b"x" * 300, b""])))
        + key(3, b"zset", b"\x04\x01a\x031.5\x01b\xfe\x01c\xff\x01d\x05-1e-3")
    )
    data = snapshot(9, body)
    mine = load(data).values[0]
    assert len(mine) == 8
    assert saved(start_with(lab, "redis7", data)) == mine


def test_field_expiries_of_the_pre_release_mean_the_same_to_redis(lab: Lab) -> None:
    ms = 4102444800123
    packed = encode_listpack([b"f", b"v", b"%d" % ms, b"g", b"w", b"0"])
    body = key(22, b"a", b"\x02\x81" + ms.to_bytes(8, "big") + b"\x01f\x01v\x00\x01g\x01w") + key(
        23, b"b", text(packed)
    )
    data = snapshot(12, body)
    expected = HashWithTtls({b"f": b"v", b"g": b"w"}, {b"f": ms})
    assert load(data).values[0] == {b"a": expected, b"b": expected}
    assert saved(start_with(lab, "redis8", data)) == {b"a": expected, b"b": expected}


@pytest.mark.parametrize(
    ("kind", "name", "version"), [("redis7", "redis-7.0.rdb", 10), ("redis8", "redis-8.2.rdb", 12)]
)
def test_payloads_go_both_ways(lab: Lab, kind: str, name: str, version: int) -> None:
    """DUMP of the server is read here; what we dump the server restores, with the same digest."""
    original = (DATA / name).read_bytes()
    node = start_with(lab, kind, original)
    for found, value in load(original).values[0].items():
        payload = node.call("DUMP", found)
        assert isinstance(payload, bytes)
        assert decode_payload(payload) == value
        assert node.call("RESTORE", b"copy", "0", encode_payload(value, Form(numbered(version))), "REPLACE") == "OK"
        [was, copy] = node.call("DEBUG", "DIGEST-VALUE", found, b"copy")
        if found != b"expiring":
            assert was == copy
