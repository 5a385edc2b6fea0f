"""Effects: each record of commands/engine/effects.py is carried out here, and answered as its docstring promises."""

from __future__ import annotations

import time
from pathlib import Path

from pyrepl.commands.engine import effects
from pyrepl.commands.engine.effect import Effect
from tests.unit.daemon.rig import in_loop, running, until


@in_loop
async def test_every_effect_has_its_method(tmp_path: Path) -> None:
    declared = {kind for kind in vars(effects).values() if isinstance(kind, type) and issubclass(kind, Effect)}
    async with running(tmp_path) as node:
        assert set(node.app._performer._methods) == declared - {Effect}


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


class TestConfig:
    @in_loop
    async def test_what_has_no_effect_is_logged_once_with_its_reason(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            for line in ("activedefrag yes", "hz 20 list-compress-depth 1 io-threads 4", "activedefrag no"):
                assert await peer.say(f"CONFIG SET {line}") == "OK"
            assert sum("without effect" in line for line in node.lines) == 2
            assert node.logged("without effect: activedefrag (Python looks after memory)")
            assert node.logged("list-compress-depth (pyrepl does not compress the inside of lists); io-threads (pyrepl")
            assert await peer.say("CONFIG SET list-compress-depth 0") == "OK"
            assert sum("without effect" in line for line in node.lines) == 2

    @in_loop
    async def test_what_clients_would_wait_for_is_refused(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            said = await peer.error("CONFIG SET notify-keyspace-events KEA")
            assert said.endswith("- pyrepl publishes no keyspace notifications yet")
            assert await peer.say("CONFIG GET notify-keyspace-events") == [b"notify-keyspace-events", b""]
            assert "pyrepl is no cluster" in await peer.error("CONFIG SET cluster-enabled yes")

    @in_loop
    async def test_rewrite(self, tmp_path: Path) -> None:
        path = tmp_path / "node.conf"
        path.write_text("# mine\n")
        async with running(tmp_path, path) as node:
            peer = await node.peer()
            assert await peer.say("CONFIG SET hz 42") == "OK"
            assert await peer.say("CONFIG REWRITE") == "OK"
            assert "\nhz 42\n" in path.read_text() and path.read_text().startswith("# mine\n")
            path.unlink()
            path.mkdir()
            assert (await peer.error("CONFIG REWRITE")).startswith("ERR Rewriting config file: ")
            assert node.logged("CONFIG REWRITE failed")

    @in_loop
    async def test_without_a_file(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            assert await peer.error("CONFIG REWRITE") == "ERR The server is running without a config file"

    @in_loop
    async def test_what_cannot_be_applied_is_taken_back(self, tmp_path: Path) -> None:
        async with running(tmp_path, enable_protected_configs="yes") as node:
            peer = await node.peer()
            assert "possibly related to argument" in await peer.error("CONFIG SET hz 42 dir /no/such")
            assert await peer.say("CONFIG GET hz") == [b"hz", b"10"]
            assert Path.cwd() == tmp_path


class TestClients:
    @in_loop
    async def test_kill(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer, other = await node.peer(), await node.peer()
            number = await other.say("CLIENT ID")
            assert await peer.say(f"CLIENT KILL ID {number}") == 1
            assert await other.rest() == b""
            assert await peer.error(f"CLIENT KILL 127.0.0.1:{1}") == "ERR No such client"


class TestDebug:
    @in_loop
    async def test_sleep_holds_everybody(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            began = time.monotonic()
            assert await node.say("DEBUG SLEEP 0.1") == "OK"
            assert time.monotonic() - began >= 0.1

    @in_loop
    async def test_reload(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.say("SET a 1")
            assert await peer.say("DEBUG RELOAD") == "OK"
            await peer.say("SET a 2")
            await peer.say("SET b 2")
            assert await peer.say("DEBUG RELOAD NOSAVE NOFLUSH MERGE") == "OK"
            assert await peer.say("MGET a b") == [b"1", b"2"]

    @in_loop
    async def test_no_append_only_file(self, tmp_path: Path) -> None:
        async with running(tmp_path) as node:
            peer = await node.peer()
            await peer.say("SET a 1")
            text = await peer.error("DEBUG LOADAOF")
            assert text == "ERR Error trying to load the AOF files, check server logs."
            assert await peer.say("GET a") == b"1"

    @in_loop
    async def test_the_file_that_was_kept_until_appendonly_was_no(self, tmp_path: Path) -> None:
        async with running(tmp_path, appendonly=True) as node:
            peer = await node.peer()
            await peer.say("SET a 1")
            await peer.say("CONFIG SET appendonly no")
            await peer.say("SET b 2")
            assert await peer.say("DEBUG LOADAOF") == "OK"
            assert await peer.say("MGET a b") == [b"1", None]
            assert await node.info("rdb_changes_since_last_save") == "0"


@in_loop
async def test_wait_within_a_transaction_waits_for_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        peer = await node.peer()
        await peer.say("MULTI")
        await peer.say("WAIT 3 0")
        assert await peer.say("EXEC") == [0]
