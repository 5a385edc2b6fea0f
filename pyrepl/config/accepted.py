"""Directives that Redis and Valkey have and pyrepl has no use for: accepted, so that a real redis.conf works.

The names are those of CONFIG GET * in Redis 7.0.15, Redis 8.2.3 and Valkey 8.0.1 and of their redis.conf files, less
those that have a row in directives.py. They are kept as given and have no effect; one notice at start names them all.

REFUSED are the few whose silent acceptance would leave a door open that the operator believes to be shut, or whoever
starts us waiting (daemonize).
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
    acl-pubsub-default acllog-max-len active-defrag-cycle-max active-defrag-cycle-min active-defrag-ignore-bytes
    active-defrag-max-scan-fields active-defrag-threshold-lower active-defrag-threshold-upper activedefrag
    activerehashing always-show-logo aof-disable-auto-gc aof-rewrite-cpulist
    aof-rewrite-incremental-fsync aof-timestamp-enabled aof_rewrite_cpulist
    availability-zone
    bgsave-cpulist bgsave_cpulist bind-source-addr bio-cpulist bio_cpulist busy-reply-threshold
    cluster-allow-pubsubshard-when-down cluster-allow-reads-when-down cluster-allow-replica-migration
    cluster-announce-bus-port cluster-announce-client-ipv4 cluster-announce-client-ipv6 cluster-announce-hostname
    cluster-announce-human-nodename cluster-announce-ip cluster-announce-port cluster-announce-tls-port
    cluster-blacklist-ttl cluster-compatibility-sample-ratio cluster-config-file cluster-enabled
    cluster-link-sendbuf-limit cluster-migration-barrier cluster-node-timeout cluster-port
    cluster-preferred-endpoint-type cluster-replica-no-failover cluster-replica-validity-factor
    cluster-require-full-coverage cluster-slave-no-failover cluster-slave-validity-factor
    cluster-slot-stats-enabled crash-log-enabled crash-memcheck-enabled disable-thp dynamic-hz
    enable-module-command events-per-io-thread extended-redis-compatibility hide-user-data-from-log
    hll-sparse-max-bytes ignore-warnings io-threads io-threads-do-reads jemalloc-bg-thread
    latency-monitor-threshold
    list-max-ziplist-entries list-max-ziplist-value loadmodule locale-collate lua-enable-deprecated-api
    lua-replicate-commands lua-time-limit max-new-connections-per-cycle max-new-tls-connections-per-cycle
    maxmemory-clients maxmemory-eviction-tenacity oom-score-adj
    oom-score-adj-values prefetch-batch-max-size proc-title-template
    rdb-save-incremental-fsync replica-ignore-disk-write-errors sanitize-dump-payload
    server-cpulist server_cpulist set-proc-title shutdown-on-sigint shutdown-on-sigterm
    socket-mark-id syslog-enabled syslog-facility syslog-ident tls-auth-clients tls-ca-cert-dir
    tls-ca-cert-file tls-cert-file tls-ciphers tls-ciphersuites tls-client-cert-file tls-client-key-file
    tls-client-key-file-pass tls-cluster tls-dh-params-file tls-key-file tls-key-file-pass tls-port
    tls-prefer-server-ciphers tls-protocols tls-replication tls-session-cache-size tls-session-cache-timeout
    tls-session-caching tracking-table-max-keys unixsocketgroup vset-force-single-threaded-execution
    watchdog-period
"""

ACCEPTED: Final[frozenset[str]] = frozenset(_NAMES.split())
"""Lower case."""
REFUSED: Final[dict[str, str]] = {
    "rename-command": "pyrepl cannot rename or disable commands yet; remove the line, and keep clients that must"
    " not use the command away by other means",
    "user": "pyrepl has no ACL yet: only requirepass protects it; remove the line",
    "aclfile": "pyrepl has no ACL yet: only requirepass protects it; remove the line",
    "daemonize": "pyrepl stays in the foreground; remove the line, and run it under systemd (conf/pyrepl.service) or"
    " with & behind the command",
    "tls-port": "pyrepl does not speak TLS yet; remove the line, or put a TLS proxy in front of the port",
    "tls-replication": "pyrepl does not speak TLS yet; remove the line, or reach the master through a TLS proxy",
}
"""Name -> why, and what to do. A value that switches the thing off (SWITCHED_OFF) is accepted as without effect."""

OPEN_USER_RULES: Final[frozenset[bytes]] = frozenset(
    {b"on", b"nopass", b"sanitize-payload", b"skip-sanitize-payload", b"allkeys", b"allchannels", b"allcommands"}
    | {b"~*", b"&*", b"+@all"}
)
"""Rules of a `user default` line that restrict nothing, as Redis's CONFIG REWRITE writes it: acceptable."""

SWITCHED_OFF: Final[frozenset[bytes]] = frozenset({b"", b"0", b"no"})
