"""One node: all state that commands read and change and that INFO shows. The daemon makes it, and does what needs a
clock, a socket or a disk.

`conditions` sums up the facts that keep commands from being simply executed (a load, a pause, and the like). The owner
of each such fact notes it there; the node itself notes its role, its settings and MONITOR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.acl.guessing import Guesses
from pyrepl.acl.log import AclLog
from pyrepl.acl.users import Change, Users
from pyrepl.config.settings import Settings
from pyrepl.keyspace.database import Expiry, Keyspace
from pyrepl.node.client import Client
from pyrepl.node.command_log import CommandLog
from pyrepl.node.conditions import Condition, Conditions
from pyrepl.node.event_log import EventLogUse
from pyrepl.node.functions import Functions
from pyrepl.node.hotkeys import Below, CpuTimes, HotKeys, Plan
from pyrepl.node.latency_monitor import COMMAND, FAST_COMMAND, LatencyMonitor
from pyrepl.node.mailboxes import MailboxFigures
from pyrepl.node.memory_limit import MemoryLimit
from pyrepl.node.migrating import NoTarget, Target
from pyrepl.node.notifications import Notifications
from pyrepl.node.pause import Pause
from pyrepl.node.persistence import Persistence
from pyrepl.node.pubsub import PubSub
from pyrepl.node.replication import Replication
from pyrepl.node.scripts import Scripts
from pyrepl.node.stats import Stats
from pyrepl.node.streams import StreamState
from pyrepl.node.tracking import Tracking
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
        """Monotonic seconds of the present batch; the daemon keeps it up to date."""
        self.tcp_port = 0
        self.tls_port = 0
        """Ports for clients that are open; 0 for none."""
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
        """The memory of the process before any data was loaded, without the program's files, which the system maps."""
        self.total_system_bytes = 0
        self.cpu_sys_s = 0.0
        self.cpu_user_s = 0.0
        self.cpu_sys_children_s = 0.0
        self.cpu_user_children_s = 0.0
        self.loop = "uvloop"
        self.python = ""
        self.supervised = "no"
        """The supervisor: `systemd`, or `no`."""

    @property
    def any_port(self) -> int:
        """The port that the node is known by: the plain one, or tls-port if there is no other (Redis)."""
        return self.tcp_port or self.tls_port


