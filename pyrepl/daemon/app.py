"""The node put together, and its life from the first line of the log to the last."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from pyrepl import VERSION
from pyrepl.commands.describe.introspection import FAMILIES
from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.commands.engine.renaming import renamed_table
from pyrepl.config.settings import Settings
from pyrepl.daemon.aof.keeper import AofKeeper
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clients.ports import Ports
from pyrepl.daemon.clients.turns import Turns
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.cron import Cron, Services
from pyrepl.daemon.disk.config_files import remove_unfinished
from pyrepl.daemon.disk.files import Files, remove_leftovers
from pyrepl.daemon.disk.saver import Saver
from pyrepl.daemon.ending import Ending
from pyrepl.daemon.eventlog.event_log import EventLog
from pyrepl.daemon.eventlog.sampler import EventSampler
from pyrepl.daemon.failovers import Failovers
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.feeding.repl_pauses import ReplPauses
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Deeds, Performer
from pyrepl.daemon.pidfile import PidFile
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.settings_in_force import SettingsInForce, enter_directory
from pyrepl.daemon.signals import Signals
from pyrepl.daemon.supervision import Supervision
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.records import NodeReady, NodeStarted, NodeStopped
from pyrepl.replication.roster import RosterOptions

if TYPE_CHECKING:
    from pyrepl.daemon.changes.server import StreamServer
    from pyrepl.daemon.following.progress_bar import ProgressBar

_FLUSH_S: Final = 1.0


@final
class App:
    """One node: its state, and every shell around it."""

    def __init__(self, settings: Settings, config_file: Path | None) -> None:
        """Must be made inside the loop it is to run in."""
        self.streams: StreamServer | None = None
        self.clock = Clock()
        self.randomness = Randomness()
        self._config_file = config_file
        now = self.clock.now()
        process = Process(os.getpid(), self.randomness.replid(), self.clock.unix_ms() // 1000, now)
        process.config_file = str(config_file) if config_file is not None else ""
        process.executable = sys.argv[0]
        process.argv = sys.argv
        process.os = f"{platform.system()} {platform.release()} {platform.machine()}"
        process.python = platform.python_version()
        process.total_system_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        options = RosterOptions()
        replication = Replication(settings.repl_backlog_size, options, self.randomness.replid, now)
        self.node = Node(settings, process, replication)
        self.log = Log(self.clock, lambda: "S" if replication.role.is_replica else "M")
        self.event_log = EventLog(self.node, self.clock, self.log)
        self.faults = Faults(self.log, self.event_log)
        self.signals = Signals()
        self._performer = Performer()
        self.dispatcher = Dispatcher(
            self.node, renamed_table(settings, FAMILIES), self.randomness, self._performer.perform, self.clock.precise
        )
        self.turns = Turns(self.node, self.signals, self.clock)
        self.clients = Clients(self.node, self.dispatcher, self.turns, self.clock, self.log)
        self.saver = Saver(self.node, self.signals, self.clock, self.log, self.event_log)
        self.files = Files(self.node, self.clock, self.log)
        self.repl_pauses = ReplPauses(self.log)
        self.replicas = Replicas(
            self.node,
            self.clients,
            self.saver,
            self.repl_pauses,
            self.signals,
            self.clock,
            self.randomness,
            self.log,
            self.event_log,
        )
        self.roles = Roles(
            self.node,
            self.clients,
            self.replicas,
            self.repl_pauses,
            self.dispatcher,
            self.files,
            self.signals,
            self.faults,
            self.clock,
            self.randomness,
            self.log,
            self.event_log,
        )
        self.supervision = Supervision(settings.supervised, os.environ)
        process.supervised = self.supervision.kind
        self.failovers = Failovers(
            self.node, self.clients, self.replicas, self.roles, self.clock, self.log, self.event_log
        )
        self.aof = AofKeeper(
            self.node,
            self.dispatcher,
            self.clients,
            self.saver,
            self.files,
            self.signals,
            self.faults,
            self.clock,
            self.log,
        )
        self.sampler = EventSampler(self.node, self.replicas.story, self.event_log, self.clock)
        self.streams = self._stream_server()
        self._subscribe()
        services = Services(
            (self.replicas, self.failovers),
            (self.saver, self.aof, self.sampler, *(() if self.streams is None else (self.streams,))),
        )
        self.cron = Cron(
            self.node,
            self.dispatcher,
            self.clients,
            self.replicas,
            self.supervision,
            services,
            self.faults,
            self.clock,
            self.log,
        )
        self._ports = Ports(self.node, self.clients, self.log)
        self._pidfile = PidFile(settings, self.log)
        self._settings = SettingsInForce(
            self.node,
            options,
            config_file,
            self._ports,
            self.cron,
            self.aof,
            self.replicas,
            self.roles,
            self.signals,
            self.log,
            self.event_log,
        )
        self._stopped = asyncio.get_running_loop().create_future()
        self.ending = Ending(self.node, self.clients, self.replicas, self.roles, self.saver, self._stop, self.log)
        deeds = Deeds(
            self.dispatcher,
            self.clients,
            self.replicas,
            self.roles,
            self.failovers,
            self.saver,
            self.files,
            self.aof,
            self.ending,
            self._settings,
            self.repl_pauses,
            None if self.streams is None else self.streams.facts,
            self.clock,
            self.log,
        )
        self._performer.learn(deeds.methods)
        self._settings.apply()

    async def run(self, notices: list[Event]) -> None:
        """Live until SHUTDOWN or a signal; `notices` are logged first. Raises ConfigError when it cannot start."""
        settings = self.node.settings
        enter_directory(self.node)
        self.log.open(settings.logfile, settings.loglevel)
        self.log(events.Starting(VERSION, os.getpid()))
        for notice in notices:
            self.log(notice)
        if self.supervision.missing:
            self.log(events.SupervisorMissing())
        self._ports.listen()
        if self.streams is not None:
            self.streams.bind()
        self.event_log.open()
        self.event_log(NodeStarted(VERSION, os.getpid(), self.node.process.tcp_port))
        self._settings.tell()
        self.roles.settings_changed()
        self.log(events.ModeRunning(self.node.process.tcp_port))
        self._pidfile.write()
        self.log(events.ServerInitialized())
        self._watch_signals()
        self._ports.accept()
        if self.streams is not None:
            await self.streams.serve()
        self.cron.start()
        bar = self._progress_bar()
        beginning = asyncio.get_running_loop().create_task(self._begin())
        try:
            await asyncio.wait((beginning, self._stopped), return_when=asyncio.FIRST_COMPLETED)
            if beginning.done():
                beginning.result()
            await self._stopped
        finally:
            beginning.cancel()
            if bar is not None:
                bar.stop()
            await self._leave()

    # ------------------------------------------------------------------ inside

    async def _begin(self) -> None:
        """Load what is on disk, follow whom we are to follow, and say that we are ready."""
        settings = self.node.settings
        remove_leftovers(self.saver.dump_path.parent)
        if self._config_file is not None:
            remove_unfinished(self._config_file)
        place = await self.aof.load_at_start()
        loader = await self.files.load_at_start(self.saver.dump_path) if place is None else None
        aux = loader.aux if loader is not None else place or {}
        if settings.replicaof is not None:
            self.roles.follow_at_start(*settings.replicaof, aux)
        else:
            self.roles.lead_at_start(aux)
            self.dispatcher.propagate_expired()
        self.aof.start(from_snapshot=loader is not None)
        if self.streams is not None:
            self.streams.begin()
        self._ports.tell_ready()
        self.supervision.ready(self.node)
        startup_ms = round((self.clock.now() - self.node.process.started_at) * 1000)
        self.event_log(NodeReady(self.node.keyspace.key_count, startup_ms))

    async def _leave(self) -> None:
        """Close what is open, in the order in which others depend on it."""
        self.supervision.stopping()
        self.cron.stop()
        if self.streams is not None:
            self.streams.stop()
        self.roles.stop()
        self.saver.stop_for_good()
        self.aof.close()
        self._ports.close()
        await self._flush_clients()
        self.clients.close()
        self._pidfile.remove()
        self.event_log(NodeStopped(round(self.clock.now() - self.node.process.started_at, 3)))
        self.event_log.close()
        if self.ending.ended:
            self.log(events.ByeBye())

    def _stream_server(self) -> StreamServer | None:
        """The stream port, if one is wanted."""
        if not self.node.settings.stream_port:
            return None
        from pyrepl.daemon.changes.server import StreamServer

        return StreamServer(
            self.node,
            self.dispatcher,
            self.clients,
            self.turns,
            self.event_log,
            self.faults,
            self.clock,
            self.log,
        )

    def _subscribe(self) -> None:
        """Who hears of what, in this order."""
        signals = self.signals
        self.clients.lost.subscribe(self.replicas.lost)
        signals.deliveries.subscribe(self.clients.deliver)
        signals.stream_grew.subscribe(self.replicas.plan_pump, self.aof.plan)
        signals.stream_ends.subscribe(self.aof.stream_ends)
        signals.stream_begins.subscribe(self.aof.stream_begins)
        signals.before_replies.subscribe(self.aof.flush)
        signals.before_feed.subscribe(self.aof.flush)
        # A failover may end what clients wait for, so they are told before it hears of an ACK.
        signals.acked.subscribe(self.clients.waits.acked, self.failovers.tick)
        signals.fsynced.subscribe(self.clients.waits.fsynced)
        signals.role_changes.subscribe(self.clients.waits.role_changed)
        signals.take_over.subscribe(self.roles.take_over)
        signals.handed_over.subscribe(self.failovers.handed_over)
        signals.other_child.subscribe(self.replicas.other_child)
        signals.settings_changed.subscribe(
            self.event_log.settings_changed,
            self.clients.settings_changed,
            self.replicas.settings_changed,
            self.roles.settings_changed,
        )
        if self.streams is not None:
            signals.settings_changed.subscribe(self.streams.settings_changed)
            signals.stream_grew.subscribe(self.streams.plan)
            signals.stream_ends.subscribe(self.streams.stream_ends)
            signals.stream_begins.subscribe(self.streams.stream_begins)

    def _progress_bar(self) -> ProgressBar | None:
        """Somebody watches: show how a sync goes."""
        if self.node.settings.logfile or not sys.stdout.isatty():
            return None
        from pyrepl.daemon.following.progress_bar import ProgressBar

        bar = ProgressBar(self.node, self.log)
        bar.start()
        return bar

    async def _flush_clients(self) -> None:
        """Close every connection once what was written is out, but wait no longer than a moment for the slow."""
        for conn in list(self.clients.conns.values()):
            conn.close()
        until = self.clock.now() + _FLUSH_S
        while self.clients.conns and self.clock.now() < until:
            await asyncio.sleep(0.01)

    def _stop(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self.faults.survived_callback)
        # A terminal that closes, and a peer that goes, end no daemon.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
            loop.add_signal_handler(number, self.ending.signal, name)
