"""SAVE, BGSAVE and DEBUG RELOAD: carried out, and answered as the effects promise."""

from __future__ import annotations

from pathlib import Path

from tests.unit.daemon.rig import in_loop, running, until


class TestSave:
    @in_loop
    async def test_save_and_bgsave(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            assert await peer.say("SAVE") == "OK"
            assert await peer.say("BGSAVE") == "Background saving started"
            await until(lambda: not node.app.saver.is_busy)
            assert node.logged("Background saving started by pid")

    @in_loop
    async def test_a_failure(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            (tmp_path / "dump.rdb").mkdir()
            assert str(await node.say("SAVE")).startswith("ERR")

    @in_loop
    async def test_data_that_the_wanted_version_cannot_hold(self, tmp_path: Path) -> None:
        async with running(tmp_path, rdb_version=9) as node:
            peer = await node.peer()
            await peer.say("HSET h f v")
            await peer.say("HPEXPIRE h 100000 FIELDS 1 f")
            for line in ("SAVE", "DEBUG RELOAD", "SHUTDOWN SAVE"):
                assert (await peer.error(line)).startswith("ERR"), line
            assert await peer.say("HGET h f") == b"v"

    @in_loop
    async def test_scheduled_within_a_transaction(self, tmp_path: Path) -> None:
        async with running(tmp_path, hz=100) as node:
            peer = await node.peer()
            for line in ("MULTI", "SET a 1", "BGSAVE"):
                await peer.say(line)
            assert await peer.say("EXEC") == ["OK", "Background saving scheduled"]
            await until(lambda: node.app.node.persistence.saves)


@in_loop
async def test_reload(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        await peer.say("SET a 1")
        assert await peer.say("DEBUG RELOAD") == "OK"
        await peer.say("SET a 2")
        await peer.say("SET b 2")
        assert await peer.say("DEBUG RELOAD NOSAVE NOFLUSH MERGE") == "OK"
        assert await peer.say("MGET a b") == [b"1", b"2"]
