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
from pyrepl.rdb.values import HashWithTtls, StreamValue
from pyrepl.rdb.writer import RdbWriter
from tests.peers import finder
from tests.peers.lab import Lab, Node
from tests.unit.rdb.loading import Loaded, load

DATA = Path(__file__).parents[2] / "data"


def write(loaded: Loaded, version: int, compress: bool, without: Iterable[type] = ()) -> bytes:
    """The same data in another version, values of some types left out."""
    left_out = tuple(without)
    writer = RdbWriter(version, compress=compress)
    parts = [writer.begin([(b"redis-ver", b"7.0.15")])]
    if version >= 10:
        parts.append(writer.functions([event.text for event in loaded.others if isinstance(event, FunctionLibrary)]))
    for db, values in loaded.values.items():
        kept = [(key, value) for key, value in values.items() if not isinstance(value, left_out)]
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
            key: value for key, value in loaded.values[0].items() if not isinstance(value, HashWithTtls | StreamValue)
        }
        found = {key: value for key, value in again.values[0].items() if not isinstance(value, StreamValue)}
        assert found == kept
        assert again.expires == loaded.expires


@pytest.mark.parametrize("version", [1, 2, 3, 5, 6, 7, 8, 9, 10])
@pytest.mark.parametrize("checksum", [False, True])
def test_redis_check_rdb_accepts(tmp_path: Path, version: int, checksum: bool) -> None:
    loaded = load((DATA / "redis-7.0.rdb").read_bytes())
    values = {
        key: value for key, value in loaded.values[0].items() if version >= 9 or not isinstance(value, StreamValue)
    }
    writer = RdbWriter(version, checksum)
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
