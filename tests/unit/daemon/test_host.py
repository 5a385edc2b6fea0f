"""The machine is read as it is, and from made-up files of /proc and /sys; what is missing there is unknown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl import kernels
from pyrepl.config.settings import Settings
from pyrepl.daemon import host
from pyrepl.daemon.descriptors import descriptors_for
from pyrepl.daemon.host import look_at_folder, look_at_host, wants_of
from pyrepl.host.facts import Folder

FILES = {
    "proc/sys/vm/overcommit_memory": "2\n",
    "proc/sys/net/core/somaxconn": "128\n",
    "proc/meminfo": "MemTotal:       16384 kB\nSwapTotal:       2048 kB\nSwapFree:        1024 kB\nHugePages_Free: 0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_this_machine() -> None:
    found = look_at_host()
    assert found.overcommit in (0, 1, 2)
    assert found.memory_bytes is not None and found.memory_bytes > 0
    assert found.is_compiled is (kernels.form() == kernels.COMPILED)
    assert found.is_clock_set in (True, False)


def test_what_the_files_say(root: Path) -> None:
    found = look_at_host(root)
    assert (found.overcommit, found.somaxconn, found.huge_pages, found.clock_source) == (2, 128, "always", "hpet")
    assert (found.memory_bytes, found.swap_bytes, found.swap_used_bytes) == (16384 << 10, 2048 << 10, 1024 << 10)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    found = look_at_host(tmp_path)
    assert (found.overcommit, found.somaxconn, found.huge_pages, found.clock_source) == (None,) * 4
    assert (found.memory_bytes, found.swap_bytes, found.swap_used_bytes) == (None,) * 3


@pytest.mark.parametrize(("text", "expected"), [("1048576\n", 1 << 20), ("max\n", 16384 << 10)])
def test_the_limit_of_a_container(root: Path, text: str, expected: int) -> None:
    (root / "sys/fs/cgroup").mkdir(parents=True)
    (root / "sys/fs/cgroup/memory.max").write_text(text)
    assert look_at_host(root).memory_bytes == expected


def test_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyrepl-0.11.5.dist-info").mkdir()
    (tmp_path / "pyrepl-0.11.5.dist-info" / "METADATA").write_text("Name: pyrepl\nVersion: 0.11.5\n")
    assert host.look_at_host().namesake is None
    monkeypatch.syspath_prepend(str(tmp_path))
    assert host.look_at_host().namesake == "0.11.5"


def test_what_settings_want(tmp_path: Path) -> None:
    settings = Settings(dir=str(tmp_path), tcp_backlog=42, maxmemory=7, huge_pages=False)
    wants = wants_of(settings, with_folder=True)
    assert (wants.descriptors, wants.descriptors_liked) == descriptors_for(settings)
    assert (wants.tcp_backlog, wants.maxmemory_bytes, wants.huge_pages) == (42, 7, False)
    assert wants.folder is not None and wants.folder.path == str(tmp_path)
    assert wants_of(settings, with_folder=False).folder is None


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(b"x" * 100)
    found = look_at_folder(str(tmp_path), "dump.rdb")
    assert found.trouble is None and found.snapshot_bytes == 100 and found.free_bytes > 0
    assert look_at_folder(str(tmp_path), "other.rdb").snapshot_bytes == 0


def test_no_folder(tmp_path: Path) -> None:
    assert look_at_folder(str(tmp_path / "no"), "x") == Folder(str(tmp_path / "no"), "there is no such folder")
    (tmp_path / "file").write_text("")
    assert look_at_folder(str(tmp_path / "file"), "x").trouble == "it is a file"


def test_a_folder_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # root may write everywhere, so the system's answer is put in its place.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "may make no files there" in str(look_at_folder(str(tmp_path), "x").trouble)
