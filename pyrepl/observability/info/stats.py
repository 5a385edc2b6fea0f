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
        gauge("instantaneous_ops_per_sec", _of(lambda s: int(s.ops.per_second)), "Commands executed now.", "1/s"),
        counter("total_net_input_bytes", _of(lambda s: s.total_net_input_bytes), "Read, the stream too.", "bytes"),
        counter("total_net_output_bytes", _of(lambda s: s.total_net_output_bytes), "Written, the stream too.", "bytes"),
        counter("total_net_repl_input_bytes", _of(lambda s: s.total_net_repl_input_bytes), "From our master.", "bytes"),
        counter("total_net_repl_output_bytes", _of(lambda s: s.total_net_repl_output_bytes), "To replicas.", "bytes"),
        gauge("instantaneous_input_kbps", _of(lambda s: s.input.per_second / 1024), "Read now.", "KiB/s"),
        gauge("instantaneous_output_kbps", _of(lambda s: s.output.per_second / 1024), "Written now.", "KiB/s"),
        gauge(
            "instantaneous_input_repl_kbps", _of(lambda s: s.repl_input.per_second / 1024), "From our master.", "KiB/s"
        ),
        gauge(
            "instantaneous_output_repl_kbps", _of(lambda s: s.repl_output.per_second / 1024), "To replicas.", "KiB/s"
        ),
        counter("rejected_connections", _of(lambda s: s.rejected_connections), "Refused at maxclients."),
        counter(
            "tls_handshakes_failed",
            _of(lambda s: s.tls_handshakes_failed),
            "Connections to ports with TLS that ended before the handshake did; the log says why.",
        ),
        counter("sync_full", _sync(lambda c: c.full), "Full resyncs given to replicas."),
        counter("sync_partial_ok", _sync(lambda c: c.partial_ok), "Partial resyncs given."),
        counter("sync_partial_err", _sync(lambda c: c.partial_err), "Partial resyncs asked for and refused."),
        Rows("sync_full_<cause>", _full_by_cause, "Full resyncs given, by why the replica could not be continued."),
        counter("expired_subkeys", lambda node: node.keyspace.expired_fields_count, "Hash fields expired."),
        counter("expired_keys", lambda node: node.keyspace.expired_keys_count, "Keys expired."),
        constant("expired_stale_perc", 0.0, "Not estimated."),
        constant("expired_time_cap_reached_count", 0, "Not counted."),
        constant("expire_cycle_cpu_milliseconds", 0, "Not measured."),
        counter("evicted_keys", _of(lambda s: s.evicted_keys), "Keys evicted."),
        counter("evicted_clients", _of(lambda s: s.evicted_clients), "Clients cut for maxmemory-clients."),
        counter("evicted_scripts", lambda node: node.scripts.evicted, "Scripts of EVAL that the cache has dropped."),
        counter("total_eviction_exceeded_time", _exceeded_ms(0), "Time over maxmemory.", "ms"),
        gauge("current_eviction_exceeded_time", _exceeded_ms(1), "Time over maxmemory since it was last kept.", "ms"),
        counter("keyspace_hits", lambda node: node.keyspace.hits, "Look-ups of readers that found a key."),
        counter("keyspace_misses", lambda node: node.keyspace.misses, "Look-ups of readers that found none."),
        gauge("pubsub_channels", lambda node: node.pubsub.channels_count, "Channels somebody listens to."),
        gauge("pubsub_patterns", lambda node: node.pubsub.patterns_count, "Patterns somebody listens to."),
        gauge(
            "pubsubshard_channels", lambda node: node.pubsub.shard_channels_count, "Shard channels somebody listens to."
        ),
        gauge("latest_fork_usec", _of(lambda s: s.latest_fork_usec), "How long the last fork took.", "us"),
        counter("total_forks", _of(lambda s: s.total_forks), "Children made."),
        constant("migrate_cached_sockets", 0, "MIGRATE keeps no connection."),
        gauge(
            "slave_expires_tracked_keys",
            lambda node: sum(len(db.own_ttls) for db in node.keyspace.databases),
            "Keys with a time to live that clients wrote to this replica; it ends them itself.",
        ),
        constant("active_defrag_hits", 0, "Nothing is defragmented."),
        constant("active_defrag_misses", 0, "Nothing is defragmented."),
        constant("active_defrag_key_hits", 0, "Nothing is defragmented."),
        constant("active_defrag_key_misses", 0, "Nothing is defragmented."),
        constant("total_active_defrag_time", 0, "Nothing is defragmented."),
        constant("current_active_defrag_time", 0, "Nothing is defragmented."),
        gauge("tracking_total_keys", lambda node: node.tracking.keys_count, "Keys that clients may hold."),
        gauge("tracking_total_items", lambda node: node.tracking.items_count, "Keys, once for each client."),
        gauge("tracking_total_prefixes", lambda node: node.tracking.prefixes_count, "Prefixes for BCAST."),
        counter(
            "unexpected_error_replies",
            _of(lambda s: s.unexpected_error_replies),
            "Commands of our master's stream that failed here.",
        ),
        counter(
            "unknown_replicated_commands",
            _of(lambda s: s.unknown_replicated_commands),
            "Commands of our master's stream that we do not know.",
        ),
        counter("total_error_replies", _of(lambda s: s.total_error_replies), "Error replies, refusals too."),
        constant("dump_payload_sanitizations", 0, "Payloads are decoded, so they need no separate check."),
        counter("total_reads_processed", _of(lambda s: s.total_reads_processed), "Reads from sockets."),
        counter("total_writes_processed", _of(lambda s: s.total_writes_processed), "Writes to sockets."),
        constant("io_threaded_reads_processed", 0, "There are no I/O threads."),
        constant("io_threaded_writes_processed", 0, "There are no I/O threads."),
        counter(
            "client_query_buffer_limit_disconnections",
            _of(lambda s: s.client_query_buffer_limit_disconnections),
            "Clients closed over client-query-buffer-limit.",
        ),
        counter(
            "client_output_buffer_limit_disconnections",
            _of(lambda s: s.client_output_buffer_limit_disconnections),
            "Clients closed over client-output-buffer-limit.",
        ),
        counter("acl_access_denied_auth", _refused(Refused.AUTH), "Logins with a wrong name or password."),
        counter("acl_access_denied_cmd", _refused(Refused.COMMAND), "Commands refused to their users."),
        counter("acl_access_denied_key", _refused(Refused.KEY), "Commands refused for their keys."),
        counter("acl_access_denied_channel", _refused(Refused.CHANNEL), "Commands refused for their channels."),
        counter(
            "acl_access_denied_tls_cert",
            _refused(Refused.TLS_CERT),
            "Certificates that named no user (Redis 8.6, Valkey 9.0).",
        ),
    ),
)
