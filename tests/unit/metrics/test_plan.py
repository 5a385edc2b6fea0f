"""Which files there are and which of their bytes are new."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pyrepl.errors import ConfigError
from pyrepl.metrics import plan as module
from pyrepl.metrics.manifest import Manifest
from pyrepl.metrics.packed import digest
from pyrepl.metrics.part import read_split
from pyrepl.metrics.plan import find, node_of, plan
from pyrepl.metrics.ranges import Told

LINE = b"1:M 21 Nov 2026 11:09:41.858 * Ready to accept connections %03d\n"
DATA = b"".join(LINE % number for number in range(50))


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("redis.log", "redis"),
        ("redis.log.1", "redis"),
        ("redis.log.12.gz", "redis"),
        ("redis-20261121.log.gz", "redis"),
        ("a/b/valkey-6380.log", "a/b/valkey-6380"),
        ("events-20261121T110941Z.jsonl", "events"),
        ("plain", "plain"),
        (".log", ".log"),
    ],
)
def test_nodes_are_named_without_what_rotation_adds(name: str, node: str) -> None:
    assert node_of(Path("/r") / name, Path("/r")) == node


def test_found_in_folders_and_by_name(tmp_path: Path) -> None:
    for name in ("a/x.log", "b/x.log", "b/dump.rdb", "b/.hidden", "out/events/p.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(DATA)
    found = find([tmp_path], tmp_path / "out")
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["a/x.log", "b/x.log"]
    named = find([tmp_path / "a" / "x.log", tmp_path / "b" / "x.log"])
    assert {node_of(path, root) for path, root in named.items()} == {"a/x", "b/x"}
    with pytest.raises(ConfigError, match=r"gone\.log: no such file"):
        find([tmp_path / "gone.log"])
    assert list(find([tmp_path / "gone.log", tmp_path / "a"], absent_ok=True)) == [tmp_path / "a" / "x.log"]


@pytest.mark.parametrize("out", ["", "report", "deep/er"])
def test_what_runs_have_written_among_the_logs_is_no_log(tmp_path: Path, out: str) -> None:
    ours = (
        "metrics.json", "follow.json", "metrics.openmetrics", "tables/manifest.json", "versions/1/made_of",
        "checkpoint/offsets/0", "fetched/hdfs/nn/a.log", "delta/syncs/_delta_log/0.json",
    )  # fmt: skip
    for name in ours:
        (tmp_path / out / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / out / name).write_bytes(DATA)
    (tmp_path / "logs").mkdir()
    logs = [tmp_path / "logs" / "metrics.json", tmp_path / "redis.log", tmp_path / out / "more.log"]
    for log in logs:
        log.write_bytes(DATA)
    assert set(find([tmp_path])) == set(logs)


def ranges(known: Manifest, path: Path, root: Path | None = None) -> list[tuple[int, int]]:
    """What is to be read of the file; counts as read then."""
    whole, tails = plan(known, {path: root or path.parent})
    for split in whole:
        size = len(gzip.decompress(path.read_bytes())) if split.packed else split.end
        known.take(Told(split.file_id, split.start, size - split.start), tail=False)
    for split in tails:
        known.take(Told(split.file_id, split.start, split.end - split.start), tail=True)
    return [(split.start, split.end) for split in [*whole, *tails]]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    known, path = Manifest(), tmp_path / "a.log"
    path.write_bytes(DATA)
    assert ranges(known, path) == [(0, len(DATA))]
    assert ranges(known, path) == []
    path.write_bytes(DATA + LINE % 50 + (LINE % 51)[:14])
    end = len(DATA) + len(LINE % 50)
    assert ranges(known, path) == [(len(DATA), end), (end, end + 14)]
    end = len(DATA) + len(LINE % 50)
    path.write_bytes(DATA + LINE % 50 + LINE % 51)
    assert ranges(known, path) == [(end, end + len(LINE % 51))]


def test_a_renamed_and_packed_file_is_known(tmp_path: Path) -> None:
    known, path = Manifest(), tmp_path / "a.log"
    path.write_bytes(DATA)
    ranges(known, path)
    path.rename(tmp_path / "a.log.1")
    assert ranges(known, tmp_path / "a.log.1") == []
    packed = tmp_path / "a.log.2.gz"
    packed.write_bytes(gzip.compress(DATA))
    (tmp_path / "a.log.1").unlink()
    assert ranges(known, packed) == [(len(DATA), -1)]
    assert len(known.entries) == 1


def test_a_new_file_of_the_old_name_is_another(tmp_path: Path) -> None:
    known, path = Manifest(), tmp_path / "a.log"
    path.write_bytes(DATA)
    ranges(known, path)
    path.write_bytes(DATA.replace(b"1:M", b"2:M"))
    assert ranges(known, path) == [(0, len(DATA))]
    assert len(known.entries) == 2


@pytest.mark.parametrize("more", [b"", LINE % 50])
def test_a_file_that_was_written_anew_behind_its_begin_is_read_anew(tmp_path: Path, more: bytes) -> None:
    known, path = Manifest(), tmp_path / "a.log"
    path.write_bytes(DATA)
    ranges(known, path)
    anew = DATA.replace(b"connections 049", b"connections 999") + more
    path.write_bytes(anew)
    assert ranges(known, path) == [(0, len(anew))]
    (entry,) = known.entries.values()
    assert [(one.start, one.read) for one in entry.told] == [(0, len(anew))]
    path.touch()
    assert ranges(known, path) == []


def test_a_file_that_was_read_before_ends_were_noted_goes_on_as_it_was(tmp_path: Path) -> None:
    known, path = Manifest(), tmp_path / "a.log"
    path.write_bytes(DATA)
    ranges(known, path)
    (entry,) = known.entries.values()
    entry.end = ""
    path.write_bytes(DATA.replace(b"connections 049", b"connections 999") + LINE % 50)
    assert ranges(known, path) == [(len(DATA), len(DATA) + len(LINE % 50))]


def test_files_are_known_without_a_look_at_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 40
    logs = {tmp_path / f"{number}.log": tmp_path for number in range(count)}
    for number, path in enumerate(logs):
        path.write_bytes(DATA.replace(b"1:M", b"%d:M" % number))
    asked: list[bytes] = []

    def noted(data: bytes) -> str:
        asked.append(data)
        return digest(data)

    monkeypatch.setattr(module, "digest", noted)
    known = Manifest()
    assert len(plan(known, logs)[0]) == count
    plan(known, logs)
    assert len(asked) < 10 * count


def test_a_file_that_is_rotated_before_it_is_read_is_read_under_its_new_name(tmp_path: Path) -> None:
    known, path, tables = Manifest(), tmp_path / "a.log", tmp_path / "tables"
    path.write_bytes(DATA)
    (split,), _ = plan(known, {path: tmp_path})
    path.rename(tmp_path / "a.log.1")
    path.write_bytes(DATA.replace(b"1:M", b"2:M") * 2)
    known.take(read_split(split, str(tables), "UTC"), tail=False)
    assert not next(iter(known.entries.values())).told
    again, _ = plan(known, {tmp_path / "a.log.1": tmp_path, path: tmp_path})
    for one in again:
        known.take(read_split(one, str(tables), "UTC"), tail=False)
    assert [(row["file"], row["lines"], row["error"]) for row in known.file_rows()] == [
        (str(path), 100, None), (str(path) + ".1", 50, None),
    ]  # fmt: skip


def test_wide_files_are_cut_at_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPLIT_BYTES", 500)
    path = tmp_path / "a.log"
    path.write_bytes(DATA)
    cuts = ranges(Manifest(), path)
    assert cuts[0][0] == 0
    assert cuts[-1][1] == len(DATA)
    assert all(before[1] == behind[0] for before, behind in pairwise(cuts))
    assert all(DATA[end - 1 : end] == b"\n" for _, end in cuts)
    assert len(cuts) > 4


def test_unreadable_and_binary_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary, secret, good = tmp_path / "b.log", tmp_path / "secret.log", tmp_path / "good.log"
    for path, data in ((binary, bytes(range(256))), (secret, DATA), (good, DATA.replace(b"1:M", b"3:M"))):
        path.write_bytes(data)
    true_open = Path.open

    def refuse(self: Path, *args: Any, **named: Any) -> Any:
        if self == secret:
            raise PermissionError(13, "Permission denied")
        return true_open(self, *args, **named)

    monkeypatch.setattr(Path, "open", refuse)
    known = Manifest()
    whole, _ = plan(known, dict.fromkeys((binary, secret, good), tmp_path))
    assert [split.path for split in whole] == [str(good)]
    assert known.refused == {
        str(binary): "binary, no log: not read",
        str(secret): "cannot be read: Permission denied",
    }
