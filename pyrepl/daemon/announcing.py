"""Tells how far the node is, from its first line in the log to its last: to people (the log), scripts (the pidfile),
systemd and the event log. `life` calls one method at each step of the node's life."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import final

from pyrepl import VERSION
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.pidfile import PidFile
from pyrepl.daemon.supervision import Supervision
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.records import NodeReady, NodeStarted, NodeStopped


@final
class Announcer:
    """Opens the logs of a node, tells each step of its life, and closes them."""

    def __init__(
        self, node: Node, supervision: Supervision, pidfile: PidFile, event_log: EventLog, clock: Clock, log: Log
    ) -> None:
        self._node = node
        self._supervision = supervision
        self._pidfile = pidfile
        self._event_log = event_log
        self._clock = clock
        self._log = log

    def starting(self, notices: Sequence[Event]) -> None:
        """The process has started; `notices` are logged for the operator. Raises ConfigError when the log cannot be
        opened."""
        settings = self._node.settings
        self._log.open(settings.logfile, settings.loglevel)
        self._log(events.Starting(VERSION, os.getpid()))
        for notice in notices:
            self._log(notice)
        if self._supervision.missing:
            self._log(events.SupervisorMissing())

    def listening(self) -> None:
        """The ports are open. Raises ConfigError when the event log cannot be opened."""
        self._event_log.open()
        self._event_log(NodeStarted(VERSION, os.getpid(), self._node.process.tcp_port))

    def initialized(self) -> None:
        """Everything is set up, and nothing loaded yet."""
        self._log(events.ModeRunning(self._node.process.tcp_port))
        self._pidfile.write()
        self._log(events.ServerInitialized())
        self._supervision.tick(self._clock.now())

    def ready(self) -> None:
        """The data is loaded and clients are served."""
        self._supervision.ready()
        startup_ms = round((self._clock.now() - self._node.process.started_at) * 1000)
        self._event_log(NodeReady(self._node.keyspace.key_count, startup_ms))

    def ended(self, *, orderly: bool) -> None:
        """The node has ended. `orderly`: it was told to end; otherwise it could not start."""
        self._pidfile.remove()
        self._event_log(NodeStopped(round(self._clock.now() - self._node.process.started_at, 3)))
        self._event_log.close()
        if orderly:
            self._log(events.ByeBye())
