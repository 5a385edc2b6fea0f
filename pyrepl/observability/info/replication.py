"""INFO replication, in the order of Redis 8.2: our master if we have one, our replicas, our stream.

Offsets here are the wire's: bytes are numbered from 1, so a cut is shown as it is where Redis states "so many bytes",
and plus one where it names the first byte of something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from pyrepl.node.node import Node
from pyrepl.observability.info.field import Field, Rows, Section, Value, flag, gauge, text
from pyrepl.replication.link import Link
from pyrepl.replication.progress import TransferProgress

_NO_OFFSET: Final = 1
"""What Redis shows as a replica's offset while it has no stream."""


def _is_replica(node: Node) -> bool:
    return node.replication.role.is_replica


def _transfers(node: Node) -> bool:
    link = node.replication.link
    return link is not None and link.is_syncing


def _is_up(node: Node) -> bool:
    return _is_replica(node) and node.replication.link_is_up


def _is_down(node: Node) -> bool:
    return _is_replica(node) and not node.replication.link_is_up


def _link(name: str, read: Callable[[Link, float], Value], help: str, unit: str = "") -> Field:
    """A line that a replica has; `read` gets monotonic seconds too."""

    def value(node: Node) -> Value:
        link = node.replication.link
        return read(link, node.process.now) if link is not None else 0

    return gauge(name, value, help, unit, when=_is_replica)


def _transfer(name: str, read: Callable[[TransferProgress, float], Value], help: str, unit: str) -> Field:
    """A line that is there while a snapshot comes or is loaded."""

    def value(node: Node) -> Value:
        link = node.replication.link
        transfer = link.progress.transfer if link is not None else None
        return read(transfer, node.process.now) if transfer is not None else 0

    return gauge(name, value, help, unit, when=_transfers)


def _silence_s(link: Link, now: float) -> int:
    last_io_at = link.progress.last_io_at
    return int(now - last_io_at) if link.is_up and last_io_at is not None else -1


def _up_s(node: Node) -> int:
    link = node.replication.link
    since = link.progress.up_since if link is not None else None
    return int(node.process.now - since) if since is not None else -1


def _down_s(node: Node) -> int:
    link = node.replication.link
    since = link.progress.down_since if link is not None else None
    return int(node.process.now - since) if since is not None else -1


def _next_try_s(link: Link, now: float) -> int:
    wait_s = link.progress.next_try_in_s(now)
    return -1 if wait_s is None else round(wait_s)


def _eta_s(transfer: TransferProgress, now: float) -> int:
    eta_s = transfer.eta_s(now)
    return -1 if eta_s is None else round(eta_s)


def _connected_replicas(node: Node) -> int:
    return sum(session.is_replica for session in node.replication.roster.sessions.values())


def _replicas(node: Node) -> Iterator[tuple[str, str]]:
    sessions = [session for session in node.replication.roster.sessions.values() if session.is_replica]
    for number, session in enumerate(sessions):
        lag_s = int(session.lag_s(node.process.now))
        yield (
            f"slave{number}",
            f"ip={session.ip},port={session.told.listening_port},state={session.state.wire_name},"
            f"offset={session.ack_cut},lag={lag_s},type={session.channel}",
        )


def _counts_good_replicas(node: Node) -> bool:
    settings = node.settings
    return settings.min_replicas_to_write > 0 and settings.min_replicas_max_lag > 0


def _good_replicas(node: Node) -> int:
    return node.replication.roster.good_replicas(node.settings.min_replicas_max_lag, node.process.now)


def _second_offset(node: Node) -> int:
    fork = node.replication.history.fork
    return -1 if fork is None else fork + 1


def _first_byte(node: Node) -> int:
    backlog = node.replication.backlog
    return backlog.start + 1 if backlog.active else 0


