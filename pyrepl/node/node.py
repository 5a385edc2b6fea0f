"""One node: everything that commands read and change and INFO shows, put together. The daemon makes it and acts for it.

What stands in the way of commands (a load, a pause, and the like) is summed up in `conditions`. Whoever owns such a
fact tells it there; the node itself tells of its role, its settings and MONITOR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.config.settings import Settings
from pyrepl.identity import Access
from pyrepl.keyspace.database import Expiry, Keyspace
from pyrepl.node.client import Client
from pyrepl.node.conditions import Condition, Conditions
from pyrepl.node.event_log import EventLogUse
from pyrepl.node.memory_limit import MemoryLimit
from pyrepl.node.pause import Pause
from pyrepl.node.persistence import Persistence
from pyrepl.node.pubsub import PubSub
from pyrepl.node.replication import Replication
from pyrepl.node.slowlog import Slowlog
from pyrepl.node.stats import Stats
from pyrepl.node.streams import StreamState
from pyrepl.node.waiting import Waiting
from pyrepl.resp.reply import Reply, Simple
from pyrepl.words import quote_word

REDACTED: Final = b"(redacted)"


@final
class Process:
    """Facts about the process that the shell measures and INFO shows. Sizes in bytes, times as named."""

    def __init__(self, pid: int, run_id: str, started_unix_s: int, started_at: float) -> None:
        self.pid = pid
        self.run_id = run_id
        self.started_unix_s = started_unix_s
        self.started_at = started_at
        """Monotonic seconds."""
        self.now = started_at
        """Monotonic seconds of the present batch; the shell keeps it up to date."""
        self.tcp_port = 0
        self.config_file = ""
        self.executable = ""
        self.argv: list[str] = []
        self.hz = 10
        self.os = ""
        """As `uname -srm` prints it."""
        self.rss_bytes = 0
        self.peak_used_bytes = 0
        self.peak_used_unix_s = 0
        self.startup_bytes = 0
        """Taken before any data was loaded; the program's files, which the system maps, are not part of it."""
        self.total_system_bytes = 0
        self.cpu_sys_s = 0.0
        self.cpu_user_s = 0.0
        self.cpu_sys_children_s = 0.0
        self.cpu_user_children_s = 0.0
        self.loop = "uvloop"
        self.python = ""
        self.supervised = "no"
        """By whom: systemd, or no."""


