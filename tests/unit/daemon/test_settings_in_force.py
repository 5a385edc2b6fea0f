"""CONFIG SET: each service hears of it in order, then the log; one that refuses ends it. CONFIG REWRITE."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.service import Service, Services
from pyrepl.daemon.settings_in_force import SettingsInForce
from pyrepl.errors import ConfigError
from pyrepl.observability.event import Level
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop, running


class Hears(Service):
    """Notes which directives it heard of; refuses those that it is told to."""

    def __init__(self, kept: KeptLog, name: str, refused: str = "") -> None:
        self._kept = kept
        self._name = name
        self._refused = refused

    def settings_changed(self, names: Collection[str]) -> None:
        if self._refused in names:
            raise ConfigError("no")
        self._kept.lines.append(f"{self._name}: {' '.join(names)}")


def in_force(kept: KeptLog, *services: Service) -> SettingsInForce:
    node = bare_node(event_log="none")
    return SettingsInForce(node, Services(*services), None, kept.log, EventLog(node, Clock(), kept.log))


@in_loop
async def test_all_hear_of_it_before_the_log_tells() -> None:
    kept = KeptLog()
    kept.log.level = Level.DEBUG
    in_force(kept, Hears(kept, "one"), Hears(kept, "two")).changed(("hz", "port"))
    assert kept.lines[:2] == ["one: hz port", "two: hz port"]
    assert "hz, port" in kept.lines[2] and len(kept.lines) == 3


@in_loop
async def test_at_the_start_nothing_was_changed_and_everything_is_looked_at() -> None:
    kept = KeptLog()
    in_force(kept, Hears(kept, "one")).begin()
    assert kept.lines == ["one: "]


@in_loop
async def test_what_is_refused_is_heard_of_by_nobody_after() -> None:
    kept = KeptLog()
    settings = in_force(kept, Hears(kept, "one"), Hears(kept, "two", refused="port"), Hears(kept, "three"))
    with pytest.raises(ConfigError, match="no"):
        settings.changed(("port",))
    assert kept.lines == ["one: port"]


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
