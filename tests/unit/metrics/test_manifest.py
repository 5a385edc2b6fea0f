"""What has been read is kept, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyrepl.errors import ConfigError
from pyrepl.metrics.manifest import NAME, VERSION, Entry, Manifest, digest, in_force, load, save, sweep
from pyrepl.metrics.ranges import Told


def filled() -> Manifest:
    known = Manifest({"a": Entry("a", "/x/a.log", "a", 5, "h", size=30)})
    seqs = [["events", "run", 1, 5, True]]
    known.take(Told("a", 0, 20, 4, 2, 1, 1, 0, ["events/p1", "unparsed/u1"], seqs), tail=False)
    known.take(Told("a", 20, 10, 1, 1, 0, 0, 0, ["events/p2"], [["events", "run", 6, 6, True]]), tail=True)
    return known


def test_there_and_back(tmp_path: Path) -> None:
    assert load(tmp_path) == Manifest()
    save(tmp_path, filled())
    assert load(tmp_path) == filled()


def test_what_was_saved_is_saved_the_same(tmp_path: Path) -> None:
    known = filled()
    known.entries["b"] = Entry("b", "/x/ü.log", "b", 0, "", error="cannot be read")
    known.refused, known.copies = {"/x/c": "binary"}, {"/x/d": {"of": "/x/a.log", "bytes": 1, "of_bytes": 2}}
    save(tmp_path, known)
    assert load(tmp_path) == known and digest(load(tmp_path)) == digest(known) == in_force(tmp_path)
    assert json.loads((tmp_path / NAME).read_bytes())["entries"][0]["told"][0]["parts"] == ["events/p1", "unparsed/u1"]


def test_a_tail_does_not_move_the_offset() -> None:
    known = filled()
    assert known.entries["a"].offset == 20
    assert known.parts("events") == ["events/p1", "events/p2"]
    (row,) = known.file_rows()
    assert (row["bytes"], row["lines"], row["events"], row["unparsed"], row["form"]) == (30, 5, 3, 1, "text")


def test_doubles_are_foreseen_by_run() -> None:
    known = filled()
    known.take(Told("a", 30, 5, 1, 1, seqs=[["events", "whole", 4, 9, True]]), tail=False)
    assert not known.doubtful()
    known.take(Told("a", 35, 5, 1, 1, seqs=[["events", "run", 4, 9, True]]), tail=False)
    assert known.doubtful() == {("events", "run")}
    known.take(Told("a", 40, 5, 1, 1, seqs=[["samples", "other", 1, 2, False]]), tail=False)
    assert known.doubtful() == {("events", "run"), ("samples", "other")}


def test_what_no_manifest_names_is_removed(tmp_path: Path) -> None:
    kept, orphan = tmp_path / "events" / "p1.parquet", tmp_path / "events" / "day=x" / "p9.parquet"
    rollup, other = tmp_path / "halves" / "p1.parquet", tmp_path / "halves" / "p9.parquet"
    for path in (kept, orphan, rollup, other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    known = Manifest({"a": Entry("a", "/x/a.log", "a", 5, "h")})
    known.take(Told("a", 0, 20, parts=["events/p1.parquet"], rollups=["halves/p1.parquet"]), tail=False)
    assert sweep(tmp_path, known) == 2
    assert [path.exists() for path in (kept, orphan, rollup, other)] == [True, False, True, False]


def test_another_version_is_told(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"version": 99}')
    with pytest.raises(ConfigError, match=f"another version of pyrepl .schema 99, and this one has {VERSION}"):
        load(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 2, "entries": [{"x": 1}]}'])
def test_a_foreign_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    with pytest.raises(ConfigError, match="remove the folder, and all logs"):
        load(tmp_path)
