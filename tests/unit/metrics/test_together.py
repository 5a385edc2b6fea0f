"""Small ranges that are written as one answer as those of which each is written by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyrepl.metrics import manifest as manifests
from pyrepl.metrics.ingest import count_in, planned
from pyrepl.metrics.part import WriteError, read_split
from pyrepl.metrics.parts import pieces
from pyrepl.metrics.plan import find
from pyrepl.metrics.ranges import Split, Told
from pyrepl.metrics.rows import Rows
from pyrepl.metrics.tables import EVENTS, SAMPLES
from pyrepl.metrics.together import read_all, read_together
from tests.unit.metrics.conftest import LOGS
from tests.unit.metrics.inline import plain, told

SOURCES = ("events/pyrepl-pair", "events/pyrepl-output-buffer", "text/redis7-failover", "text/valkey8-dual-channel")
FILES = sorted(path for source in SOURCES for path in (LOGS / source).iterdir() if path.suffix in (".jsonl", ".log"))
OF = {EVENTS.name: EVENTS, SAMPLES.name: SAMPLES}


def copied(folder: Path, share: float = 1.0) -> Path:
    """The first lines of each log, below a folder of logs."""
    for path in FILES:
        lines = path.read_bytes().splitlines(keepends=True)
        to = folder / path.parent.name / path.name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(b"".join(lines[: int(len(lines) * share)]))
    return folder


def taken_in(logs: Path, tables: Path, *, as_one: bool) -> list[Told]:
    known = manifests.load(tables)
    ranges, tails = planned(known, find([logs], tables), tables)
    splits = [split._replace(together=int(as_one)) for split in (*ranges, *tails)]
    found = list(read_all(splits, str(tables), "UTC"))
    count_in(known, found, tails, tables)
    return found


def stored(tables: Path) -> list[str]:
    rows = Rows(tables)
    parts = {(piece.mark["table"], piece.node, path) for piece in pieces(manifests.load(tables)) for path in piece.rows}
    found = [row for table, node, path in parts for row in rows.of(OF[table], node, [path]).to_dicts()]
    return sorted(repr(sorted(row.items())) for row in found)


def content(tables: Path) -> dict[Path, list[str]]:
    return {path: sorted(map(repr, pq.read_table(path).to_pylist())) for path in tables.rglob("*.parquet")}


def about(one: Told) -> dict[str, Any]:
    """All that does not speak of files."""
    plain = {name: getattr(one, name) for name in Told.__slots__ if name not in ("parts", "rollups", "marks")}
    marks = [{name: value for name, value in mark.items() if name != "part"} for mark in one.marks]
    return plain | {"marks": sorted(map(repr, marks))}


def test_all_is_told_and_stored_as_of_each_by_itself(tmp_path: Path) -> None:
    logs = copied(tmp_path / "logs")
    one, each = taken_in(logs, tmp_path / "one", as_one=True), taken_in(logs, tmp_path / "each", as_one=False)
    assert list(map(about, one)) == list(map(about, each))
    assert stored(tmp_path / "one") == stored(tmp_path / "each")
    assert len(list((tmp_path / "one").rglob("*.parquet"))) * 3 < len(list((tmp_path / "each").rglob("*.parquet")))
    assert plain(told(tmp_path / "one")) == plain(told(tmp_path / "each"))


def test_one_of_them_is_given_up_and_the_others_count(tmp_path: Path) -> None:
    """A log that was written anew: its rows are still in the file with those of the others."""
    logs = copied(tmp_path / "logs", 0.5)
    taken_in(logs, tmp_path / "one", as_one=True)
    told(tmp_path / "one")
    anew = logs / FILES[0].parent.name / FILES[0].name
    lines = FILES[0].read_bytes().splitlines(keepends=True)
    anew.write_bytes(b"".join(lines[: len(lines) // 2 - 1] + lines[len(lines) // 2 :]))
    taken_in(logs, tmp_path / "one", as_one=True)
    taken_in(logs, tmp_path / "each", as_one=False)
    assert stored(tmp_path / "one") == stored(tmp_path / "each")
    assert plain(told(tmp_path / "one")) == plain(told(tmp_path / "each"))


def test_of_one_node_each_is_written_by_itself(tmp_path: Path) -> None:
    lines = FILES[0].read_bytes().splitlines(keepends=True)
    paths = [tmp_path / name for name in ("a", "b")]
    for path, own in zip(paths, (lines[:20], lines[20:]), strict=True):
        path.write_bytes(b"".join(own))
    splits = [Split(str(path), path.name, 0, path.stat().st_size, "n", False) for path in paths]
    found = read_together(splits, str(tmp_path / "tables"), "UTC")
    assert found[1] == read_split(splits[1], str(tmp_path / "alone"), "UTC")
    assert not set(found[0].parts) & set(found[1].parts)


def test_twice_is_once_and_what_is_gone_is_told(tmp_path: Path) -> None:
    splits = [Split(str(path), str(path), 0, path.stat().st_size, str(path), False) for path in FILES[:3]]
    splits.insert(1, splits[0]._replace(path=str(tmp_path / "gone"), file_id="gone"))
    first = read_together(splits, str(tmp_path / "tables"), "UTC")
    files = content(tmp_path / "tables")
    assert read_together(splits, str(tmp_path / "tables"), "UTC") == first
    assert content(tmp_path / "tables") == files
    assert (first[1].error, first[1].parts) == ("No such file or directory, after 0 bytes", [])
    assert [one.file_id for one in first] == [split.file_id for split in splits]


def test_what_cannot_be_written_is_no_fault_of_a_log(tmp_path: Path) -> None:
    (tmp_path / "halves").write_bytes(b"in the way")
    splits = [Split(str(path), str(path), 0, path.stat().st_size, str(path), False) for path in FILES[:2]]
    with pytest.raises(WriteError, match=r"/halves/part-.*\.parquet \("):
        read_together(splits, str(tmp_path), "UTC")
