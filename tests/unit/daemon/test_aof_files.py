"""The folder of an append-only file."""

from __future__ import annotations

from pathlib import Path

from pyrepl.aof.manifest import Entry, FileType, Manifest
from pyrepl.aof.place import Place
from pyrepl.daemon.aof_files import AofFiles

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


def test_the_one_file_of_redis_6_becomes_the_base(tmp_path: Path) -> None:
    files = AofFiles(tmp_path / "folder", "appendonly.aof")
    assert files.adopt_old(tmp_path / "appendonly.aof") is None
    (tmp_path / "appendonly.aof").write_bytes(b"x")
    manifest = files.adopt_old(tmp_path / "appendonly.aof")
    assert manifest == files.read_manifest() == Manifest(base=Entry("appendonly.aof", 1, FileType.BASE))
    assert files.size("appendonly.aof") == 1 and files.size("other") == 0
