"""CLIENT UNBLOCK and PAUSE, and long work in slices: carried out, and answered as the effects promise."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running


@in_loop
async def test_a_client_that_waits_is_unblocked(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        waiting, other = await node.peer(), await node.peer()
        number = await waiting.say("CLIENT ID")
        waiting.send("WAIT", "1", "0")
        assert await waiting.is_silent()
        assert await other.say(f"CLIENT UNBLOCK {number}") == 1
        assert await waiting.read() == 0
        assert await other.say(f"CLIENT UNBLOCK {number}") == 0


@in_loop
async def test_long_work_serves_others_and_within_a_transaction_is_done_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer, other = await node.peer(), await node.peer()
        await peer.say("DEBUG POPULATE 50000 key 2")
        peer.send("KEYS", "no*")
        assert await other.say("PING") == "PONG"
        assert await peer.read() == []
        for line in ("MULTI", "KEYS no*"):
            await peer.say(line)
        assert await peer.say("EXEC") == [[]]
