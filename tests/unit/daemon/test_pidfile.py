"""The pidfile is there while the node is; where it cannot be written the node lives without."""

from __future__ import annotations

import os
from pathlib import Path

from tests.unit.daemon.rig import in_loop, running


@in_loop
async def test_a_pidfile(tmp_path: Path) -> None:
    path = tmp_path / "node.pid"
    async with running(tmp_path, pidfile=str(path)):
        assert path.read_text() == f"{os.getpid()}\n"
    assert not path.exists()


@in_loop
async def test_a_link_is_followed_and_removed_at_the_end(tmp_path: Path) -> None:
    path, target = tmp_path / "node.pid", tmp_path / "elsewhere"
    path.symlink_to(target)
    async with running(tmp_path, pidfile=str(path)):
        assert target.read_text() == f"{os.getpid()}\n"
    assert not path.is_symlink() and target.exists()


@in_loop
async def test_a_pidfile_that_cannot_be_written_is_told_and_no_obstacle(tmp_path: Path) -> None:
    async with running(tmp_path, pidfile=str(tmp_path / "no" / "node.pid")) as node:
        assert node.logged("No such file or directory")
        assert await node.say("PING") == "PONG"
