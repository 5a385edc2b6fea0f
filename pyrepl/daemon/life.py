"""The life of a node, from the first line of its log to the last: the order of its steps. Each step is another part's.

The order is that of Redis 7.0, as people and scripts look for the lines of its log in that order.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from pyrepl.daemon.announcing import Announcer
from pyrepl.daemon.beginning import Beginning
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.ports import Ports
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.cron import Cron
from pyrepl.daemon.ending import Ending
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.node_settings import enter_directory
from pyrepl.daemon.service import Services
from pyrepl.daemon.settings_in_force import SettingsInForce
from pyrepl.node.node import Node
from pyrepl.observability.event import Event

if TYPE_CHECKING:
    from pyrepl.daemon.following.progress_bar import ProgressBar

_FLUSH_S: Final = 1.0


@final
class Life:
    """Runs a node."""

    def __init__(
        self,
        node: Node,
        services: Services,
        cron: Cron,
        ports: Ports,
        settings: SettingsInForce,
        beginning: Beginning,
        ending: Ending,
        clients: Clients,
        announcer: Announcer,
        faults: Faults,
        clock: Clock,
        log: Log,
    ) -> None:
        self._node = node
        self._services = services
        self._cron = cron
        self._ports = ports
        self._settings = settings
        self._beginning = beginning
        self._ending = ending
        self._clients = clients
        self._announcer = announcer
        self._faults = faults
        self._clock = clock
        self._log = log

    async def run(self, notices: Sequence[Event]) -> None:
        """Run the node until SHUTDOWN or a signal. `notices` are logged first. Raises ConfigError when the node cannot
        start."""
        enter_directory(self._node)
        self._announcer.starting(notices)
        self._ports.listen()
        self._announcer.listening()
        self._settings.begin()
        self._announcer.initialized()
        self._watch_signals()
        self._ports.accept()
        self._cron.start()
        bar = self._progress_bar()
        beginning = asyncio.get_running_loop().create_task(self._begin())
        try:
            await asyncio.wait((beginning, self._ending.stopped), return_when=asyncio.FIRST_COMPLETED)
            if beginning.done():
                beginning.result()
            await self._ending.stopped
        finally:
            beginning.cancel()
            if bar is not None:
                bar.stop()
            await self._leave()

    # ------------------------------------------------------------------ inside

    async def _begin(self) -> None:
        """Load the data, take the role, begin the services, and tell that the node is ready. Meanwhile clients get
        -LOADING, and go on to get it if this fails or is cancelled: nobody reads what was loaded in part, or writes to
        it."""
        try:
            await self._beginning.load()
            self._services.begin()
        except BaseException:
            self._beginning.serve_nobody()
            raise
        self._announcer.ready(self._ports.listeners)

    async def _leave(self) -> None:
        """Stop everything. Client connections are closed last, as replies may still wait to be written."""
        self._cron.stop()
        self._services.stop()
        await asyncio.gather(self._flush_clients(), self._services.finish())
        self._clients.close()
        self._announcer.ended(orderly=self._ending.ended)

    async def _flush_clients(self) -> None:
        """Close every connection once its replies are out, but wait one second at most for slow readers."""
        for conn in list(self._clients.conns.values()):
            conn.close()
        until = self._clock.now() + _FLUSH_S
        while self._clients.conns and self._clock.now() < until:
            await asyncio.sleep(0.01)

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._faults.survived_callback)
        # SIGHUP comes when a terminal closes, which must not end a daemon.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
            loop.add_signal_handler(number, self._ending.signal, name)

    def _progress_bar(self) -> ProgressBar | None:
        """Show how far a sync is, if the log goes to a terminal, where somebody watches."""
        if self._node.settings.logfile or not sys.stdout.isatty():
            return None
        from pyrepl.daemon.following.progress_bar import ProgressBar

        bar = ProgressBar(self._node, self._log)
        bar.start()
        return bar
