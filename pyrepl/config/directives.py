"""Every directive that pyrepl acts on, one row each: kind and range, default, what it means to an operator.

Names, ranges and defaults are those of Redis 7.0 and 8.2 unless the help says otherwise; the names that Redis and
Valkey have beyond these stand in accepted.py. Groups with a file of their own: limits.py, tls.py, security.py,
watching.py, process.py, streams.py, mailboxes.py. Derived from the rows: Settings, parsing, CONFIG GET/SET/REWRITE,
`--directive value`, the commented sample.
"""

from __future__ import annotations

from typing import Any, Final

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    Addresses,
    Choice,
    Integer,
    KeyspaceEvents,
    Memory,
    OctalMode,
    RdbVersion,
    Renames,
    ReplicaOf,
    SavePoint,
    SavePoints,
    Secret,
    Text,
    YesNo,
)
from pyrepl.config.limits import Limits
from pyrepl.config.mailboxes import Mailboxes
from pyrepl.config.process import Process
from pyrepl.config.security import Security
from pyrepl.config.streams import Streams
from pyrepl.config.tls import Tls
from pyrepl.config.watching import Watching

KB: Final = 1024
MB: Final = 1024 * 1024
GB: Final = 1024 * 1024 * 1024

_ALWAYS_LAZY: Final = "what is large is freed a slice at a time, whatever this says"


class Network:
    """Network"""

    bind = Directive(
        Addresses(),
        ("*", "-::*"),
        "Addresses to listen on. With a - before an address the node starts even if this machine does"
        " not have that address.",
    )
    port = Directive(Integer(0, 65535), 6379, "TCP port; 0 opens none.")
    tcp_backlog = Directive(Integer(), 511, "Length of the queue of connections not yet accepted.", mutable=False)
    unixsocket = Directive(Text(), "", "Path of a Unix socket to listen on as well.", mutable=False)
    unixsocketperm = Directive(OctalMode(), 0, "Permissions of the Unix socket, octal; 0: by the umask.", mutable=False)
    protected_mode = Directive(
        YesNo(), True, "Refuse clients from other machines while there is no password, even if bind would let them in."
    )
    requirepass = Directive(Secret(), b"", "The password that clients and replicas must give.", secret=True)
    busy_reply_threshold = Directive(
        Integer(),
        5000,
        "Milliseconds that a script or function may run; after that, other clients get -BUSY and may end"
        " it; 0: no limit.",
        aliases=("lua-time-limit",),
    )
    lua_memory_limit = Directive(
        Memory(64 * MB),
        256 * MB,
        "How much memory all scripts and functions may take, the interpreter included. A script that needs more fails."
        " Not in Redis. It takes effect after SCRIPT FLUSH, or at the next start.",
    )
    tcp_keepalive = Directive(Integer(), 300, "Seconds between TCP keep-alives; 0: off.")
    enable_debug_command = Directive(
        Choice("no", "yes", "local"),
        "local",
        "Who may run DEBUG: nobody, anybody, or only clients on this machine (Redis's default is no).",
        mutable=False,
    )
    enable_module_command = Directive(
        Choice("no", "yes", "local"),
        "no",
        "Who may run MODULE LOAD, LOADEX and UNLOAD, which then say that pyrepl loads no modules: nobody, anybody, or"
        " only clients on this machine.",
        mutable=False,
    )
    enable_protected_configs = Directive(
        Choice("no", "yes", "local"), "no", "Who may change dir and dbfilename with CONFIG SET.", mutable=False
    )
    rename_command = Directive(
        Renames(),
        (),
        'Another name for a command, as in `rename-command CONFIG b840fc02d5`, or "" for none: no client'
        " can call it. Several lines add up. Replicas need the same lines, and so does each node that loads"
        " the append-only file: commands stand there as the clients wrote them. CONFIG GET does not show"
        " this directive.",
        mutable=False,
        unshown=True,
    )


