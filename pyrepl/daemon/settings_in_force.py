"""What becomes of settings: who keeps a copy is told, what they decide is done, and CONFIG REWRITE writes them down.

What a directive may be is `config`'s; whoever looks a setting up when it is needed has no business here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.clients.ports import Ports
from pyrepl.daemon.cron import Cron
from pyrepl.daemon.disk.config_files import rewrite_file
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.signals import Signals
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.event import Level
from pyrepl.observability.eventlog.records import BacklogResized
from pyrepl.observability.eventlog.state import settings_in_force
from pyrepl.replication.dialects import dialects_of
from pyrepl.replication.roster import RosterOptions

_CREDENTIALS: Final = frozenset({"masterauth", "masteruser"})
ROSTER: Final = {
    "diskless": "repl_diskless_sync",
    "diskless_delay_s": "repl_diskless_sync_delay",
    "diskless_max_replicas": "repl_diskless_sync_max_replicas",
    "max_concurrent_syncs": "repl_max_concurrent_syncs",
    "ping_period_s": "repl_ping_replica_period",
}
"""Options of the roster, and the directives that they are."""


@final
class SettingsInForce:
    """The settings of a node as they take effect."""

    def __init__(
        self,
        node: Node,
        options: RosterOptions,
        config_file: Path | None,
        ports: Ports,
        cron: Cron,
        aof: AofKeeper,
        replicas: Replicas,
        roles: Roles,
        signals: Signals,
        log: Log,
        event_log: EventLog,
    ) -> None:
        """`options` are those of the node's replication; `config_file` is rewritten, None if there is none."""
        self._node = node
        self._options = options
        self._config_file = config_file
        self._ports = ports
        self._cron = cron
        self._aof = aof
        self._replicas = replicas
        self._roles = roles
        self._signals = signals
        self._log = log
        self._event_log = event_log

    def changed(self, names: tuple[str, ...]) -> None:
        """CONFIG SET has changed these directives. Raises ConfigError when one cannot be applied."""
        if "port" in names or "bind" in names:
            self._ports.listen_anew()
        if "dir" in names:
            enter_directory(self._node)
        self.apply()
        if "maxmemory" in names:
            self._limit_memory()
        if "appendonly" in names:
            self._aof.settings_changed()
        self._log(events.ConfigSet(", ".join(names)))
        self.tell()
        if not _CREDENTIALS.isdisjoint(names):
            self._roles.hurry()
        self._replicas.plan_pump()

    def apply(self) -> None:
        """Hand every setting that a machine or shell keeps to its keeper."""
        settings = self._node.settings
        options = self._options
        _set_by_name(options, settings, ROSTER)
        options.dialects = dialects_of(settings)
        # The append-only file and subscribers are readers of the stream, so it stays while there may be one.
        kept = settings.appendonly or bool(settings.stream_port)
        options.backlog_ttl_s = 0 if kept else settings.repl_backlog_ttl
        session = options.session
        session.timeout_s = float(settings.repl_timeout)
        limit = settings.client_output_buffer_limit.replica
        session.hard_limit_bytes, session.soft_limit_bytes = limit.hard_bytes, limit.soft_bytes
        session.soft_limit_s = float(limit.soft_seconds)
        self._resize_backlog()
        self._node.process.hz = settings.hz
        self._node.review_settings()
        self._node.review_guard()
        self._log.level = Level.named(settings.loglevel)
        self._signals.settings_changed.tell()

    def tell(self) -> None:
        """Note in the event log what is in force."""
        self._event_log(settings_in_force(self._node.settings, self._node.process.total_system_bytes))

    def rewrite_file(self) -> None:
        """CONFIG REWRITE; commands refuse it without a file. Raises OSError."""
        assert self._config_file is not None
        rewrite_file(self._config_file, self._node.settings)

    def _resize_backlog(self) -> None:
        backlog = self._node.replication.backlog
        wanted_bytes = self._node.settings.repl_backlog_size
        if backlog.capacity != wanted_bytes:
            before = backlog.capacity
            backlog.resize(wanted_bytes)
            self._event_log(BacklogResized(backlog.capacity, before, backlog.start))

    def _limit_memory(self) -> None:
        """CONFIG SET maxmemory: the next command has to know how much is used."""
        memory = self._node.memory
        self._cron.measure_overhead()
        if memory.is_over:
            self._log(events.MaxmemorySmallerThanUsed(memory.limit_bytes, memory.used_bytes))


def enter_directory(node: Node) -> None:
    """Make the directive `dir` the working directory, and absolute. Raises ConfigError."""
    path = node.settings.dir
    try:
        os.chdir(path)
    except OSError as error:
        raise ConfigError(f"Can't chdir to '{path}': {error.strerror}") from None
    if not os.access(".", os.W_OK | os.X_OK):
        raise ConfigError(f"Can't write to the directory '{path}': Permission denied")
    node.settings.dir = os.getcwd()


def _set_by_name(options: object, settings: object, names: Mapping[str, str]) -> None:
    """Set each of these options to the directive that stands beside it; seconds are floats in options."""
    for option, directive in names.items():
        value = getattr(settings, directive)
        setattr(options, option, float(value) if option.endswith("_s") else value)
