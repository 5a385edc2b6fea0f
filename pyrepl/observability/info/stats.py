"""INFO stats: counters since the start or the last CONFIG RESETSTAT, and rates of the last moments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pyrepl.acl.denial import Refused
from pyrepl.node.node import Node
from pyrepl.node.stats import Stats
from pyrepl.observability.info.field import Rows, Section, Value, constant, counter, gauge
from pyrepl.replication.roster import SyncCounters


def _of(read: Callable[[Stats], Value]) -> Callable[[Node], Value]:
    return lambda node: read(node.stats)


def _refused(reason: Refused) -> Callable[[Node], Value]:
    return lambda node: node.acl_log.refused[reason]


def _sync(read: Callable[[SyncCounters], int]) -> Callable[[Node], Value]:
    return lambda node: read(node.replication.roster.counters)


def _exceeded_ms(which: int) -> Callable[[Node], Value]:
    return lambda node: node.memory.exceeded_ms(node.process.now)[which]


def _full_by_cause(node: Node) -> Iterator[tuple[str, str]]:
    for cause, count in node.replication.roster.counters.full_by_cause.items():
        yield f"sync_full_{cause.value}", str(count)


STATS: Final = Section(
    "Stats",
    (
        counter("total_connections_received", _of(lambda s: s.total_connections_received), "Connections accepted."),
        counter("total_commands_processed", _of(lambda s: s.total_commands_processed), "Commands executed."),
        gauge(
            "instantaneous_ops_per_sec", _of(lambda s: int(s.ops.per_second)), "Commands executed a second, now.", "1/s"
        ),
        counter(
            "total_net_input_bytes", _of(lambda s: s.total_net_input_bytes), "Bytes read from all connections.", "bytes"
        ),
        counter(
            "total_net_output_bytes",
            _of(lambda s: s.total_net_output_bytes),
            "Bytes written to all connections.",
            "bytes",
        ),
        counter(
            "total_net_repl_input_bytes",
            _of(lambda s: s.total_net_repl_input_bytes),
            "What was read from the master.",
            "bytes",
        ),
        counter(
            "total_net_repl_output_bytes",
            _of(lambda s: s.total_net_repl_output_bytes),
            "What was written to replicas.",
            "bytes",
        ),
        gauge(
            "instantaneous_input_kbps",
            _of(lambda s: s.input.per_second / 1024),
            "What is read from all connections now.",
            "KiB/s",
        ),
        gauge(
            "instantaneous_output_kbps",
            _of(lambda s: s.output.per_second / 1024),
            "What is written to all connections now.",
            "KiB/s",
        ),
        gauge(
            "instantaneous_input_repl_kbps",
            _of(lambda s: s.repl_input.per_second / 1024),
            "What was read from the master.",
            "KiB/s",
        ),
        gauge(
            "instantaneous_output_repl_kbps",
            _of(lambda s: s.repl_output.per_second / 1024),
            "What was written to replicas.",
            "KiB/s",
        ),
        counter(
            "rejected_connections",
            _of(lambda s: s.rejected_connections),
            "Connections refused, as maxclients was reached.",
        ),
        counter(
            "tls_handshakes_failed",
            _of(lambda s: s.tls_handshakes_failed),
            "Connections to ports with TLS that ended before the handshake did; the log says why.",
        ),
        counter("sync_full", _sync(lambda c: c.full), "Full resyncs of replicas."),
        counter("sync_partial_ok", _sync(lambda c: c.partial_ok), "Partial resyncs of replicas."),
        counter(
            "sync_partial_err",
            _sync(lambda c: c.partial_err),
            "Partial resyncs that replicas asked for and did not get.",
        ),
        Rows(
            "sync_full_<cause>",
            _full_by_cause,
            "Full resyncs of replicas, by the cause for which a partial one was not possible.",
        ),
        counter("expired_subkeys", lambda node: node.keyspace.expired_fields_count, "Fields of hashes that expired."),
        counter("expired_keys", lambda node: node.keyspace.expired_keys_count, "Keys that expired."),
        constant("expired_stale_perc", 0.0, "Always 0: it is not estimated."),
        constant("expired_time_cap_reached_count", 0, "Always 0: it is not counted."),
        constant("expire_cycle_cpu_milliseconds", 0, "Always 0: it is not measured."),
        counter("evicted_keys", _of(lambda s: s.evicted_keys), "Keys that were evicted."),
        counter("evicted_clients", _of(lambda s: s.evicted_clients), "Clients that were closed by maxmemory-clients."),
        counter("evicted_scripts", lambda node: node.scripts.evicted, "Scripts of EVAL that the cache has dropped."),
        counter(
            "total_eviction_exceeded_time",
            _exceeded_ms(0),
            "Time for which used_memory was above maxmemory, in all.",
            "ms",
        ),
        gauge(
            "current_eviction_exceeded_time",
            _exceeded_ms(1),
            "Time for which used_memory has been above maxmemory now; 0 if it is not.",
            "ms",
        ),
        counter(
            "keyspace_hits", lambda node: node.keyspace.hits, "Look-ups by commands that read, which found the key."
        ),
        counter(
            "keyspace_misses", lambda node: node.keyspace.misses, "Look-ups by commands that read, which found no key."
        ),
        gauge("pubsub_channels", lambda node: node.pubsub.channels_count, "Channels with subscribers."),
        gauge("pubsub_patterns", lambda node: node.pubsub.patterns_count, "Patterns with subscribers."),
        gauge(
            "pubsubshard_channels", lambda node: node.pubsub.shard_channels_count, "Shard channels with subscribers."
        ),
        gauge("latest_fork_usec", _of(lambda s: s.latest_fork_usec), "How long the last fork took.", "us"),
        counter("total_forks", _of(lambda s: s.total_forks), "Children that were forked."),
        constant("migrate_cached_sockets", 0, "Always 0: MIGRATE keeps no connection."),
        gauge(
            "slave_expires_tracked_keys",
            lambda node: sum(len(db.own_ttls) for db in node.keyspace.databases),
            "Keys with a time to live that clients wrote to this replica, and which the replica itself expires.",
        ),
        constant("active_defrag_hits", 0, "Always 0: pyrepl does not defragment."),
        constant("active_defrag_misses", 0, "Always 0: pyrepl does not defragment."),
        constant("active_defrag_key_hits", 0, "Always 0: pyrepl does not defragment."),
        constant("active_defrag_key_misses", 0, "Always 0: pyrepl does not defragment."),
        constant("total_active_defrag_time", 0, "Always 0: pyrepl does not defragment."),
        constant("current_active_defrag_time", 0, "Always 0: pyrepl does not defragment."),
        gauge(
            "tracking_total_keys",
            lambda node: node.tracking.keys_count,
            "Keys that clients with CLIENT TRACKING may hold.",
        ),
        gauge(
            "tracking_total_items",
            lambda node: node.tracking.items_count,
            "Keys that clients with CLIENT TRACKING may hold, once for each client.",
        ),
        gauge(
            "tracking_total_prefixes", lambda node: node.tracking.prefixes_count, "Prefixes of CLIENT TRACKING BCAST."
        ),
        counter(
            "unexpected_error_replies",
            _of(lambda s: s.unexpected_error_replies),
            "Commands of the master's stream that failed here.",
        ),
        counter(
            "unknown_replicated_commands",
            _of(lambda s: s.unknown_replicated_commands),
            "Commands of the master's stream that this node does not know.",
        ),
        counter(
            "total_error_replies",
            _of(lambda s: s.total_error_replies),
            "Error replies, also for commands that were refused.",
        ),
        constant("dump_payload_sanitizations", 0, "Always 0: what RESTORE gets is checked as it is decoded."),
        counter("total_reads_processed", _of(lambda s: s.total_reads_processed), "Reads from sockets."),
        counter("total_writes_processed", _of(lambda s: s.total_writes_processed), "Writes to sockets."),
        constant("io_threaded_reads_processed", 0, "There are no I/O threads."),
        constant("io_threaded_writes_processed", 0, "There are no I/O threads."),
        counter(
            "client_query_buffer_limit_disconnections",
            _of(lambda s: s.client_query_buffer_limit_disconnections),
            "Clients that were closed by client-query-buffer-limit.",
        ),
        counter(
            "client_output_buffer_limit_disconnections",
            _of(lambda s: s.client_output_buffer_limit_disconnections),
            "Clients that were closed by client-output-buffer-limit.",
        ),
        counter("acl_access_denied_auth", _refused(Refused.AUTH), "Logins with a wrong name or password."),
        counter(
            "acl_access_denied_cmd",
            _refused(Refused.COMMAND),
            "Commands that users were refused, as they may not run them.",
        ),
        counter("acl_access_denied_key", _refused(Refused.KEY), "Commands that users were refused for their keys."),
        counter(
            "acl_access_denied_channel",
            _refused(Refused.CHANNEL),
            "Commands that users were refused for their channels.",
        ),
        counter(
            "acl_access_denied_tls_cert",
            _refused(Refused.TLS_CERT),
            "Certificates that named no user (Redis 8.6, Valkey 9.0).",
        ),
    ),
)