@final
class Node:
    """The state of a node.

    Invariants: `clients` holds each open connection's Client under its id; what is derived from settings and from the
    role is up to date, as long as settings are changed by `change_settings`.
    """

    def __init__(
        self,
        settings: Settings,
        process: Process,
        replication: Replication,
    ) -> None:
        self.settings = settings
        self.process = process
        self.keyspace = Keyspace(settings.databases)
        self.conditions = Conditions()
        self.memory = MemoryLimit(self.keyspace, self.conditions)
        self.replication = replication
        self.stats = Stats()
        self.slowlog = Slowlog(settings.slowlog_log_slower_than, settings.slowlog_max_len)
        self.persistence = Persistence(process.started_unix_s, self.conditions)
        self.event_log = EventLogUse()
        self.pubsub = PubSub()
        self.pause = Pause(self.conditions)
        self.waiting = Waiting()
        self.streams = StreamState()
        self.clients: dict[int, Client] = {}
        self.monitors: set[int] = set()
        """Ids of the clients that see all commands; changed by `begin_monitor` and `end_monitor`."""
        self.deliveries: list[tuple[int, Reply]] = []
        """(client id, reply) that go to other clients than the one served; the daemon drains it after each batch."""
        self.functions: list[bytes] = []
        """Function libraries that came with a snapshot, as text: kept for the next one, not executed."""
        self.active_expire = True
        """DEBUG SET-ACTIVE-EXPIRE."""
        self.slow_limit_s = 0.0
        """Seconds; a command that takes as long is put into the slow log."""
        self.lazy_expire = False
        self.tracks_latencies = False
        self._derive()
        replication.role.watch(self._follow_role)
        self._follow_role()

    @property
    def access(self) -> Access:
        """Who may come in by the client port: `requirepass`."""
        return Access(self.settings.requirepass)

    @property
    def is_loading(self) -> bool:
        """Commands that are not marked for it are refused (a swapdb load keeps serving and is not meant)."""
        loading = self.persistence.loading
        return loading is not None and not loading.asynchronous

    @property
    def refuses_writes(self) -> bool:
        return self.replication.role.refuses_writes(self.settings.replica_read_only)

    @property
    def link_is_stale(self) -> bool:
        replication = self.replication
        serves = self.settings.replica_serve_stale_data
        return replication.role.refuses_stale(serves, link_is_up=replication.link_is_up)

    @property
    def too_few_replicas(self) -> bool:
        """min-replicas-to-write is on and not met."""
        wanted = self.settings.min_replicas_to_write
        if not wanted or not self.settings.min_replicas_max_lag or not self.replication.role.guards_writes:
            return False
        return self.replication.roster.good_replicas(self.settings.min_replicas_max_lag, self.process.now) < wanted

    @property
    def must_not_write_to_disk_error(self) -> bool:
        """stop-writes-on-bgsave-error: save points are set and the last BGSAVE failed."""
        settings = self.settings
        return (
            not self.persistence.last_bgsave_ok
            and bool(settings.save)
            and settings.stop_writes_on_bgsave_error
            and self.replication.role.guards_writes
        )

    @property
    def drops_expired_on_load(self) -> bool:
        """Is a key that has expired left out when a snapshot is loaded? At a start the role comes after the load, so
        the configured one counts as well."""
        return self.replication.role.deletes_expired and self.settings.replicaof is None

    @property
    def expiry(self) -> Expiry:
        """What a client's lookup does with a key whose time has passed."""
        return Expiry.DELETE if self.replication.role.deletes_expired else Expiry.HIDE

    @property
    def stream_end(self) -> int:
        """The cut at the end of our replication stream: master_repl_offset."""
        return self.replication.backlog.end

    def change_settings(self, names: Sequence[str], values: Sequence[object]) -> None:
        """Set directives (canonical names) while the node runs, and whatever is derived from settings here. What the
        process outside derives from them follows when it is told `SettingsChanged`."""
        for name, value in zip(names, values, strict=True):
            self.settings.assign(name, value)
        self._derive()
        self.memory.follow(self.settings, evicts=self.replication.role.evicts)

    def begin_monitor(self, client: Client) -> None:
        """MONITOR: from now on the client sees every command that is executed."""
        client.is_monitor = True
        self.monitors.add(client.id)
        self.conditions.note(Condition.MONITORED, True)

    def end_monitor(self, client: Client) -> None:
        """The client sees other clients' commands no more. Harmless if it saw none."""
        client.is_monitor = False
        self.monitors.discard(client.id)
        self.conditions.note(Condition.MONITORED, bool(self.monitors))

    def _derive(self) -> None:
        """Bring up to date what settings decide alone."""
        settings = self.settings
        threshold_us = settings.slowlog_log_slower_than
        self.slowlog.threshold_us = threshold_us
        self.slowlog.resize(settings.slowlog_max_len)
        self.slow_limit_s = threshold_us / 1e6 if threshold_us >= 0 else float("inf")
        self.lazy_expire = settings.lazyfree_lazy_expire
        self.tracks_latencies = settings.latency_tracking
        self.conditions.note(Condition.WANTS_REPLICAS, settings.min_replicas_to_write > 0)

    def _follow_role(self) -> None:
        """Bring up to date what the role decides; the role calls it."""
        role = self.replication.role
        self.keyspace.expiry = self.expiry
        self.conditions.note(Condition.REPLICA, role.is_replica)
        self.memory.follow(self.settings, evicts=role.evicts)

    def note_slow(self, client: Client, argv: list[bytes], now_ms: int, elapsed_s: float) -> None:
        self.slowlog.add(argv, now_ms // 1000, int(elapsed_s * 1e6), client.addr, client.name)

    def count_slices(self, client: Client, wire_name: str, argv: list[bytes], elapsed_s: float) -> None:
        """A command that was executed in slices is done, after so much work on all of them together."""
        row = self.stats.of(wire_name)
        row.seconds += elapsed_s
        if self.tracks_latencies:
            row.latencies.note(elapsed_s)
        if elapsed_s >= self.slow_limit_s:
            self.note_slow(client, argv, self.keyspace.now_ms, elapsed_s)

    def show_monitors(self, client: Client, argv: list[bytes], *, secret: bool) -> None:
        """Queue the line that MONITOR prints for a command; arguments of one that carries a secret are redacted."""
        now_ms = self.keyspace.now_ms
        where = "lua" if client.is_master_link and not client.addr else client.addr
        words = [argv[0], *([REDACTED] * (len(argv) - 1))] if secret else argv
        shown = b" ".join(quote_word(word) for word in words)
        head = b"%d.%06d [%d %b] " % (now_ms // 1000, now_ms % 1000 * 1000, client.db_index, where.encode())
        line = Simple(head + shown)
        self.deliveries.extend((monitor, line) for monitor in self.monitors)