REPLICATION: Final = Section(
    "Replication",
    (
        text("role", lambda node: "slave" if _is_replica(node) else "master", "master, or slave for a replica."),
        text(
            "master_host",
            lambda node: node.replication.master_host,
            "The master that this node follows.",
            when=_is_replica,
        ),
        gauge(
            "master_port",
            lambda node: node.replication.master_port,
            "The master that this node follows.",
            when=_is_replica,
        ),
        text(
            "master_link_status",
            lambda node: "up" if node.replication.link_is_up else "down",
            "up while the stream flows.",
            when=_is_replica,
        ),
        _link(
            "master_last_io_seconds_ago",
            _silence_s,
            "Time since the master last sent anything; -1: the link is down.",
            "s",
        ),
        flag(
            "master_sync_in_progress", _transfers, "A snapshot of the master is received or loaded.", when=_is_replica
        ),
        _link(
            "slave_read_repl_offset",
            lambda link, now: _NO_OFFSET if link.read_offset is None else link.read_offset,
            "Offset up to which the master's stream was read.",
            "bytes",
        ),
        _link(
            "slave_repl_offset",
            lambda link, now: _NO_OFFSET if link.held is None else link.held,
            "Offset up to which the master's stream was applied.",
            "bytes",
        ),
        _link(
            "replica_full_sync_buffer_size",
            lambda link, now: link.buffer_use.size_bytes,
            "Stream that is held now while a snapshot loads.",
            "bytes",
        ),
        _link(
            "replica_full_sync_buffer_peak",
            lambda link, now: link.buffer_use.peak_bytes,
            "The most of the stream that was ever held while a snapshot loaded.",
            "bytes",
        ),
        _link(
            "replica_full_sync_buffer_limit",
            lambda link, now: link.options.sync_buffer_limit_bytes,
            "If so much of the stream is held, the replica stops reading it until the snapshot is loaded.",
            "bytes",
        ),
        _link(
            "replicas_repl_buffer_size",
            lambda link, now: link.buffer_use.size_bytes,
            "replica_full_sync_buffer_size, by the name that Valkey has for it.",
            "bytes",
        ),
        _link(
            "replicas_repl_buffer_peak",
            lambda link, now: link.buffer_use.peak_bytes,
            "replica_full_sync_buffer_peak, by the name that Valkey has for it.",
            "bytes",
        ),
        _transfer(
            "master_sync_total_bytes",
            lambda t, now: t.total_bytes or 0,
            "Size of the snapshot; 0 if not known.",
            "bytes",
        ),
        _transfer(
            "master_sync_read_bytes", lambda t, now: t.read_bytes, "What was received of the snapshot so far.", "bytes"
        ),
        _transfer(
            "master_sync_left_bytes",
            lambda t, now: t.left_bytes or 0,
            "What is still to come of the snapshot; 0 if not known.",
            "bytes",
        ),
        _transfer(
            "master_sync_perc", lambda t, now: t.percent or 0.0, "What was received of the snapshot so far.", "percent"
        ),
        _transfer(
            "master_sync_bytes_per_sec",
            lambda t, now: int(t.bytes_per_s(now)),
            "Rate at which the snapshot comes now.",
            "bytes/s",
        ),
        _transfer(
            "master_sync_eta_seconds",
            _eta_s,
            "Time until the whole snapshot is there, at that rate; -1 if not known.",
            "s",
        ),
        _transfer(
            "master_sync_last_io_seconds_ago",
            lambda t, now: int(now - t.last_io_at),
            "Time since the master last sent anything of the snapshot.",
            "s",
        ),
        _link(
            "master_current_sync_attempts",
            lambda link, now: link.progress.current_sync_attempts,
            "Connections to the master that were tried since the link was last up.",
        ),
        _link(
            "master_total_sync_attempts",
            lambda link, now: link.progress.total_sync_attempts,
            "Connections to the master that were tried.",
        ),
        gauge("master_link_up_since_seconds", _up_s, "For how long the link is up.", "s", when=_is_up),
        gauge("master_link_down_since_seconds", _down_s, "For how long the link is down.", "s", when=_is_down),
        _link(
            "total_disconnect_time_sec",
            lambda link, now: int(link.progress.total_disconnect_s(now)),
            "Time for which the link was down, in all.",
            "s",
        ),
        _link("master_last_sync_error", lambda link, now: link.progress.last_sync_error, "Why the link last failed."),
        _link(
            "master_next_try_in_seconds",
            _next_try_s,
            "Time until the next connection to the master is tried; -1: none is planned.",
            "s",
        ),
        gauge(
            "slave_priority",
            lambda node: node.settings.replica_priority,
            "Priority by which Sentinel chooses the replica to promote.",
            when=_is_replica,
        ),
        flag(
            "slave_read_only",
            lambda node: node.settings.replica_read_only,
            "Writes of clients are refused.",
            when=_is_replica,
        ),
        flag(
            "replica_announced",
            lambda node: node.settings.replica_announced,
            "Sentinel shows this replica to clients.",
            when=_is_replica,
        ),
        gauge("connected_slaves", _connected_replicas, "Replicas that are connected."),
        gauge(
            "min_slaves_good_slaves",
            _good_replicas,
            "Replicas that acknowledged within min-replicas-max-lag.",
            when=_counts_good_replicas,
        ),
        Rows(
            "slave<n>",
            _replicas,
            "Per replica: address, state, acknowledged offset, seconds since it last sent anything.",
        ),
        text("master_failover_state", lambda node: node.replication.failover.state.value, "How far a FAILOVER is."),
        text("master_replid", lambda node: node.replication.history.replid, "Replication id of this node's stream."),
        text(
            "master_replid2",
            lambda node: node.replication.history.replid2,
            "Replication id that the stream had before; zeros for none.",
        ),
        gauge(
            "master_repl_offset",
            lambda node: node.replication.backlog.end,
            "End of this node's stream: how many bytes it has.",
            "bytes",
        ),
        gauge(
            "second_repl_offset",
            _second_offset,
            "Offset of the first byte that master_replid2 does not cover; -1 without master_replid2.",
        ),
        gauge(
            "replicas_waiting_psync",
            lambda node: node.replication.roster.waiting_psync,
            "Replicas that got a snapshot and have not asked for the stream after it (Valkey's dual channel).",
        ),
        flag("repl_backlog_active", lambda node: node.replication.backlog.active, "The backlog keeps the stream."),
        gauge(
            "repl_backlog_size",
            lambda node: node.replication.backlog.capacity,
            "Size of the backlog, as configured.",
            "bytes",
        ),
        gauge(
            "repl_backlog_first_byte_offset",
            _first_byte,
            "Offset of the oldest byte in the backlog; 0 if the backlog is empty.",
        ),
        gauge(
            "repl_backlog_histlen", lambda node: node.replication.backlog.held_bytes, "Bytes in the backlog.", "bytes"
        ),
    ),
)