class General:
    """General"""

    databases = Directive(Integer(1, INT_MAX), 16, "How many databases SELECT can choose from.", mutable=False)
    loglevel = Directive(
        Choice("debug", "verbose", "notice", "warning", "nothing"),
        "notice",
        "How much to log; notice suits production.",
    )
    logfile = Directive(Text(), "", "File to log to; empty: standard output.", mutable=False)
    log_format = Directive(
        Choice("legacy", "logfmt", "json"),
        "legacy",
        "Form of a line of the log: legacy as in Redis, logfmt (name=value), or json, an object for each line. As in"
        " Valkey.",
    )
    log_timestamp_format = Directive(
        Choice("legacy", "iso8601", "milliseconds"),
        "legacy",
        "Form of the time in a line of the log: legacy as in Redis, in the zone of the machine; iso8601, with the zone;"
        " milliseconds since 1970. As in Valkey.",
    )
    event_log = Directive(
        Text(needed=True),
        "none",
        "File for what happens to the node, as JSON lines with the numbers of every sync; none: no such log."
        " `pyrepl metrics` reads it. Not in Redis.",
        mutable=False,
    )
    event_log_max_bytes = Directive(
        Memory(),
        64 * MB,
        "Begin a new event log at so many bytes, the full one gets the time into its name; 0: never. Not in Redis.",
    )
    event_log_keep = Directive(Integer(), 16, "Full event logs that are kept, the newest; 0: all. Not in Redis.")
    event_log_sample_period = Directive(
        Integer(),
        10,
        "Seconds between two samples of lag, buffers and backlog in the event log; 0: none. Not in Redis.",
    )
    event_log_node = Directive(
        Text(),
        "",
        "The node's name in its event log; empty: replica-announce-ip or the host's name, and the port. Not in Redis.",
    )
    pidfile = Directive(Text(), "", "File to write the process id to; empty: none.", mutable=False)
    supervised = Directive(
        Choice("systemd", "auto", "no"),
        "no",
        "Tell systemd when the node is ready, what it does and when it ends: always, or (auto) if NOTIFY_SOCKET is set."
        " A unit needs Type=notify, as conf/pyrepl.service has.",
        mutable=False,
    )
    hz = Directive(Integer(0), 10, "Background work per second: expiry, time-outs (taken within 1 to 500).")
    shutdown_timeout = Directive(
        Integer(), 10, "Seconds that a shutdown waits for replicas to get the rest of the stream."
    )
    active_expire_effort = Directive(Integer(1, 10), 1, "How hard to look for expired keys nobody reads.")
    import_mode = Directive(
        YesNo(),
        False,
        "On a master: expired keys are kept until they are overwritten, and only clients that copy data"
        " here (CLIENT IMPORT-SOURCE ON) see them. As in Valkey 8.1. Set it back to no when the copy is"
        " complete.",
    )
    lazyfree_lazy_expire = Directive(YesNo(), False, "Propagate expired keys as UNLINK instead of DEL.")
    lazyfree_lazy_eviction = Directive(YesNo(), False, "Propagate evicted keys as UNLINK instead of DEL.")
    lazyfree_lazy_server_del = Directive(
        YesNo(), False, "Propagate what SPOP and RESTORE take away as UNLINK instead of DEL."
    )
    lazyfree_lazy_user_del = Directive(YesNo(), False, "DEL behaves like UNLINK.", inert=_ALWAYS_LAZY)
    lazyfree_lazy_user_flush = Directive(
        YesNo(), False, "FLUSHALL and FLUSHDB behave like their ASYNC forms.", inert=_ALWAYS_LAZY
    )
    huge_pages = Directive(
        YesNo(),
        True,
        "Take memory for keys and values in blocks of 2 MB, which Linux backs with one page each where it"
        " can: a fork takes a tenth of the time, and look-ups among millions of keys are quicker. Compiled"
        " form only. Not in Redis.",
        mutable=False,
    )
    notify_keyspace_events = Directive(
        KeyspaceEvents(),
        "",
        "Events of keys to publish: K (to __keyspace@<db>__:<key>), E (to __keyevent@<db>__:<event>), and"
        " classes: g generic, $ string, l list, s set, h hash, z sorted set, x expired, e evicted, t"
        " stream, A for all of these; m missed, n new, o overwritten, c type changed. Empty: none, which"
        " costs nothing.",
    )
    tracking_table_max_keys = Directive(
        Integer(0, 2**63 - 1),
        1000000,
        "Keys remembered for CLIENT TRACKING; for one more, clients are told to forget the oldest. 0: no limit.",
    )
    maxmemory = Directive(
        Memory(0, 2**64 - 1),
        0,
        "Most that the process may use, itself included (used_memory in INFO); 0: no limit. Buffers of replicas beyond"
        " the backlog do not count. Freed memory is used again, but Python rarely gives it back: used_memory_rss may be"
        " larger.",
    )
    maxmemory_policy = Directive(
        Choice(
            "volatile-lru",
            "volatile-lfu",
            "volatile-random",
            "volatile-ttl",
            "allkeys-lru",
            "allkeys-lfu",
            "allkeys-random",
            "noeviction",
        ),
        "noeviction",
        "What to evict at the memory limit. lru and lfu cost about 100 bytes a key.",
    )
    maxmemory_samples = Directive(Integer(1, 64), 5, "Keys looked at to find one to evict (lru, lfu and ttl).")
    lfu_log_factor = Directive(
        Integer(), 10, "How slowly the counters of lfu grow; with 10, about a million accesses fill one."
    )
    lfu_decay_time = Directive(Integer(), 1, "Minutes without access that take one from a counter of lfu; 0: never.")
    replica_ignore_maxmemory = Directive(
        YesNo(),
        True,
        "Whether maxmemory does not hold for a replica. With no, a replica that takes writes of clients"
        " refuses them at the limit. A replica evicts nothing by itself in either case.",
        aliases=("slave-ignore-maxmemory",),
    )


