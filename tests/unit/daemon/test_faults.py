"""A defect is one line of the log, and the end at once leaves nothing of the event log behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_a_defect_is_one_line(tmp_path: Path) -> None:
    async with running(tmp_path) as node:

        def broken() -> None:
            raise ValueError("a defect")

        asyncio.get_running_loop().call_soon(broken)
        await until(lambda: node.logged("ValueError: a defect"), "the line")
        node.app.faults.survived("here", OSError("full"))
        assert node.logged("OSError: full")
        assert await node.say("PING") == "PONG"


@in_loop
async def test_the_end_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    async with running(tmp_path, event_log="e") as node:
        monkeypatch.setattr(os, "_exit", codes.append)
        node.app.faults.die()
        assert codes == [1]
        assert '"event":"node_ready"' in (tmp_path / "e").read_text()
        monkeypatch.undo()
