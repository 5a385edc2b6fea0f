"""Files in the making: new ones of ours, whatever lies at their place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pyrepl.aof.manifest import Manifest
from pyrepl.changes.sqlite_table import SqliteTable
from pyrepl.changes.token_file import TokenFile
from pyrepl.config.settings import Settings
from pyrepl.daemon.aof.files import AofFiles
from pyrepl.daemon.aof.writer import AofWriter
from pyrepl.daemon.disk.config_files import rewrite_file
from pyrepl.daemon.disk.snapshot_sinks import FileSink
from pyrepl.temporary import SHARED, create, make_private, open_kept, open_new, replacing


def test_a_leftover_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"left over and longer")
    with create(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_what_others_have_open_stays_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as theirs:
        with create(path) as ours:
            ours.write(b"ours")
        theirs.write(b"theirs")
    assert path.read_bytes() == b"ours"


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_link_is_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").write_bytes(b"precious")
    path = tmp_path / "a"
    path.symlink_to(tmp_path / target)
    with create(path, 0o600) as file:
        file.write(b"secret")
    assert path.read_bytes() == b"secret" and not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "there").read_bytes() == b"precious" and not (tmp_path / "nowhere").exists()


def test_what_cannot_be_unlinked_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError):
        create(tmp_path / "a")


def test_who_comes_between_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that is planted between the two steps."""
    (tmp_path / "there").write_bytes(b"precious")
    (tmp_path / "a").symlink_to(tmp_path / "there")
    monkeypatch.setattr(os, "unlink", lambda path: None)
    with pytest.raises(FileExistsError):
        open_new(tmp_path / "a")
    assert (tmp_path / "there").read_bytes() == b"precious"


def _config(folder: Path) -> None:
    rewrite_file(folder / "a.conf", Settings())


def _manifest(folder: Path) -> None:
    AofFiles(folder, "appendonly.aof").write_manifest(Manifest())


def _token(folder: Path) -> None:
    TokenFile(folder / "token").save("1")


def _snapshot(folder: Path) -> None:
    sink = FileSink(folder / "dump.rdb")
    sink.write(b"REDIS")
    sink.finish()


@pytest.mark.parametrize(
    ("write", "temporary"),
    [
        (_config, "a.conf.%d.tmp"),
        (_manifest, "temp-appendonly.aof.manifest"),
        (_token, ".token.%d.tmp"),
        (_snapshot, "temp-%d.rdb"),
    ],
)
def test_no_writer_follows_a_link(tmp_path: Path, write: Callable[[Path], None], temporary: str) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / temporary.replace("%d", str(os.getpid()))).symlink_to(theirs)
    write(folder)
    assert theirs.read_bytes() == b"precious"
    assert [path.is_symlink() for path in folder.iterdir()] == [False], list(folder.iterdir())


def _aof(folder: Path) -> None:
    for is_new in (True, False):
        AofWriter(folder / ("new.aof" if is_new else "old.aof"), is_new=is_new).close()


def _facts(folder: Path) -> None:
    SqliteTable(str(folder / "facts.db")).close()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o377])
@pytest.mark.parametrize("write", [_config, _manifest, _token, _snapshot, _aof, _facts])
def test_files_with_data_are_for_their_owner_alone(
    tmp_path: Path, write: Callable[[Path], None], umask: int, request: pytest.FixtureRequest
) -> None:
    before = os.umask(umask)
    request.addfinalizer(lambda: os.umask(before))
    write(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes and all(mode & 0o077 == 0 for mode in modes.values()), modes


def test_what_others_may_read_is_said(tmp_path: Path) -> None:
    with create(tmp_path / "a", SHARED):
        pass
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) & ~0o644 == 0
    make_private(tmp_path / "b")
    (tmp_path / "b").write_bytes(b"x")
    make_private(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"x"


def test_a_lock_file_stays_and_is_made_through_no_link(tmp_path: Path) -> None:
    path, target = tmp_path / "lock", tmp_path / "target"
    for _ in range(2):
        os.close(open_kept(path))
    assert stat.S_ISREG(path.stat().st_mode)
    path.unlink()
    path.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        open_kept(path)
    assert not target.exists()


def test_a_file_takes_its_place_when_it_is_whole_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    with replacing(path) as file:
        file.write(b"one")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"two")
        file.write(b"%d" % (1 // 0))
    assert path.read_bytes() == b"one"