class Snapshots:
    """Snapshots"""

    dir = Directive(Text(needed=True), ".", "Working directory: the snapshot is read and written here.", protected=True)
    dbfilename = Directive(Text(path=False, needed=True), "dump.rdb", "File name of the snapshot.", protected=True)
    save = Directive(
        SavePoints(),
        (SavePoint(3600, 1), SavePoint(300, 100), SavePoint(60, 10000)),
        "Take a snapshot when so many seconds passed and so many writes were made; several pairs add"
        ' up, "" means never.',
    )
    stop_writes_on_bgsave_error = Directive(YesNo(), True, "Refuse writes after a snapshot failed, until one succeeds.")
    rdbcompression = Directive(YesNo(), True, "Compress long strings in snapshots (LZF).")
    rdbchecksum = Directive(YesNo(), True, "Write and check the snapshot's CRC-64.", mutable=False)
    rdb_version = Directive(
        RdbVersion(*range(1, 14), 80),
        None,
        "RDB version to write: auto takes the lowest that can hold the data, or the one a replica is known"
        " to read. Set a number for older readers (Redis 7.0 reads 10, Valkey 8 reads 11), or 13 where all"
        " replicas are Redis 8.6, as a Redis 8.6 does not always say that it reads 13. Not in Redis.",
    )
    rdb_version_check = Directive(
        Choice("strict", "relaxed"),
        "strict",
        "A snapshot or RESTORE in an RDB version above those known: strict refuses it; relaxed reads it up to the first"
        " type or opcode that is unknown, and refuses it there. As in Valkey 9.",
    )
    rdb_del_sync_files = Directive(YesNo(), False, "Delete snapshot files made only for a sync, if persistence is off.")
    snapshot_nice = Directive(
        Integer(0, 19),
        10,
        "By how much the priority of a child that writes a snapshot or an append-only file is lowered, as"
        " by nice(1): where both want the processor the node goes first, so clients wait less during a"
        " sync; 0: not at all. Not in Redis.",
    )
    rdb_key_save_delay = Directive(
        Integer(INT_MIN), 0, "For tests: microseconds to sleep per key saved; -n: once in n keys.", hidden=True
    )
    key_load_delay = Directive(
        Integer(INT_MIN), 0, "For tests: microseconds to sleep per key loaded; -n: once in n keys.", hidden=True
    )
    loading_process_events_interval_bytes = Directive(
        Memory(KB, INT_MAX), 2 * MB, "For tests: bytes loaded between two looks at the clients.", hidden=True
    )
    appendonly = Directive(YesNo(), False, "Append every write to a file as well, and load that at start.")
    appendfilename = Directive(
        Text(path=False, needed=True), "appendonly.aof", "What the append-only files' names begin with.", mutable=False
    )
    appenddirname = Directive(
        Text(path=False, needed=True), "appendonlydir", "The folder of the append-only files, in dir.", mutable=False
    )
    appendfsync = Directive(
        Choice("everysec", "always", "no"),
        "everysec",
        "When writes are forced to disk: each second, before they are acknowledged, or when the system likes.",
    )
    no_appendfsync_on_rewrite = Directive(
        YesNo(), False, "Force nothing to disk while a child writes: faster then, but a crash loses more."
    )
    auto_aof_rewrite_percentage = Directive(
        Integer(), 100, "Rewrite the append-only file once it grew by so many percent; 0: never by itself."
    )
    auto_aof_rewrite_min_size = Directive(
        Memory(), 64 * MB, "An append-only file of fewer bytes than this is not rewritten by itself."
    )
    aof_use_rdb_preamble = Directive(
        YesNo(),
        True,
        "A rewrite begins the append-only file with a snapshot: small and quick to load. no: with commands, as text.",
    )
    aof_load_truncated = Directive(
        YesNo(), True, "Start with a file that was cut by a crash: up to its last whole command. no: refuse to start."
    )
    aof_timestamp_enabled = Directive(
        YesNo(),
        False,
        "Write into the append-only file what time it is, each second in which it grows: redis-check-aof "
        "--truncate-to-timestamp can then cut it there.",
    )


