"""What is in packed files, however they were packed, and how far it goes where they are damaged."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyrepl.metrics import packed as module
from pyrepl.metrics.packed import Content, Damaged, is_packed, opened
from pyrepl.metrics.part import read_split
from pyrepl.metrics.ranges import Split
from tests.unit.metrics import inline
from tests.unit.metrics.conftest import LOGS

Pack = Callable[[bytes], bytes]
LINES = b"".join(b"no log at all %d, but long enough\n" % (number * 7919 % 10007) for number in range(8_000))


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, "zstd", asbytes=True))


def behind_a_skippable_frame(data: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18\x04\x00\x00\x00size" + zstd(data)


EVERY = pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstd, behind_a_skippable_frame])


def whole(file: Content, piece: int = 1 << 20) -> bytes:
    parts = []
    with file:
        while part := file.read(piece):
            parts.append(part)
    return b"".join(parts)


@EVERY
def test_content_whatever_the_name(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "redis.log"
    path.write_bytes(pack(LINES))
    assert is_packed(path)
    assert whole(opened(path)) == LINES
    assert whole(opened(path, 100_001), 777) == LINES[100_001:]
    assert whole(opened(path, len(LINES) + 5)) == b""


@EVERY
def test_streams_one_behind_the_other(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(LINES[:999]) + pack(b"") + pack(LINES[999:]))
    assert whole(opened(path)) == LINES


@EVERY
def test_nothing_packed(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(b""))
    assert is_packed(path) and whole(opened(path)) == b""


@pytest.mark.parametrize("data", [b"", b"BZh", b"BZh9: a line\n", LINES])
def test_plain_is_as_it_is(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(data)
    assert not is_packed(path)
    assert whole(opened(path, 3)) == data[3:]


def cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def flipped(data: bytes) -> bytes:
    at = len(data) * 2 // 3
    return data[:at] + bytes(byte ^ 0xFF for byte in data[at : at + 64]) + data[at + 64 :]


@EVERY
@pytest.mark.parametrize("harm", [cut, flipped])
def test_what_comes_before_the_damage_is_read_and_then_it_is_told(
    tmp_path: Path, pack: Pack, harm: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "log"
    half = LINES[: len(LINES) // 2]
    path.write_bytes(harm(pack(half) + pack(LINES[len(half) :])))
    parts: list[bytes] = []
    with opened(path) as file, pytest.raises(Damaged, match=r"\w{4}"):
        while part := file.read(10_000_000):
            parts.append(part)
    found = b"".join(parts)
    assert len(found) >= len(half) - module._PIECE
    assert LINES.startswith(found) or harm is flipped, "only a checksum tells one that unpacks"


@EVERY
def test_a_damage_before_the_place_that_is_asked_for(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    path.write_bytes(cut(pack(LINES)))
    with opened(path, len(LINES) - 1) as file, pytest.raises(Damaged):
        file.read(10)


def test_a_disk_that_fails_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(LINES))

    def fails(*_: Any) -> bytes:
        raise OSError(5, "Input/output error")

    with opened(path) as file:
        monkeypatch.setattr(gzip.GzipFile, "read1", fails)
        with pytest.raises(OSError, match="Input/output error") as raised:
            file.read(10)
    assert not isinstance(raised.value, Damaged)


@EVERY
def test_a_packed_log_is_read_as_a_plain_one_and_its_damage_told_with_its_place(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(LINES))
    split = Split(str(path), "id", 0, -1, "n", True)
    assert read_split(split, str(tmp_path), "UTC").unparsed == 8_000
    path.write_bytes(cut(pack(LINES[:140_000]) + pack(LINES)))
    told = read_split(split, str(tmp_path), "UTC")
    assert 3_000 < told.unparsed < 14_000
    assert told.error.endswith(f", after {told.read} bytes")


@EVERY
def test_rotated_and_packed_it_is_the_same_node_and_not_read_again(tmp_path: Path, pack: Pack) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    data = (LOGS / "text" / "redis7-disk" / "master.log").read_bytes()
    (logs / "master.log").write_bytes(data)
    inline.read(logs, tmp_path / "tables")
    before = inline.told(tmp_path / "tables")
    (logs / "master.log").unlink()
    (logs / "master.log.1.zst").write_bytes(pack(data))
    inline.read(logs, tmp_path / "tables")
    after = inline.told(tmp_path / "tables")
    assert after["nodes"] == before["nodes"] and after["totals"] == before["totals"]
    assert [Path(row["file"]).name for row in after["files"]] == ["master.log.1.zst"]
