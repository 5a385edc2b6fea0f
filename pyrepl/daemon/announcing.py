"""Tells how far the node is, from its first line in the log to its last: to people and the event log (the teller of
observability/telling/node_life.py), scripts (the pidfile) and systemd. `life` calls one method at each step."""

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
from pyrepl.observability.event import Event
from pyrepl.observability.log_form import LogForm
from pyrepl.observability.telling.node_life import LifeTeller
from pyrepl.observability.telling.voice import Voice


@final
class Announcer:
    """Opens the logs of a node, has each step of its life told, and closes the event log."""

    def __init__(
        self, node: Node, supervision: Supervision, pidfile: PidFile, event_log: EventLog, clock: Clock, log: Log
    ) -> None:
        self._node = node
        self._supervision = supervision
        self._pidfile = pidfile
        self._event_log = event_log
        self._clock = clock
        self._log = log
        self._teller = LifeTeller(Voice(log, event_log), VERSION, os.getpid())

    def starting(self, notices: Sequence[Event]) -> None:
        """The process has started; `notices` are logged for the operator. Raises ConfigError when the log cannot be
        opened."""
        settings = self._node.settings
        self._log.open(settings.logfile, settings.loglevel)
        self._log.how = LogForm(settings.log_format, settings.log_timestamp_format)
        if settings.syslog_enabled:
            from pyrepl.daemon.system_log import SystemLog  # Few nodes need `logging`.

            self._log.system = SystemLog(settings.syslog_ident, settings.syslog_facility)
        self._teller.starting(notices, supervisor_missing=self._supervision.missing)

    def listening(self) -> None:
        """The ports are open. Raises ConfigError when the event log cannot be opened."""
        self._event_log.open()
        self._teller.listening(self._node.process.any_port)

    def initialized(self) -> None:
        """Everything is set up, and nothing loaded yet."""
        self._pidfile.write()
        self._teller.initialized()
        self._supervision.tick(self._clock.now())

    def ready(self, listeners: Sequence[str]) -> None:
        """The data is loaded and clients are served by these listeners: tcp, unix."""
        self._teller.ready(self._node.keyspace.key_count, self._uptime_s(), listeners)
        self._supervision.ready(self._clock.now())

    def ended(self, *, orderly: bool) -> None:
        """The node has ended. `orderly`: it was told to end; otherwise it could not start."""
        self._pidfile.remove()
        self._teller.ended(self._uptime_s(), self._event_log.close, orderly=orderly)

    def _uptime_s(self) -> float:
        return self._clock.now() - self._node.process.started_at