class Replication:
    """Replication"""

    replicaof = Directive(ReplicaOf(), None, "The master to follow (host port).", aliases=("slaveof",), mutable=False)
    masterauth = Directive(Secret(), b"", "The master's password.", aliases=("primaryauth",), secret=True)
    masteruser = Directive(Secret(), b"", "The user to authenticate as at the master.", aliases=("primaryuser",))
    replica_read_only = Directive(YesNo(), True, "A replica refuses writes of clients.", aliases=("slave-read-only",))
    replica_serve_stale_data = Directive(
        YesNo(), True, "A replica answers reads while its link is down.", aliases=("slave-serve-stale-data",)
    )
    replica_priority = Directive(
        Integer(),
        100,
        "Sentinel promotes the replica with the lowest number; 0: never this one.",
        aliases=("slave-priority",),
    )
    replica_announced = Directive(YesNo(), True, "Whether Sentinel shows this replica to clients.")
    replica_announce_ip = Directive(
        Text(),
        "",
        "Address that the master shows for this replica; empty: the connection's.",
        aliases=("slave-announce-ip",),
    )
    replica_announce_port = Directive(
        Integer(0, 65535),
        0,
        "Port that the master shows for this replica; 0: the listening one.",
        aliases=("slave-announce-port",),
    )
    replica_lazy_flush = Directive(
        YesNo(),
        False,
        "Free the old data in the background before a full sync.",
        aliases=("slave-lazy-flush",),
        inert=_ALWAYS_LAZY,
    )
    replica_ignore_unknown_commands = Directive(
        YesNo(),
        False,
        "Skip commands of the master that this replica does not know, instead of stopping the link. The"
        " data will differ from the master's. Not in Redis.",
    )
    propagation_error_behavior = Directive(
        Choice("ignore", "panic", "panic-on-replicas"),
        "ignore",
        "What to do when a command of the master, or of the append-only file, fails here though it succeeded there: go"
        " on and say so; or stop the node, so that nobody reads data that differs (panic-on-replicas: not while the"
        " append-only file is loaded).",
    )
    replica_full_sync_buffer_limit = Directive(
        Memory(),
        0,
        "Limit of the stream held while a snapshot loads; 0: the hard limit of client-output-buffer-limit replica, and"
        " if that is 0 too, a quarter of maxmemory, or of the machine's memory where there is no maxmemory.",
    )
    repl_backlog_size = Directive(
        Memory(1),
        MB,
        "Bytes of the stream kept for replicas that come back. With too few, a link that was cut for a"
        " short time costs a full sync: take the write rate times the longest cut that shall not cost one.",
    )
    repl_backlog_ttl = Directive(
        Integer(), 3600, "Seconds after the last replica left until a master frees its backlog; 0: never."
    )
    repl_timeout = Directive(Integer(1), 60, "Seconds without a sign of life until a link is given up, on both ends.")
    repl_ping_replica_period = Directive(
        Integer(1), 10, "Seconds between the master's PINGs to replicas.", aliases=("repl-ping-slave-period",)
    )
    repl_diskless_sync = Directive(YesNo(), True, "Send the snapshot straight to the sockets, without a file.")
    repl_diskless_sync_delay = Directive(
        Integer(), 5, "Seconds a diskless sync waits for more replicas to share the snapshot."
    )
    repl_diskless_sync_max_replicas = Directive(
        Integer(),
        0,
        "A diskless sync that so many replicas wait for begins at once; 0: it always waits for"
        " repl-diskless-sync-delay.",
    )
    repl_sync_max_bytes_per_second = Directive(
        Memory(),
        0,
        "Send a snapshot to replicas no faster than this, so that a sync leaves the network to others; 0: as fast as"
        " it goes. Not in Redis.",
    )
    repl_max_concurrent_syncs = Directive(
        Integer(),
        0,
        "Make and send snapshots for no more replicas than this at a time; the others wait, and share the"
        " next one. This bounds the load when many replicas need a full sync at once; 0: no limit. Not in"
        " Redis.",
    )
    repl_diskless_load = Directive(
        Choice("disabled", "on-empty-db", "swapdb"),
        "disabled",
        "How a replica loads a snapshot: disabled, from a file; on-empty-db, straight from the socket if"
        " the replica has no data; swapdb, beside the old data (twice the memory). With swapdb the old data"
        " stays if the load fails, and clients are served from it meanwhile if the master's replication id"
        " is the one that the replica knows; otherwise clients get -LOADING.",
    )
    repl_disable_tcp_nodelay = Directive(
        YesNo(), False, "Send replicas fewer and larger packets, which come up to 40 ms later."
    )
    repl_rdb_channel = Directive(
        YesNo(),
        True,
        "Full sync on two connections, as Redis 8 does: the snapshot on one, the stream on the other meanwhile. Needs"
        " repl-diskless-sync on the master and the same directive at the other end.",
    )
    dual_channel_replication_enabled = Directive(
        YesNo(), False, "As repl-rdb-channel, with a Valkey 8 or later at the other end; pyrepl speaks both dialects."
    )
    min_replicas_to_write = Directive(
        Integer(),
        0,
        "Refuse writes while there are fewer good replicas than this; 0: off.",
        aliases=("min-slaves-to-write",),
    )
    min_replicas_max_lag = Directive(
        Integer(),
        10,
        "A replica is good if its last acknowledgement is at most so many seconds old.",
        aliases=("min-slaves-max-lag",),
    )


