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
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop


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


def in_force(kept: KeptLog, *services: Service, config_file: Path | None = None) -> SettingsInForce:
    node = bare_node(event_log="none")
    return SettingsInForce(node, Services(*services), config_file, kept.log, EventLog(node, Clock(), kept.log))


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


@in_loop
async def test_the_file_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "node.conf"
    path.write_text("# mine\nhz 11\n")
    in_force(KeptLog(), config_file=path).rewrite_file()
    assert path.read_text().startswith("# mine\n") and "hz 10" in path.read_text()
