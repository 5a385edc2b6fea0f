"""Puts settings into force: tells every service of CONFIG SET, and writes the configuration file for CONFIG REWRITE.

Not here: which values a directive may have (`config`), what a change means to a part of the node (its
`settings_changed`).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import RewriteConfig, SettingsChanged
from pyrepl.config.loading import without_effect
from pyrepl.config.settings import why_without_effect
from pyrepl.daemon.disk.config_files import rewrite_file
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds
from pyrepl.daemon.service import Services
from pyrepl.errors import CommandError, ConfigError
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.eventlog.state import settings_in_force
from pyrepl.resp.reply import OK, Reply


@final
class SettingsInForce:
    """The settings of a node as they take effect."""

    def __init__(self, node: Node, services: Services, config_file: Path | None, log: Log, event_log: EventLog) -> None:
        """`config_file` is the file that CONFIG REWRITE writes; None if the node was started without one."""
        self._node = node
        self._services = services
        self._config_file = config_file
        self._log = log
        self._event_log = event_log
        self._told: set[str] = set()
        """Directives without effect that were logged since the start."""

    def begin(self) -> None:
        """The node starts: let every service look at all settings, and note these in the event log. Raises
        ConfigError."""
        self._services.settings_changed(())
        self._tell()

    def changed(self, names: Collection[str]) -> None:
        """CONFIG SET has changed these directives. Raises ConfigError when one cannot be applied."""
        self._services.settings_changed(names)
        self._log(events.ConfigSet(", ".join(names)))
        self._tell()

    @property
    def deeds(self) -> Deeds:
        """CONFIG SET and CONFIG REWRITE."""
        return {SettingsChanged: self._set, RewriteConfig: self._rewrite}

    def _set(self, call: Call, effect: SettingsChanged) -> Reply:
        try:
            self.changed(effect.names)
        except ConfigError as error:
            self._node.change_settings(effect.names, effect.previous)
            text = f"ERR CONFIG SET failed (possibly related to argument '{effect.names[0]}') - {error}"
            raise CommandError(text) from None
        self._tell_without_effect(effect.names)
        return OK

    def _rewrite(self, call: Call, effect: RewriteConfig) -> Reply:
        """CONFIG REWRITE. The command itself is refused on a node without a file."""
        assert self._config_file is not None
        self._node.keep_users()
        try:
            rewrite_file(self._config_file, self._node.settings)
        except OSError as error:
            reason = error.strerror or str(error)
            self._log(events.ConfigRewriteFailed(reason))
            raise CommandError(f"ERR Rewriting config file: {reason}") from None
        self._log(events.ConfigRewritten())
        return OK

    def _tell_without_effect(self, names: Collection[str]) -> None:
        """Log the directives that CONFIG SET has accepted although no part of the node uses them, each one once."""
        settings = self._node.settings
        reasons = {name: why_without_effect(settings, name) for name in names if name not in self._told}
        found = {name: why for name, why in reasons.items() if why is not None}
        if found:
            self._told.update(found)
            self._log(events.ConfigurationNotice(without_effect(found)))

    def _tell(self) -> None:
        """Note the settings in force in the event log."""
        self._event_log(settings_in_force(self._node.settings, self._node.process.total_system_bytes))
