"""Rates, and what the process uses: looked at now and then, and as it was before anything was loaded."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_samples(tmp_path: Path) -> None:
    async with running(tmp_path, hz=100) as node:
        peer = await node.peer()
        while not node.app.node.stats.ops.per_second:
            assert await peer.say("PING") == "PONG"
        assert node.app.node.process.rss_bytes > 1 << 20 and node.app.node.process.cpu_user_s > 0


@in_loop
async def test_what_the_start_took_and_the_most_that_was_used(tmp_path: Path) -> None:
    """What the start took is part of what is used; the files of the program, part of what is held, are not."""
    async with running(tmp_path, hz=100) as node:
        process = node.app.node.process
        assert 1 << 20 < process.startup_bytes < process.rss_bytes
        await node.say(f"SET a {'x' * (1 << 20)}")
        await until(lambda: process.peak_used_bytes > process.startup_bytes + (1 << 20))
        most, at = process.peak_used_bytes, process.peak_used_unix_s
        await node.say("FLUSHALL")
        memory = str(await node.say("INFO memory"))
        assert f"used_memory_peak:{most}" in memory and f"used_memory_peak_time:{at}" in memory
