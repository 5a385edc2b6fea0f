"""Each step of a node's life is told to people, scripts, systemd and the event log, in the order in which they come."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyrepl.daemon.announcing import Announcer
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.pidfile import PidFile
from pyrepl.daemon.supervision import Supervision
from pyrepl.daemon.system_log import SystemLog
from pyrepl.observability import events
from tests.unit.daemon.rig import KeptLog, bare_node, in_loop


@in_loop
async def test_from_the_first_line_to_the_last(tmp_path: Path) -> None:
    pidfile = tmp_path / "pid"
    node = bare_node(event_log=str(tmp_path / "e"), pidfile=str(pidfile), supervised="systemd")
    node.process.tcp_port = 7001
    kept, clock = KeptLog(), Clock()
    event_log = EventLog(node, clock, kept.log)
    announcer = Announcer(node, Supervision(node, {}), PidFile(node.settings, kept.log), event_log, clock, kept.log)
    announcer.starting([events.NoConfigurationFile()])
    announcer.listening()
    assert not pidfile.exists()
    announcer.initialized()
    assert pidfile.read_text() == f"{os.getpid()}\n"
    announcer.ready(["tcp"])
    announcer.ended(orderly=True)
    assert not pidfile.exists()
    wanted = ["just started", "no config file", "NOTIFY_SOCKET not found", "port=7001", "Server initialized"]
    wanted += ["Ready to accept connections tcp", "bye bye"]
    places = [next((at for at, line in enumerate(kept.lines) if text in line), -1) for text in wanted]
    assert -1 not in places and places == sorted(places), kept.lines
    told = [json.loads(line)["event"] for line in (tmp_path / "e").read_text().splitlines()]
    assert told == ["node_started", "node_ready", "node_stopped"]


@in_loop
async def test_a_node_that_could_not_start_says_no_goodbye() -> None:
    node, kept, clock = bare_node(event_log="none"), KeptLog(), Clock()
    event_log = EventLog(node, clock, kept.log)
    Announcer(node, Supervision(node, {}), PidFile(node.settings, kept.log), event_log, clock, kept.log).ended(
        orderly=False
    )
    assert not kept.has("bye bye")


@in_loop
async def test_syslog_is_opened_if_that_is_wanted() -> None:
    for wanted in (False, True):
        node, kept, clock = bare_node(event_log="none", syslog_enabled=wanted, syslog_ident="north"), KeptLog(), Clock()
        event_log = EventLog(node, clock, kept.log)
        announcer = Announcer(node, Supervision(node, {}), PidFile(node.settings, kept.log), event_log, clock, kept.log)
        announcer.starting([])
        system = kept.log.system
        assert (isinstance(system, SystemLog) and system.ident == f"north[{os.getpid()}]: ") is wanted
        if isinstance(system, SystemLog):
            system.close()
