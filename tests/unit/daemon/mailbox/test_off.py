"""Without mailboxes MAILBOX says how to get them."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running


@in_loop
async def test_it_says_what_to_do(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        assert "set mailbox-port" in await (await node.peer()).error("MAILBOX STATUS")