@final
class Node:
    """The state of a node.

    Invariants: `clients` holds the Client of each open connection under its id. Fields that are derived from settings
    and from the role are up to date, as long as settings are changed by `change_settings`.
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
        self.scripts = Scripts(self.conditions)
        self.slowlog = CommandLog(settings.slowlog_log_slower_than, settings.slowlog_max_len)
        self.large_requests = CommandLog(-1, 0)
        self.large_replies = CommandLog(-1, 0)
        self.hotkeys: HotKeys | None = None
        """What HOTKEYS collects, or has collected."""
        self.latency_monitor = LatencyMonitor()
        self.persistence = Persistence(process.started_unix_s, self.conditions)
        self.event_log = EventLogUse()
        self.pubsub = PubSub()
        self.notifications = Notifications(self.keyspace, self.pubsub, self.conditions)
        self.pause = Pause(self.conditions)
        self.waiting = Waiting(self.keyspace, self.conditions)
        self.streams = StreamState()
        self.mailboxes: MailboxFigures | None = None
        """None on a node that keeps no mailboxes."""
        self.clients: dict[int, Client] = {}
        self.users = Users()
        """The users that clients may be. `requirepass` is the password of one of them, `default`."""
        self.acl_log = AclLog(settings.acllog_max_len)
        self.guesses = Guesses()
        self.monitors: set[int] = set()
        """Ids of the clients that see all commands; changed by `begin_monitor` and `end_monitor`."""
        self.deliveries: list[tuple[int, Reply]] = []
        """(client id, message) for other clients than the one served; the daemon sends them after each batch."""
        self.functions = Functions()
        self.target: Target = NoTarget()
        """The way to the servers that MIGRATE moves keys to."""
        self.tracking = Tracking(self.keyspace, self.clients, self.deliveries)
        self.active_expire = True
        """Are expired keys deleted although no command asks for them (DEBUG SET-ACTIVE-EXPIRE)?"""
        self.slow_limit_s = 0.0
        """A command that takes so many seconds or more is told to `note_slow`."""
        self._slowlog_limit_s = 0.0
        """A command that takes so many seconds or more is put into the slow log."""
        self.lazy_expire = False
        self.tracks_latencies = False
        self.hll_sparse_bytes = 0
        """A HyperLogLog that would be longer in its sparse form is dense."""
        self._derive()
        self.users.set_default_password(settings.requirepass)
        self.users.watch(self._follow_users)
        replication.role.watch(self._follow_role)
        self._follow_role()

    @property
    def is_loading(self) -> bool:
        """Does a load run during which most commands are refused? Not one of swapdb, which keeps serving the old
        data."""
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
        """Are there fewer good replicas than min-replicas-to-write asks for?"""
        wanted = self.settings.min_replicas_to_write
        if not wanted or not self.settings.min_replicas_max_lag or not self.replication.role.guards_writes:
            return False
        return self.replication.roster.good_replicas(self.settings.min_replicas_max_lag, self.process.now) < wanted

    @property
    def must_not_write_to_disk_error(self) -> bool:
        """stop-writes-on-bgsave-error: must writes be refused, as save points are set and the last BGSAVE failed?"""
        settings = self.settings
        return (
            not self.persistence.last_bgsave_ok
            and bool(settings.save)
            and settings.stop_writes_on_bgsave_error
            and self.replication.role.guards_writes
        )

    @property
    def drops_expired_on_load(self) -> bool:
        """Are expired keys left out when a snapshot is loaded? At the start the role is taken after the load, so
        `replicaof` counts as well."""
        return self.replication.role.deletes_expired and self.settings.replicaof is None

    @property
    def expiry(self) -> Expiry:
        """What a client's lookup does with a key whose time has passed."""
        deletes = self.replication.role.deletes_expired and not self.settings.import_mode
        return Expiry.DELETE if deletes else Expiry.HIDE

    def expiry_for(self, client: Client, *, writes: bool) -> Expiry:
        """What a lookup of this client's command does with a key whose time has passed.

        A client that writes must not find an expired key in its way. A replica removes it without a word; a master in
        import-mode tells its replicas.
        """
        if client.imports and self.settings.import_mode:
            return Expiry.IGNORE
        if not writes or self.keyspace.expiry is not Expiry.HIDE:
            return self.keyspace.expiry
        if not self.conditions.propagates:
            return Expiry.REMOVE
        return Expiry.DELETE if self.settings.import_mode else Expiry.HIDE

    @property
    def stream_end(self) -> int:
        """The cut at the end of our replication stream: master_repl_offset."""
        return self.replication.backlog.end

    def change_settings(self, names: Sequence[str], values: Sequence[object]) -> None:
        """Set directives (canonical names) while the node runs, and bring the fields derived from them up to date. The
        services of the daemon follow when they are told by the effect `SettingsChanged`."""
        for name, value in zip(names, values, strict=True):
            self.settings.assign(name, value)
        if "requirepass" in names:
            self.users.set_default_password(self.settings.requirepass)
        self._derive()
        self.memory.follow(self.settings, evicts=self.replication.role.evicts)

    @property
    def has_messages(self) -> bool:
        """Is there anything to send to other clients than the one served?"""
        return bool(self.deliveries) or self.tracking.is_pending

    def begin_monitor(self, client: Client) -> None:
        """MONITOR: from now on the client sees every command that is executed."""
        client.is_monitor = True
        self.monitors.add(client.id)
        self.conditions.note(Condition.MONITORED, True)

    def end_monitor(self, client: Client) -> None:
        """The client is no monitor any more. Harmless if it was none."""
        client.is_monitor = False
        self.monitors.discard(client.id)
        self.conditions.note(Condition.MONITORED, bool(self.monitors))

    def _derive(self) -> None:
        """Bring the fields up to date that follow from settings alone."""
        settings = self.settings
        threshold_us = settings.slowlog_log_slower_than
        self.slowlog.follow(threshold_us, settings.slowlog_max_len)
        requests, replies = self.large_requests, self.large_replies
        requests.follow(settings.commandlog_request_larger_than, settings.commandlog_large_request_max_len)
        replies.follow(settings.commandlog_reply_larger_than, settings.commandlog_large_reply_max_len)
        self._slowlog_limit_s = threshold_us / 1e6 if threshold_us >= 0 else float("inf")
        self.latency_monitor.follow(settings.latency_monitor_threshold)
        self.acl_log.follow(settings.acllog_max_len)
        self.users.opens_channels = settings.acl_pubsub_default == "allchannels"
        self._derive_measures()
        self.lazy_expire = settings.lazyfree_lazy_expire
        self.tracks_latencies = settings.latency_tracking
        self.hll_sparse_bytes = settings.hll_sparse_max_bytes
        self.conditions.note(Condition.WANTS_REPLICAS, settings.min_replicas_to_write > 0)
        self.conditions.note(Condition.IMPORTING, settings.import_mode)
        self.keyspace.expiry = self.expiry
        self.notifications.follow(settings.notify_keyspace_events)
        self.tracking.resize(settings.tracking_table_max_keys)

    def _follow_role(self) -> None:
        """Bring the fields up to date that follow from the role; the role calls this when it changes."""
        role = self.replication.role
        self.keyspace.expiry = self.expiry
        self.conditions.note(Condition.REPLICA, role.is_replica)
        self.memory.follow(self.settings, evicts=role.evicts)

    def _follow_users(self) -> None:
        """Look at all clients again: what their users may do has changed, or they need no password any more."""
        newcomer = self.users.newcomer()
        for client in self.clients.values():
            if client.identity.user is not None:
                client.identify(client.identity if client.authenticated else newcomer)

    def clients_to_end(self, change: Change) -> list[Client]:
        """The clients whose connections end by a change of the users: they were users that are gone, or listen to what
        their users may not hear any more."""
        lessened = dict(change.lessened)
        return [
            client
            for client in self.clients.values()
            if (user := client.identity.user) is not None
            and (user in change.gone or (user in lessened and client.listens_beyond(lessened[user])))
        ]

    def keep_users(self) -> None:
        """CONFIG REWRITE: make `user` say which users there are, unless a user file keeps them."""
        users, settings = self.users, self.settings
        is_said = bool(settings.aclfile) or users.are_plain(settings.requirepass)
        lines = () if is_said else tuple(tuple(line.split(b" ")[1:]) for line in users.lines())
        self.change_settings(("user",), (lines,))

    def note_slow(
        self,
        client: Client,
        argv: list[bytes],
        keys: list[bytes],
        now_ms: int,
        elapsed_s: float,
        *,
        is_fast: bool,
        is_logged: bool,
    ) -> None:
        """A command took `slow_limit_s` or longer: put it into the slow log, if it `is_logged`, and tell the latency
        monitor and HOTKEYS, as far as it took longer than each asks for."""
        hotkeys = self._collects(now_ms)
        if hotkeys is not None:
            hotkeys.note_time(keys, elapsed_s * 1e6)
        if is_logged and elapsed_s >= self._slowlog_limit_s:
            self.slowlog.add(argv, now_ms // 1000, int(elapsed_s * 1e6), client.addr, client.name)
        self.latency_monitor.note(FAST_COMMAND if is_fast else COMMAND, elapsed_s, now_ms)

    def _derive_measures(self) -> None:
        """Bring up to date how long a command may take without being told, and whether sizes are measured."""
        is_collecting = self.hotkeys is not None and self.hotkeys.is_running
        self.slow_limit_s = 0.0 if is_collecting else min(self._slowlog_limit_s, self.latency_monitor.limit_s)
        logs_sizes = max(self.large_requests.threshold, self.large_replies.threshold) >= 0
        self.conditions.note(Condition.MEASURED, is_collecting or logs_sizes)

    def begin_hotkeys(self, plan: Plan, now_ms: int, below: Below) -> bool:
        """HOTKEYS START: from now on `note_slow` and `note_sizes` hear of every command. False while one runs."""
        if self.hotkeys is not None and not self.hotkeys.has_ended(now_ms):
            return False
        self.hotkeys = HotKeys(plan, now_ms, CpuTimes(self.process.cpu_user_s, self.process.cpu_sys_s), below)
        self._derive_measures()
        return True

    def end_hotkeys(self, now_ms: int) -> bool:
        """HOTKEYS STOP. False if nothing runs."""
        if self.hotkeys is None or self.hotkeys.has_ended(now_ms):
            self._derive_measures()
            return False
        self.hotkeys.stop(now_ms)
        self._derive_measures()
        return True

    def forget_hotkeys(self) -> None:
        """HOTKEYS RESET."""
        self.hotkeys = None
        self._derive_measures()

    def _collects(self, now_ms: int) -> HotKeys | None:
        """What HOTKEYS collects now; what has reached its end is not told any more."""
        hotkeys = self.hotkeys
        if hotkeys is None:
            return None
        if hotkeys.has_ended(now_ms):
            self._derive_measures()
            return None
        return hotkeys

    def note_bytes(self, keys: list[bytes], now_ms: int, size: int) -> None:
        """A command with these keys had so many bytes on the wire, its reply included: tell HOTKEYS."""
        hotkeys = self._collects(now_ms)
        if hotkeys is not None:
            hotkeys.note_bytes(keys, size)

    def note_sizes(self, client: Client, argv: list[bytes], now_ms: int, request_bytes: int, reply_bytes: int) -> None:
        """A command was executed whose request and reply had so many bytes on the wire: note what is large."""
        for log, size in ((self.large_requests, request_bytes), (self.large_replies, reply_bytes)):
            if log.wants(size):
                log.add(argv, now_ms // 1000, size, client.addr, client.name)

    def count_slices(self, client: Client, wire_name: str, argv: list[bytes], elapsed_s: float) -> None:
        """A command that was executed in slices is done: count the `elapsed_s` of all its slices together."""
        row = self.stats.of(wire_name)
        row.seconds += elapsed_s
        if self.tracks_latencies:
            row.latencies.note(elapsed_s)
        if elapsed_s >= self.slow_limit_s:
            self.note_slow(client, argv, [], self.keyspace.now_ms, elapsed_s, is_fast=False, is_logged=True)

    def show_monitors(self, client: Client, argv: list[bytes], *, secret: bool) -> None:
        """Queue the line that MONITOR prints for a command. `secret` hides the arguments, which may be a password."""
        now_ms = self.keyspace.now_ms
        where = "lua" if client.is_master_link and not client.addr else client.addr
        words = [argv[0], *([REDACTED] * (len(argv) - 1))] if secret else argv
        shown = b" ".join(quote_word(word) for word in words)
        head = b"%d.%06d [%d %b] " % (now_ms // 1000, now_ms % 1000 * 1000, client.db_index, where.encode())
        line = Simple(head + shown)
        self.deliveries.extend((monitor, line) for monitor in self.monitors)
