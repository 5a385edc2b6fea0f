"""A bar on the terminal that shows an operator how far a sync or a load is.

`life` makes it only when standard output is a terminal and the log goes there; log lines then scroll above the bar. The
figures are read from the link's progress and the node's load, five times a second.
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from pyrepl.daemon.log_sink import Log
from pyrepl.node.node import Node

_EVERY_S: Final = 0.2


@final
class ProgressBar:
    """Invariant: `_bar` and `_task` are set exactly while a bar is on the screen; then log lines go through it."""

    def __init__(self, node: Node, log: Log) -> None:
        self._node = node
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._console = Console()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = self._loop.call_later(_EVERY_S, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._hide()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(_EVERY_S, self._tick)
        figures = self._figures()
        if figures is None:
            self._hide()
            return
        phase, done, total = figures
        if self._bar is None:
            self._show()
        if self._bar is not None:
            self._bar.update(self._task, description=phase, completed=done, total=total)
            self._bar.refresh()

    def _figures(self) -> tuple[str, int, int | None] | None:
        """(phase, bytes done, bytes in all if known); None when nothing is loaded or received, and no bar is shown."""
        loading = self._node.persistence.loading
        if loading is not None:
            return "loading", loading.loaded_bytes, loading.total_bytes or None
        link = self._node.replication.link
        if link is not None and link.progress.transfer is not None and link.progress.transfer.read_bytes:
            return "receiving", link.progress.transfer.read_bytes, link.progress.transfer.total_bytes
        return None

    def _show(self) -> None:
        # auto_refresh would start a thread, and this process forks.
        bar = Progress(
            TextColumn("sync: {task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            auto_refresh=False,
        )
        self._bar = bar
        self._task = bar.add_task("", total=None)
        bar.start()
        self._log.printer = lambda line: self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _hide(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._log.printer = None
