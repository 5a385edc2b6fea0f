"""Directives that Redis and Valkey have and pyrepl has no use for: accepted, so that a real redis.conf works.

The names are those of CONFIG GET * in Redis 7.0.15, Redis 8.2.3 and Valkey 8.0.1 and of their redis.conf files, less
those that have a row in directives.py. They are kept as given and have no effect. Whoever sets them is told so: by one
notice at start that names them all, and by a line in the log after CONFIG SET. CONFIG GET shows the default of Redis
8.2.3 where none was given, as tools look for names that every Redis has; those that mean something in a cluster only
are shown once they were given.

REFUSED are those that somebody would rely on: a protection, a place for data or for the log, a whole kind of commands.
They may only be switched off.
"""

from __future__ import annotations

from typing import Final

_CLUSTER: Final = "pyrepl is no cluster"
_THREADS: Final = "pyrepl executes commands on one thread"
_MEMORY: Final = "Python looks after memory"
_SYSTEM: Final = "pyrepl leaves that to the system"
_SCRIPTS: Final = "scripts are what those of Redis 7 are"
_SESSIONS: Final = "OpenSSL's cache of sessions stays as it is: 20480 of them"

_BY_REASON: Final[tuple[tuple[str, str], ...]] = (
    (
        _MEMORY,
        "active-defrag-cycle-max active-defrag-cycle-min active-defrag-ignore-bytes active-defrag-max-scan-fields"
        " active-defrag-threshold-lower active-defrag-threshold-upper activedefrag activerehashing disable-thp"
        " jemalloc-bg-thread",
    ),
    (
        _CLUSTER,
        "availability-zone cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down"
        " cluster-allow-replica-migration cluster-announce-bus-port cluster-announce-client-ipv4"
        " cluster-announce-client-ipv6 cluster-announce-hostname cluster-announce-human-nodename cluster-announce-ip"
        " cluster-announce-port cluster-announce-tls-port cluster-blacklist-ttl cluster-compatibility-sample-ratio"
        " cluster-config-file cluster-enabled cluster-link-sendbuf-limit cluster-migration-barrier"
        " cluster-node-timeout cluster-port cluster-preferred-endpoint-type cluster-replica-no-failover"
        " cluster-replica-validity-factor cluster-require-full-coverage cluster-slave-no-failover"
        " cluster-slave-validity-factor cluster-slot-stats-enabled",
    ),
    (
        _THREADS,
        "events-per-io-thread io-threads io-threads-do-reads prefetch-batch-max-size"
        " vset-force-single-threaded-execution",
    ),
    (
        _SYSTEM,
        "aof-rewrite-cpulist aof_rewrite_cpulist bgsave-cpulist bgsave_cpulist bio-cpulist bio_cpulist"
        " oom-score-adj oom-score-adj-values server-cpulist server_cpulist",
    ),
    (
        _SCRIPTS,
        "lua-enable-deprecated-api lua-replicate-commands",
    ),
    (
        _SESSIONS,
        "tls-session-cache-size tls-session-cache-timeout",
    ),
    (
        "files are written and removed in pyrepl's own way",
        "aof-disable-auto-gc aof-rewrite-incremental-fsync rdb-save-incremental-fsync",
    ),
    (
        "the log shows no values: it names keys that cannot be read, and shows the first bytes of what is no protocol",
        "hide-user-data-from-log",
    ),
    ("every payload is checked in full, as with yes", "sanitize-dump-payload"),
    ("a replica does as its master says whether its disk works or not", "replica-ignore-disk-write-errors"),
    ("pyrepl compares texts byte by byte", "locale-collate"),
    ("pyrepl packs lists by list-max-listpack-size", "list-max-ziplist-entries list-max-ziplist-value"),
    (
        "pyrepl does that in its own way",
        "always-show-logo crash-log-enabled crash-memcheck-enabled dynamic-hz extended-redis-compatibility"
        " ignore-warnings max-new-connections-per-cycle maxmemory-eviction-tenacity"
        " proc-title-template set-proc-title watchdog-period",
    ),
)

ACCEPTED: Final[dict[str, str]] = {name: why for why, names in _BY_REASON for name in names.split()}
"""Name, in lower case -> why it has no effect."""

REFUSED: Final[dict[str, str]] = {
    "daemonize": "pyrepl stays in the foreground; remove the line, and run it under systemd (conf/pyrepl.service) or"
    " with & behind the command",
    "cluster-enabled": "pyrepl is no cluster; remove the line, and let Sentinel or FAILOVER move the master's role",
    "loadmodule": "pyrepl has no modules; remove the line",
}
"""Name -> why, and what to do. A value that switches the thing off (`is_off`) is accepted as without effect."""

DEFAULTS: Final[dict[str, str]] = {
    "active-defrag-cycle-max": "25",
    "active-defrag-cycle-min": "1",
    "active-defrag-ignore-bytes": "104857600",
    "active-defrag-max-scan-fields": "1000",
    "active-defrag-threshold-lower": "10",
    "active-defrag-threshold-upper": "100",
    "activedefrag": "no",
    "activerehashing": "yes",
    "always-show-logo": "no",
    "aof-rewrite-cpulist": "",
    "aof-rewrite-incremental-fsync": "yes",
    "aof_rewrite_cpulist": "",
    "bgsave-cpulist": "",
    "bgsave_cpulist": "",
    "bio-cpulist": "",
    "bio_cpulist": "",
    "cluster-enabled": "no",
    "crash-log-enabled": "yes",
    "crash-memcheck-enabled": "yes",
    "daemonize": "no",
    "disable-thp": "yes",
    "dynamic-hz": "yes",
    "hide-user-data-from-log": "no",
    "ignore-warnings": "",
    "io-threads": "1",
    "jemalloc-bg-thread": "yes",
    "locale-collate": "",
    "max-new-connections-per-cycle": "10",
    "maxmemory-eviction-tenacity": "10",
    "oom-score-adj": "no",
    "oom-score-adj-values": "0 200 800",
    "proc-title-template": "{title} {listen-addr} {server-mode}",
    "rdb-save-incremental-fsync": "yes",
    "replica-ignore-disk-write-errors": "no",
    "sanitize-dump-payload": "no",
    "server-cpulist": "",
    "server_cpulist": "",
    "set-proc-title": "yes",
    "tls-session-cache-size": "20480",
    "tls-session-cache-timeout": "300",
    "vset-force-single-threaded-execution": "no",
}
"""Name of ACCEPTED or REFUSED -> what CONFIG GET shows while it was not given: the default of Redis 8.2.3."""

_SWITCHED_OFF: Final[frozenset[bytes]] = frozenset({b"", b"0", b"no"})


def is_off(word: bytes) -> bool:
    """Does this word ask nothing of a directive of REFUSED?"""
    return word.lower() in _SWITCHED_OFF
