"""The calls to the file system, on a real disk and on the one in memory that stands in for it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pyrepl.daemon.mailbox.files import DiskFiles, Files, folder_of, remove_tree, replace
from tests.unit.daemon.mailbox.model_disk import ModelDisk


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Files, bytes]:
    """The calls, and a folder to try them in."""
    if request.param == "disk":
        return DiskFiles(), os.fsencode(tmp_path)
    disk = ModelDisk()
    disk.make_folders(b"/there")
    return disk, b"/there"


def test_files_are_made_read_and_appended_to(place: tuple[Files, bytes]) -> None:
    files, folder = place
    path = folder + b"/a\xff"
    files.write_new(path, b"one")
    with pytest.raises(FileExistsError):
        files.write_new(path, b"two")
    files.append(path, b"two")
    assert (files.read(path), files.read(path, 4), files.read_part(path, 1, 2)) == (b"onetwo", b"wo", b"ne")
    files.sync(path)
    files.sync(folder)
    assert files.names(folder) == [b"a\xff"]


def test_a_full_disk_leaves_no_half_of_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, path = DiskFiles(), os.fsencode(tmp_path / "a")
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if len(data) <= 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data[:4])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        files.write_new(path, b"12345678")
    assert files.stat(path) is None
    monkeypatch.undo()
    files.write_new(path, b"12345678")
    with pytest.raises(FileExistsError):
        files.write_new(path, b"other")
    assert files.read(path) == b"12345678", "what was there before stays"


def test_a_full_disk_leaves_no_half_of_what_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, path = DiskFiles(), os.fsencode(tmp_path / "a")
    files.write_new(path, b"a line\n")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:4]))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        files.append(path, b"another\n")
    monkeypatch.undo()
    assert files.read(path) == b"a line\n", "a Dovecot would go on behind half a line"
    files.append(path, b"another\n")
    assert files.read(path) == b"a line\nanother\n"


def test_what_is_told_of_a_path(place: tuple[Files, bytes]) -> None:
    files, folder = place
    files.write_new(folder + b"/a", b"one")
    files.set_mtime(folder + b"/a", 1_700_000_000)
    found, above = files.stat(folder + b"/a"), files.stat(folder)
    assert found is not None and above is not None
    assert (found.size, found.mtime_ns, found.is_folder, above.is_folder) == (3, 1_700_000_000 * 10**9, False, True)
    assert files.stat(folder + b"/b") is None


def test_links_and_renames(place: tuple[Files, bytes]) -> None:
    files, folder = place
    files.write_new(folder + b"/a", b"one")
    files.link(folder + b"/a", folder + b"/b")
    with pytest.raises(FileExistsError):
        files.link(folder + b"/a", folder + b"/b")
    files.write_new(folder + b"/c", b"other")
    files.rename(folder + b"/c", folder + b"/b")
    assert (files.read(folder + b"/b"), sorted(files.names(folder))) == (b"other", [b"a", b"b"])
    files.unlink(folder + b"/a")
    for call in (files.unlink, files.read, files.sync):
        with pytest.raises(FileNotFoundError):
            call(folder + b"/a")


def test_folders(place: tuple[Files, bytes]) -> None:
    files, folder = place
    files.make_folder(folder + b"/sub")
    with pytest.raises(FileExistsError):
        files.make_folder(folder + b"/sub")
    files.write_new(folder + b"/sub/a", b"")
    with pytest.raises(OSError):
        files.remove_folder(folder + b"/sub")
    files.rename(folder + b"/sub", folder + b"/new")
    remove_tree(files, folder + b"/new")
    remove_tree(files, folder + b"/new")
    assert files.names(folder) == []


def test_a_file_is_replaced_as_a_whole(place: tuple[Files, bytes]) -> None:
    files, folder = place
    for data in (b"one", b"two"):
        files.write_new(folder + b"/a.tmp", b"left by a dead writer")
        replace(files, folder + b"/a", data, folder + b"/a.tmp")
        assert (files.read(folder + b"/a"), files.names(folder)) == (data, [b"a"])
    seconds = []
    for _ in range(3):
        replace(files, folder + b"/a", b"three", folder + b"/a.tmp")
        found = files.stat(folder + b"/a")
        assert found is not None
        seconds.append(found.mtime_ns // 10**9)
    assert sorted(set(seconds)) == seconds, "each from a second of its own"
    assert folder_of(folder + b"/a") == folder


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("secret")
    with pytest.raises(OSError):
        DiskFiles().read(folder + b"/link")
    with pytest.raises(OSError):
        DiskFiles().append(folder + b"/link", b"x")
    remove_tree(DiskFiles(), folder + b"/link")
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "pipe")
    os.mkfifo(path)
    with pytest.raises(OSError, match="Illegal seek"):
        DiskFiles().read_part(path, 0, 10)


def test_many_are_synced_together(place: tuple[Files, bytes]) -> None:
    files, folder = place
    paths = [folder + b"/%d" % number for number in range(40)]
    for path in paths:
        files.write_new(path, path)
    for some in ([], paths[:1], paths):
        files.sync_all(some)
    with pytest.raises(FileNotFoundError):
        files.sync_all([*paths, folder + b"/none"])
