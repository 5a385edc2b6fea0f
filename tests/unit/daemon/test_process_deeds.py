"""DEBUG SLEEP and DEBUG LOG: what no part of the node has to do with."""

from __future__ import annotations

import time
from pathlib import Path

from tests.unit.daemon.rig import in_loop, running


@in_loop
async def test_sleep_holds_everybody(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        began = time.monotonic()
        assert await node.say("DEBUG SLEEP 0.1") == "OK"
        assert time.monotonic() - began >= 0.1


@in_loop
async def test_a_line_in_the_log(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert await node.say("DEBUG LOG hello") == "OK"
        assert node.logged("hello")
