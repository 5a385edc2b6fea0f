"""The folder of an append-only file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.aof.place import Place
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.errors import ConfigError

INCR = Entry("a.1.incr.aof", 1, FileType.INCR)


def test_a_manifest_is_read_back_and_leaves_nothing_beside(tmp_path: Path) -> None:
    files = AofFiles(tmp_path / "aof", "a")
    assert files.read_manifest() is None
    files.make_folder()
    files.make_folder()
    files.write_manifest(Manifest(incrs=(INCR,)))
    assert files.read_manifest() == Manifest(incrs=(INCR,))
    assert [path.name for path in files.folder.iterdir()] == ["a.manifest"]


def test_a_place_is_its_files_alone(tmp_path: Path) -> None:
    files = AofFiles(tmp_path, "a")
    assert files.read_place(INCR) is None
    place = Place("c" * 40, 5, INCR.name, 0)
    files.write_place(1, place)
    assert files.read_place(INCR) == place
    files.write_place(1, Place("c" * 40, 5, "b.1.incr.aof", 0))
    assert files.read_place(INCR) is None
    files.remove({files.names.place(1), "not there"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("crashed", [False, True])
def test_the_one_file_of_redis_6_becomes_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crashed: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    files = AofFiles(tmp_path / "folder", "appendonly.aof")
    assert files.open_manifest() is None
    (tmp_path / "appendonly.aof").write_bytes(b"x")
    adopted = Manifest(base=Entry("appendonly.aof", 1, FileType.BASE))
    if crashed:
        files.make_folder()
        files.write_manifest(adopted)
    assert files.open_manifest() == files.read_manifest() == adopted
    assert files.size("appendonly.aof") == 1 and files.size("other") == 0
    assert not (tmp_path / "appendonly.aof").exists()


def test_a_manifest_that_cannot_be_read_is_told_with_what_to_do(tmp_path: Path) -> None:
    files = AofFiles(tmp_path, "a")
    (tmp_path / "a.manifest").write_bytes(b"file a seq 0 type b\n")
    with pytest.raises(ConfigError, match=r"line 1: .*move the folder away to start without it"):
        files.open_manifest()


def test_what_a_crash_left_goes_and_nothing_else(tmp_path: Path) -> None:
    files = AofFiles(tmp_path, "a")
    mine = ["a.1.base.rdb", "a.1.incr.aof", "a.1.stream", "a.manifest", "other.9.incr.aof", "a.0.incr.aof"]
    left = ["a.2.base.rdb", "a.2.base.aof", "a.2.incr.aof", "a.2.stream", "temp-a.manifest", f"temp-{os.getpid()}.rdb"]
    for name in mine + left:
        (tmp_path / name).write_bytes(b"x")
    files.remove_leftovers(Manifest())
    assert len(list(tmp_path.iterdir())) == len(mine + left) - 1, "without a manifest only the temporary file goes"
    base, place = Entry("a.1.base.rdb", 1, FileType.BASE), files.place_entry(INCR)
    files.remove_leftovers(Manifest(base, (INCR,), (place,)))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(mine)
