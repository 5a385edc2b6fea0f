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
from pyrepl.commands.dispatch import Dispatcher
from pyrepl.commands.introspection import FAMILIES
from pyrepl.commands.renaming import renamed_table
from pyrepl.config.settings import Settings
from pyrepl.daemon.aof_keeper import AofKeeper
from pyrepl.daemon.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.config_files import remove_unfinished, rewrite_file
from pyrepl.daemon.cron import Cron
from pyrepl.daemon.ending import Ending
from pyrepl.daemon.event_log import EventLog
from pyrepl.daemon.event_sampler import EventSampler
from pyrepl.daemon.failovers import Failovers
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.files import Files, remove_leftovers
from pyrepl.daemon.listener import Listener
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.performer import Performer
from pyrepl.daemon.randomness import Randomness
from pyrepl.daemon.repl_pauses import ReplPauses
from pyrepl.daemon.replicas import Replicas
from pyrepl.daemon.roles import Roles
from pyrepl.daemon.saver import Saver
from pyrepl.daemon.signals import Signals
from pyrepl.daemon.supervision import Supervision
from pyrepl.errors import ConfigError
from pyrepl.node.node import Node, Process
from pyrepl.node.replication import Replication
from pyrepl.observability import events
from pyrepl.observability.event import Event, Level
from pyrepl.observability.eventlog.records import BacklogResized, NodeReady, NodeStarted, NodeStopped
from pyrepl.observability.eventlog.state import settings_in_force
from pyrepl.replication.dialects import dialects_of
from pyrepl.replication.roster import RosterOptions

if TYPE_CHECKING:
    from pyrepl.daemon.progress_bar import ProgressBar
    from pyrepl.daemon.stream_server import StreamServer

_CREDENTIALS: Final = frozenset({"masterauth", "masteruser"})
_FLUSH_S: Final = 1.0


