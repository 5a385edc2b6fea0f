"""What a node begins with: leftovers of others go, the append-only file comes before dump.rdb, then the role."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, link_up, running


@in_loop
async def test_leftovers_of_processes_that_are_gone(tmp_path: Path) -> None:
    config = tmp_path / "node.conf"
    config.write_text("")
    left = tmp_path / "temp-999999999.rdb"
    left.write_bytes(b"REDIS")
    async with running(tmp_path, config):
        assert not left.exists() and config.exists()


@in_loop
async def test_the_append_only_file_is_what_counts(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        await node.say("SET a from-both")
        await node.say("SAVE")
        await node.say("SET a from-the-file")
    async with running(tmp_path, appendonly=True) as node:
        assert await node.say("GET a") == b"from-the-file"
    async with running(tmp_path) as node:
        assert await node.say("GET a") == b"from-both"


@in_loop
async def test_it_follows_whom_the_configuration_names(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "one") as master,
        running(tmp_path / "two", replicaof=("127.0.0.1", master.port)) as replica,
    ):
        await link_up(replica)
        assert await replica.info("role") == "slave" and await master.info("role") == "master"
