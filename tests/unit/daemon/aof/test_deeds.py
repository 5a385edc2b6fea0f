"""DEBUG LOADAOF and BGREWRITEAOF: carried out, and answered as the effects promise."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_no_append_only_file(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        await peer.say("SET a 1")
        text = await peer.error("DEBUG LOADAOF")
        assert text == "ERR Error trying to load the AOF files, check server logs."
        assert await peer.say("GET a") == b"1"


@in_loop
async def test_the_file_that_was_kept_until_appendonly_was_no(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True) as node:
        peer = await node.peer()
        await peer.say("SET a 1")
        await peer.say("CONFIG SET appendonly no")
        await peer.say("SET b 2")
        assert await peer.say("DEBUG LOADAOF") == "OK"
        assert await peer.say("MGET a b") == [b"1", None]
        assert await node.info("rdb_changes_since_last_save") == "0"


@in_loop
async def test_a_rewrite_now_or_when_the_other_child_is_done(tmp_path: Path) -> None:
    async with running(tmp_path, appendonly=True, hz=100) as node:
        peer = await node.peer()
        assert await peer.say("BGREWRITEAOF") == "Background append only file rewriting started"
        await until(lambda: not node.app.saver.is_busy)
        for line in ("MULTI", "BGREWRITEAOF"):
            await peer.say(line)
        assert await peer.say("EXEC") == ["Background append only file rewriting scheduled"]
        await until(lambda: node.app.node.persistence.aof.rewrites == 2)
