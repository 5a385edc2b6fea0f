"""What machines keep of the settings is handed to them, and the directory becomes the working directory."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.unit.daemon.rig import in_loop, running


@in_loop
async def test_another_directory(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with running(tmp_path, enable_protected_configs="yes") as node:
        assert await node.say(f"CONFIG SET dir {other}") == "OK"
        assert await node.say("SAVE") == "OK"
        assert [path.name for path in other.iterdir()] == ["dump.rdb"]
        client = await node.peer()
        assert "Can't chdir to '/no/such'" in await client.error("CONFIG SET dir /no/such")
        assert await client.say("CONFIG GET dir") == [b"dir", os.fsencode(other)]


@in_loop
async def test_what_machines_keep_is_handed_to_them(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        client = await node.peer()
        assert await client.say("CONFIG SET repl-backlog-size 65536 repl-timeout 7 loglevel warning") == "OK"
        assert node.app.node.replication.backlog.capacity == 65536
        assert node.app.node.replication.roster.options.session.timeout_s == 7.0
        lines = len(node.lines)
        assert await client.say("CONFIG SET timeout 0") == "OK"
        assert len(node.lines) == lines, "notices are not logged any more"


@in_loop
async def test_the_form_of_the_log_changes_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, log_format="json", log_timestamp_format="milliseconds") as node:
        client = await node.peer()
        first = json.loads(node.lines[0])
        assert list(first) == ["pid", "role", "timestamp", "level", "message"] and first["timestamp"].isdigit()
        assert await client.say("CONFIG SET log-format legacy log-timestamp-format legacy loglevel debug") == "OK"
        lines = len(node.lines)
        assert await client.say("DEBUG LOG told") == "OK"
        assert [line.endswith(" # DEBUG LOG: told") for line in node.lines[lines:]].count(True) == 1
