"""Samples come when they are due, and only into an event log."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.daemon.rig import in_loop, running, until


def test_samples_at_the_period(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        path = tmp_path / "e"
        async with running(tmp_path, event_log="e", event_log_sample_period=1000) as node:
            await node.say("SET a 1")
            node.app.sampler.tick(node.app.clock.now())
            assert '"event":"sample"' not in path.read_text()
            assert await node.say("CONFIG SET event-log-sample-period 1") == "OK"
            await until(lambda: '"event":"sample"' in path.read_text(), "a sample")
            await until(lambda: node.app.node.event_log.file_bytes > 0, "INFO")
            assert await node.info("event_log_enabled") == "1"
            assert int(await node.info("event_log_written")) >= 3
        samples = [json.loads(line) for line in path.read_text().splitlines() if '"sample"' in line]
        assert samples[0]["keys"] == 1 and samples[0]["replicas"] == 0

    run()


def test_none_without_a_period_or_a_log(tmp_path: Path) -> None:
    @in_loop
    async def run() -> None:
        async with running(tmp_path, event_log="e", event_log_sample_period=0) as node:
            node.app.sampler.tick(node.app.clock.now())
        assert "sample" not in {json.loads(line)["event"] for line in (tmp_path / "e").read_text().splitlines()}
        async with running(tmp_path) as node:
            node.app.sampler.tick(node.app.clock.now())
            assert await node.info("event_log_enabled") == "0"

    run()
