"""A node's settings and state as records of the event log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import final

from pyrepl.config.settings import Settings
from pyrepl.node.node import Node
from pyrepl.observability.eventlog.record import Record
from pyrepl.observability.eventlog.records import ReplicaSample, Sample, SettingsInForce, StreamSample
from pyrepl.replication.events import SessionState
from pyrepl.replication.session import Session
from pyrepl.replication.syncbuffer import sync_buffer_limit


def settings_in_force(settings: Settings, machine_bytes: int) -> SettingsInForce:
    """What decides the cost of a sync; no secret is among it. `machine_bytes` is the memory of the machine."""
    limit = settings.client_output_buffer_limit.replica
    return SettingsInForce(
        backlog_size_bytes=settings.repl_backlog_size,
        backlog_ttl_s=settings.repl_backlog_ttl,
        output_hard_bytes=limit.hard_bytes,
        output_soft_bytes=limit.soft_bytes,
        output_soft_s=limit.soft_seconds,
        sync_buffer_limit_bytes=sync_buffer_limit(settings, machine_bytes),
        repl_timeout_s=settings.repl_timeout,
        diskless=settings.repl_diskless_sync,
        diskless_delay_s=settings.repl_diskless_sync_delay,
        diskless_load=settings.repl_diskless_load,
        rdb_channel=settings.repl_rdb_channel,
        dual_channel=settings.dual_channel_replication_enabled,
        max_concurrent_syncs=settings.repl_max_concurrent_syncs,
        sync_max_bytes_per_s=settings.repl_sync_max_bytes_per_second,
        maxmemory_bytes=settings.maxmemory,
        sample_period_s=settings.event_log_sample_period,
    )


@final
class Sampler:
    """Takes samples; rates are those since the one before."""

    def __init__(self, node: Node, sync_of: Callable[[int], str | None], now: float) -> None:
        """`sync_of` gives the name of the sync by which the replica with a session's id came."""
        self._node = node
        self._sync_of = sync_of
        self._last_at = now
        self._last_changes = node.keyspace.dirty
        self._last_end = node.replication.backlog.end
        self._last_rows = node.streams.rows_sent

    def take(self, now: float) -> Iterator[Record]:
        """The node, its change streams if they are to be had, then each of its replicas."""
        elapsed_s = max(1e-6, now - self._last_at)
        self._last_at = now
        yield self._sample(now, elapsed_s)
        if self._node.streams.port:
            yield self._streams(elapsed_s)
        end = self._node.replication.backlog.end
        for session in self._node.replication.roster.sessions.values():
            yield self._replica(session, end, now)

    def _sample(self, now: float, elapsed_s: float) -> Sample:
        node = self._node
        replication = node.replication
        backlog, roster = replication.backlog, replication.roster
        changes, end = node.keyspace.dirty - self._last_changes, backlog.end - self._last_end
        self._last_changes, self._last_end = node.keyspace.dirty, backlog.end
        link = replication.link
        last_io_at = link.progress.last_io_at if link is not None else None
        return Sample(
            backlog_start_offset=backlog.start,
            backlog_bytes=backlog.end - backlog.start,
            backlog_size_bytes=backlog.capacity,
            replicas=len(roster.sessions),
            output_bytes=roster.pending_bytes,
            sync_buffer_bytes=replication.buffer_use.size_bytes,
            rss_bytes=node.process.rss_bytes,
            keys=node.keyspace.key_count,
            clients=len(node.clients),
            # A stream that begins anew may stand further left than the one before it.
            writes_per_s=round(max(0, changes) / elapsed_s, 3),
            stream_bytes_per_s=round(max(0, end) / elapsed_s, 3),
            link_up=link.is_up if link is not None else None,
            link_idle_s=round(now - last_io_at, 3) if last_io_at is not None else None,
        )

    def _streams(self, elapsed_s: float) -> StreamSample:
        streams = self._node.streams
        rows = streams.rows_sent - self._last_rows
        self._last_rows = streams.rows_sent
        return StreamSample(
            subscribers=len(streams.subscribers),
            subscribers_ever=streams.total_connections,
            subscribers_rejected=streams.rejected_connections,
            subscribers_cut=streams.cut_for_output,
            rows_per_s=round(rows / elapsed_s, 3),
            unread_bytes=streams.output_bytes,
        )

    def _replica(self, session: Session, end: int, now: float) -> ReplicaSample:
        return ReplicaSample(
            peer=session.address,
            phase=_phase(session),
            lag_bytes=max(0, end - session.ack_cut),
            lag_s=round(session.lag_s(now), 3),
            output_bytes=session.pending_bytes(end),
            sync=self._sync_of(session.id),
        )


def _phase(session: Session) -> str:
    """As INFO's slave0:state, but load while an online replica has not acknowledged its snapshot: how far behind it is
    nobody knows before that. One that came by SYNC never acknowledges."""
    loads = session.state is SessionState.ONLINE and session.awaits_first_ack and not session.uses_sync
    return "load" if loads else session.state.wire_name