class Encodings:
    """Compact encodings"""

    hash_max_listpack_entries = Directive(
        Integer(0, LONG_MAX), 512, "Fields up to which a hash is compact.", aliases=("hash-max-ziplist-entries",)
    )
    hash_max_listpack_value = Directive(
        Memory(0), 64, "Bytes of a field or value up to which a hash is compact.", aliases=("hash-max-ziplist-value",)
    )
    list_max_listpack_size = Directive(
        Integer(INT_MIN),
        -2,
        "Elements in a node of a list, or -1 to -5 for 4, 8, 16, 32 and 64 KiB.",
        aliases=("list-max-ziplist-size",),
    )
    list_compress_depth = Directive(
        Integer(),
        0,
        "Nodes at either end of a list that stay uncompressed; 0: all.",
        inert="pyrepl does not compress the inside of lists",
    )
    set_max_intset_entries = Directive(Integer(0, LONG_MAX), 512, "Members up to which a set of integers is compact.")
    set_max_listpack_entries = Directive(Integer(0, LONG_MAX), 128, "Members up to which a set is compact.")
    set_max_listpack_value = Directive(Memory(0), 64, "Bytes of a member up to which a set is compact.")
    zset_max_listpack_entries = Directive(
        Integer(0, LONG_MAX), 128, "Members up to which a sorted set is compact.", aliases=("zset-max-ziplist-entries",)
    )
    zset_max_listpack_value = Directive(
        Memory(0), 64, "Bytes of a member up to which a sorted set is compact.", aliases=("zset-max-ziplist-value",)
    )
    hll_sparse_max_bytes = Directive(
        Memory(0), 3000, "Bytes beyond which a HyperLogLog becomes dense, which is 12 KiB; 0: each is dense."
    )
    stream_node_max_bytes = Directive(Memory(0), 4096, "Bytes in a node of a stream; 0: no limit.")
    stream_node_max_entries = Directive(Integer(0, LONG_MAX), 100, "Entries in a node of a stream; 0: no limit.")
    stream_idmp_duration = Directive(
        Integer(1, 86_400), 100, "Seconds for which a new stream keeps an idempotency id (XADD IDMP), as in Redis 8.6."
    )
    stream_idmp_maxsize = Directive(
        Integer(1, 10_000), 100, "Idempotency ids that a new stream keeps for each producer, as in Redis 8.6."
    )


class Directives(
    Network, Limits, Tls, Security, General, Watching, Process, Snapshots, Replication, Streams, Mailboxes, Encodings
):
    """All rows, as attributes."""


GROUPS: Final[tuple[tuple[str, tuple[Directive[Any], ...]], ...]] = tuple(
    (group.__doc__ or "", tuple(row for row in vars(group).values() if isinstance(row, Directive)))
    for group in (
        Network,
        Limits,
        Tls,
        Security,
        General,
        Watching,
        Process,
        Snapshots,
        Replication,
        Streams,
        Mailboxes,
        Encodings,
    )
)
"""(title, rows) in the order of this file."""

ROWS: Final[dict[str, Directive[Any]]] = {row.name: row for _, rows in GROUPS for row in rows}
"""Every row under its name, in the order of this file."""

ALIASES: Final[dict[str, Directive[Any]]] = {alias: row for row in ROWS.values() for alias in row.aliases}
"""Every row that has other spellings, under each of them."""


def find(name: str) -> Directive[Any] | None:
    """The row of a directive, whatever the case of its name and whichever spelling; None if there is none."""
    lowered = name.lower()
    return ROWS.get(lowered) or ALIASES.get(lowered)
