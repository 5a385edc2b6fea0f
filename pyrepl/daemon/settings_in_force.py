"""What becomes of settings while the node runs: every service hears of a change, and CONFIG REWRITE writes them down.

What a directive may be is `config`'s; what a change means to a part of the node is that part's.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import final

from pyrepl.daemon.disk.config_files import rewrite_file
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.service import Services
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.eventlog.state import settings_in_force


@final
class SettingsInForce:
    """The settings of a node as they take effect."""

    def __init__(self, node: Node, services: Services, config_file: Path | None, log: Log, event_log: EventLog) -> None:
        """`config_file` is rewritten, None if there is none."""
        self._node = node
        self._services = services
        self._config_file = config_file
        self._log = log
        self._event_log = event_log

    def begin(self) -> None:
        """The node starts: let everybody look at all settings, and note them in the event log. Raises ConfigError."""
        self._services.settings_changed(())
        self._tell()

    def changed(self, names: Collection[str]) -> None:
        """CONFIG SET has changed these directives. Raises ConfigError when one cannot be applied."""
        self._services.settings_changed(names)
        self._log(events.ConfigSet(", ".join(names)))
        self._tell()

    def rewrite_file(self) -> None:
        """CONFIG REWRITE; commands refuse it without a file. Raises OSError."""
        assert self._config_file is not None
        rewrite_file(self._config_file, self._node.settings)

    def _tell(self) -> None:
        """Note in the event log what is in force."""
        self._event_log(settings_in_force(self._node.settings, self._node.process.total_system_bytes))
