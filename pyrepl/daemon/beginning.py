"""Gives a node its data and its role when it starts: from the append-only file or dump.rdb, then by `replicaof`. `life`
calls `load` while clients get -LOADING."""

from __future__ import annotations

from pathlib import Path
from typing import final

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.disk.config_files import remove_unfinished
from pyrepl.daemon.disk.files import Files, remove_leftovers
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.gauges import ProcessUse
from pyrepl.daemon.roles import Roles
from pyrepl.node.node import Node


@final
class Beginning:
    """The data and the role that a node begins with."""

    def __init__(
        self,
        node: Node,
        files: Files,
        saver: Saver,
        aof: AofKeeper,
        roles: Roles,
        dispatcher: Dispatcher,
        use: ProcessUse,
        config_file: Path | None,
    ) -> None:
        """`config_file` is the configuration file; beside it a CONFIG REWRITE that was killed may have left a temporary
        file."""
        self._node = node
        self._files = files
        self._saver = saver
        self._aof = aof
        self._roles = roles
        self._dispatcher = dispatcher
        self._use = use
        self._config_file = config_file

    async def load(self) -> None:
        """Load the data on disk, then follow the master that the configuration names, or be one. Raises ConfigError."""
        self._remove_unfinished()
        self._use.note_start()
        place = await self._aof.load_at_start()
        loader = await self._files.load_at_start(self._saver.dump_path) if place is None else None
        aux = loader.aux if loader is not None else place or {}
        master = self._node.settings.replicaof
        if master is not None:
            self._roles.follow_at_start(*master, aux)
        else:
            self._roles.lead_at_start(aux)
            self._dispatcher.propagate_expired()

    def serve_nobody(self) -> None:
        """Let clients get -LOADING until the node has ended."""
        self._files.begin_loading(0, asynchronous=False)

    def _remove_unfinished(self) -> None:
        """Remove temporary files that processes before us were writing when they were killed."""
        remove_leftovers(self._saver.dump_path.parent)
        if self._config_file is not None:
            remove_unfinished(self._config_file)
