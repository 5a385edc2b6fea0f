"""Hands settings to the pure parts of the node that keep copies of them, at the start and whenever they change.

Parts that read a setting at each use need nothing from this module. Parts that are services hear of changes themselves.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import final

from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.options_by_name import ROSTER, SESSION, set_by_name
from pyrepl.daemon.service import Service
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node
from pyrepl.observability.event import Level
from pyrepl.observability.log_form import LogForm
from pyrepl.observability.telling.master_end import MasterEnd
from pyrepl.replication.dialects import dialects_of
from pyrepl.replication.roster import RosterOptions


@final
class NodeSettings(Service):
    """Hands settings to the node's state, its replication, its log and the working directory."""

    def __init__(self, node: Node, options: RosterOptions, story: MasterEnd, log: Log) -> None:
        """`options` are the options of the node's roster; `story` tells of the backlog."""
        self._node = node
        self._options = options
        self._log = log
        self._story = story

    def settings_changed(self, names: Collection[str]) -> None:
        if "dir" in names:
            enter_directory(self._node)
        settings = self._node.settings
        options = self._options
        set_by_name(options, settings, ROSTER)
        set_by_name(options.session, settings, SESSION)
        options.dialects = dialects_of(settings)
        # The append-only file and subscribers read the backlog, so it must stay while either may exist.
        kept = settings.appendonly or bool(settings.stream_port)
        options.backlog_ttl_s = 0 if kept else settings.repl_backlog_ttl
        self._resize_backlog()
        self._node.process.hz = settings.hz
        self._log.level = Level.named(settings.loglevel)
        self._log.how = LogForm(settings.log_format, settings.log_timestamp_format)

    def _resize_backlog(self) -> None:
        backlog = self._node.replication.backlog
        wanted_bytes = self._node.settings.repl_backlog_size
        if backlog.capacity != wanted_bytes:
            before_bytes = backlog.capacity
            backlog.resize(wanted_bytes)
            self._story.backlog_resized(before_bytes)


def enter_directory(node: Node) -> None:
    """Make `dir` the working directory, and set the directive to its absolute path. Raises ConfigError."""
    path = node.settings.dir
    try:
        os.chdir(path)
    except OSError as error:
        raise ConfigError(f"Can't chdir to '{path}': {error.strerror}") from None
    if not os.access(".", os.W_OK | os.X_OK):
        raise ConfigError(f"Can't write to the directory '{path}': Permission denied")
    node.settings.dir = os.getcwd()
