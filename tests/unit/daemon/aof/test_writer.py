"""Appending to an incr file, and fsync beside the loop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyrepl.daemon.aof.writer import AofWriter
from tests.unit.daemon.rig import in_loop, until


def test_it_appends_behind_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    writer = AofWriter(path, is_new=False)
    assert writer.size == 3
    writer.append(b"new")
    assert (writer.size, path.read_bytes()) == (6, b"oldnew")
    writer.close()
    AofWriter(path, is_new=True).close()
    assert path.read_bytes() == b""


def test_a_failed_append_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = AofWriter(tmp_path / "a", is_new=True)
    writer.append(b"whole")
    real, calls = os.write, []

    def half(fd: int, data: bytes) -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(fd, data[:2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space left"):
            writer.append(b"torn")
    assert (tmp_path / "a").read_bytes() == b"whole"
    writer.append(b"!")
    writer.sync()
    writer.close()
    assert (tmp_path / "a").read_bytes() == b"whole!"


@in_loop
async def test_fsync_goes_beside_the_loop(tmp_path: Path) -> None:
    writer = AofWriter(tmp_path / "a", is_new=True)
    writer.append(b"x")
    told: list[str] = []
    writer.sync_aside(told.append)
    assert writer.is_syncing and not told
    await until(lambda: told, "the fsync")
    assert told == [""] and not writer.is_syncing
    writer.close()