@final
class App:
    """One node: its state, and every shell around it."""

    def __init__(self, settings: Settings, config_file: Path | None) -> None:
        """Must be made inside the loop it is to run in."""
        self.streams: StreamServer | None = None
        self.clock = Clock()
        self.randomness = Randomness()
        self.config_file = config_file
        now = self.clock.now()
        process = Process(os.getpid(), self.randomness.replid(), self.clock.unix_ms() // 1000, now)
        process.config_file = str(config_file) if config_file is not None else ""
        process.executable = sys.argv[0]
        process.argv = sys.argv
        process.os = f"{platform.system()} {platform.release()} {platform.machine()}"
        process.python = platform.python_version()
        process.total_system_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._options = RosterOptions()
        replication = Replication(settings.repl_backlog_size, self._options, self.randomness.replid, now)
        self.node = Node(settings, process, replication)
        self.log = Log(self.clock, lambda: "S" if replication.is_replica else "M")
        self.event_log = EventLog(self.node, self.clock, self.log)
        self.faults = Faults(self.log, self.event_log)
        self.signals = Signals()
        self._performer = Performer(self)
        self.dispatcher = Dispatcher(
            self.node, renamed_table(settings, FAMILIES), self.randomness, self._performer.perform, self.clock.precise
        )
        self.clients = Clients(self.node, self.dispatcher, self.signals, self.clock, self.log)
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
        self.cron = Cron(self)
        self._tcp = Listener()
        self._unix = Listener()
        self._stopped = asyncio.get_running_loop().create_future()
        self.ending = Ending(self, self._stop)
        self._apply_settings()

    async def run(self, notices: list[Event]) -> None:
        """Live until SHUTDOWN or a signal; `notices` are logged first. Raises ConfigError when it cannot start."""
        settings = self.node.settings
        self._enter_directory(settings.dir)
        self.log.open(settings.logfile, settings.loglevel)
        self.log(events.Starting(VERSION, os.getpid()))
        for notice in notices:
            self.log(notice)
        if self.supervision.missing:
            self.log(events.SupervisorMissing())
        self._listen()
        self.event_log.open()
        self.event_log(NodeStarted(VERSION, os.getpid(), self.node.process.tcp_port))
        self.event_log(settings_in_force(settings, self.node.process.total_system_bytes))
        self.roles.settings_changed()
        self.log(events.ModeRunning(self.node.process.tcp_port))
        self._write_pidfile()
        self.log(events.ServerInitialized())
        self._watch_signals()
        self._tcp.accept_with(self.clients.accept)
        self._unix.accept_with(self.clients.accept)
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

    def settings_changed(self, names: tuple[str, ...]) -> None:
        """CONFIG SET has changed these directives. Raises ConfigError when one cannot be applied."""
        if "port" in names or "bind" in names:
            self._listen_anew()
        if "dir" in names:
            self._enter_directory(self.node.settings.dir)
        self._apply_settings()
        if "maxmemory" in names:
            self._limit_memory()
        if "appendonly" in names:
            self.aof.settings_changed()
        self.log(events.ConfigSet(", ".join(names)))
        self.event_log(settings_in_force(self.node.settings, self.node.process.total_system_bytes))
        if not _CREDENTIALS.isdisjoint(names):
            self.roles.hurry()
        self.replicas.plan_pump()

    def _limit_memory(self) -> None:
        """CONFIG SET maxmemory: the next command has to know how much is used."""
        memory = self.node.memory
        self.cron.measure_overhead()
        if memory.is_over:
            self.log(events.MaxmemorySmallerThanUsed(memory.limit_bytes, memory.used_bytes))

    def rewrite_config(self) -> None:
        """CONFIG REWRITE. Raises OSError."""
        assert self.config_file is not None
        rewrite_file(self.config_file, self.node.settings)

    # ------------------------------------------------------------------ inside

    async def _begin(self) -> None:
        """Load what is on disk, follow whom we are to follow, and say that we are ready."""
        settings = self.node.settings
        remove_leftovers(self.saver.dump_path.parent)
        if self.config_file is not None:
            remove_unfinished(self.config_file)
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
        if settings.port:
            self.log(events.ReadyToAcceptConnections("tcp"))
        if settings.unixsocket:
            self.log(events.ReadyToAcceptConnections("unix"))
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
        self._tcp.close()
        self._unix.close()
        await self._flush_clients()
        self.clients.close()
        settings = self.node.settings
        if settings.pidfile:
            self.log(events.PidFileRemoved())
            Path(settings.pidfile).unlink(missing_ok=True)
        self.event_log(NodeStopped(round(self.clock.now() - self.node.process.started_at, 3)))
        self.event_log.close()
        if self.ending.ended:
            self.log(events.ByeBye())

    def _stream_server(self) -> StreamServer | None:
        """The stream port, if one is wanted."""
        if not self.node.settings.stream_port:
            return None
        from pyrepl.daemon.stream_server import StreamServer

        return StreamServer(self)

    def _subscribe(self) -> None:
        """Who hears of what, in this order."""
        signals = self.signals
        self.clients.lost.subscribe(self.replicas.lost)
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
        if self.streams is not None:
            signals.stream_grew.subscribe(self.streams.plan)
            signals.stream_ends.subscribe(self.streams.stream_ends)
            signals.stream_begins.subscribe(self.streams.stream_begins)

    def _progress_bar(self) -> ProgressBar | None:
        """Somebody watches: show how a sync goes."""
        if self.node.settings.logfile or not sys.stdout.isatty():
            return None
        from pyrepl.daemon.progress_bar import ProgressBar

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

    def _enter_directory(self, path: str) -> None:
        try:
            os.chdir(path)
        except OSError as error:
            raise ConfigError(f"Can't chdir to '{path}': {error.strerror}") from None
        if not os.access(".", os.W_OK | os.X_OK):
            raise ConfigError(f"Can't write to the directory '{path}': Permission denied")
        self.node.settings.dir = os.getcwd()

    def _listen(self) -> None:
        settings = self.node.settings
        if settings.port:
            try:
                self._tcp.bind_tcp(list(settings.bind), settings.port, settings.tcp_backlog)
            except ConfigError:
                self.log(events.ListeningFailed(settings.port))
                raise
            self.node.process.tcp_port = self._tcp.port
        if settings.unixsocket:
            self._unix.bind_unix(settings.unixsocket, settings.unixsocketperm, settings.tcp_backlog)
        if not settings.port and not settings.unixsocket:
            raise ConfigError("Configured to not listen anywhere: set 'port' or 'unixsocket'")
        if self.streams is not None:
            self.streams.bind()

    def _listen_anew(self) -> None:
        """CONFIG SET port or bind: the new sockets first, so that a failure leaves the old ones."""
        settings = self.node.settings
        fresh = Listener()
        if settings.port:
            fresh.bind_tcp(list(settings.bind), settings.port, settings.tcp_backlog, beside=self._tcp)
        self._tcp.close()
        self._tcp = fresh
        self.node.process.tcp_port = fresh.port
        fresh.accept_with(self.clients.accept)

    def _write_pidfile(self) -> None:
        path = self.node.settings.pidfile
        if not path:
            return
        try:
            Path(path).write_text(f"{os.getpid()}\n")
        except OSError as error:
            self.log(events.PidFileFailed(path, error.strerror or str(error)))

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self.faults.survived_callback)
        # A terminal that closes, and a peer that goes, end no daemon.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "SIGINT")):
            loop.add_signal_handler(number, self.ending.signal, name)

    def _apply_settings(self) -> None:
        """Hand every setting that a machine or shell keeps to its keeper."""
        settings = self.node.settings
        options = self._options
        options.diskless = settings.repl_diskless_sync
        options.diskless_delay_s = float(settings.repl_diskless_sync_delay)
        options.diskless_max_replicas = settings.repl_diskless_sync_max_replicas
        options.max_concurrent_syncs = settings.repl_max_concurrent_syncs
        options.dialects = dialects_of(settings)
        options.ping_period_s = float(settings.repl_ping_replica_period)
        # The append-only file and subscribers are readers of the stream, so it stays while there may be one.
        kept = settings.appendonly or bool(settings.stream_port)
        options.backlog_ttl_s = 0 if kept else settings.repl_backlog_ttl
        session = options.session
        session.timeout_s = float(settings.repl_timeout)
        limit = settings.client_output_buffer_limit.replica
        session.hard_limit_bytes, session.soft_limit_bytes = limit.hard_bytes, limit.soft_bytes
        session.soft_limit_s = float(limit.soft_seconds)
        backlog = self.node.replication.backlog
        if backlog.capacity != settings.repl_backlog_size:
            before = backlog.capacity
            backlog.resize(settings.repl_backlog_size)
            self.event_log(BacklogResized(backlog.capacity, before, backlog.start))
        self.node.process.hz = settings.hz
        self.node.review_settings()
        self.node.review_guard()
        self.log.level = Level.named(settings.loglevel)
        self.event_log.settings_changed()
        self.clients.settings_changed()
        self.replicas.settings_changed()
        self.roles.settings_changed()
        if self.streams is not None:
            self.streams.settings_changed()
