"""INFO persistence: snapshots, and a load in progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyrepl.node.event_log import EventLogUse
from pyrepl.node.node import Node
from pyrepl.node.persistence import AofState, Loading, Persistence
from pyrepl.observability.info.field import Field, Section, Value, constant, counter, flag, gauge, text


def _of(read: Callable[[Persistence], Value]) -> Callable[[Node], Value]:
    return lambda node: read(node.persistence)


def _is_async_loading(node: Node) -> bool:
    loading = node.persistence.loading
    return loading is not None and loading.asynchronous


def _is_loading_anything(node: Node) -> bool:
    return node.persistence.loading is not None


def _bgsave_s(node: Node) -> int:
    started_at = node.persistence.bgsave_started_at
    return -1 if started_at is None else int(node.process.now - started_at)


def _saved_percent(node: Node) -> float:
    persistence = node.persistence
    if not persistence.bgsave_in_progress or not persistence.child_keys_total:
        return 0.0
    return 100.0 * persistence.child_keys_done / persistence.child_keys_total


def _rewrite_s(node: Node) -> int:
    started_at = node.persistence.aof.rewrite_started_at
    return -1 if started_at is None else int(node.process.now - started_at)


def _aof(name: str, read: Callable[[AofState], Value], help: str, unit: str = "") -> Field:
    """A line that is there while an append-only file is kept."""
    return gauge(
        name, lambda node: read(node.persistence.aof), help, unit, when=lambda node: node.persistence.aof.enabled
    )


def _event_log(name: str, read: Callable[[EventLogUse], Value], help: str, unit: str = "") -> Field:
    """A line that is there while an event log is written."""
    return gauge(name, lambda node: read(node.event_log), help, unit, when=lambda node: node.event_log.enabled)


def _load(name: str, read: Callable[[Loading, float], Value], help: str, unit: str = "") -> Field:
    """A line that is there while a load runs; `read` gets monotonic seconds too."""

    def value(node: Node) -> Value:
        loading = node.persistence.loading
        return read(loading, node.process.now) if loading is not None else 0

    return gauge(name, value, help, unit, when=_is_loading_anything)


PERSISTENCE: Final = Section(
    "Persistence",
    (
        flag("loading", lambda node: node.is_loading, "The data set is being loaded; most commands are refused."),
        flag(
            "async_loading",
            _is_async_loading,
            "A master's data set is being loaded beside the old one, which is served.",
        ),
        constant("current_cow_peak", 0, "Always 0: it is not measured while a child runs."),
        constant("current_cow_size", 0, "Always 0: it is not measured while a child runs."),
        constant("current_cow_size_age", 0, "Always 0: it is not measured while a child runs."),
        gauge(
            "current_fork_perc",
            _saved_percent,
            "Keys that the child has written, of all that it has to write.",
            "percent",
        ),
        gauge("current_save_keys_processed", _of(lambda p: p.child_keys_done), "Keys that the child has written."),
        gauge(
            "current_save_keys_total",
            _of(lambda p: p.child_keys_total if p.bgsave_in_progress else 0),
            "Keys that the child has to write.",
        ),
        gauge(
            "rdb_changes_since_last_save",
            lambda node: node.keyspace.dirty - node.persistence.dirty_at_last_save,
            "Changes since the last snapshot on disk.",
        ),
        flag("rdb_bgsave_in_progress", lambda node: node.persistence.bgsave_in_progress, "A snapshot child runs."),
        gauge("rdb_last_save_time", _of(lambda p: p.last_save_unix_s), "Unix time of the last snapshot on disk.", "s"),
        text(
            "rdb_last_bgsave_status",
            lambda node: "ok" if node.persistence.last_bgsave_ok else "err",
            "How the last snapshot child ended.",
        ),
        gauge("rdb_last_bgsave_time_sec", _of(lambda p: p.last_bgsave_s), "How long the last child took.", "s"),
        gauge("rdb_current_bgsave_time_sec", _bgsave_s, "For how long the child has run; -1 if none runs.", "s"),
        counter("rdb_saves", _of(lambda p: p.saves), "Snapshots on disk since the start."),
        gauge(
            "rdb_last_cow_size",
            _of(lambda p: p.last_cow_bytes),
            "Memory that was copied while the last child ran.",
            "bytes",
        ),
        gauge(
            "rdb_last_load_keys_expired",
            _of(lambda p: p.last_load_keys_expired),
            "Keys that the last load left out, as they had expired.",
        ),
        gauge("rdb_last_load_keys_loaded", _of(lambda p: p.last_load_keys_loaded), "Keys that the last load brought."),
        flag("aof_enabled", lambda node: node.persistence.aof.enabled, "An append-only file is kept."),
        flag(
            "aof_rewrite_in_progress",
            lambda node: node.persistence.aof.rewrite_started_at is not None,
            "The append-only file is being rewritten.",
        ),
        flag(
            "aof_rewrite_scheduled",
            lambda node: node.persistence.aof.rewrite_scheduled,
            "A rewrite waits for another child.",
        ),
        gauge("aof_last_rewrite_time_sec", _of(lambda p: p.aof.last_rewrite_s), "How long the last child took.", "s"),
        gauge("aof_current_rewrite_time_sec", _rewrite_s, "For how long the child has run; -1 if none runs.", "s"),
        text(
            "aof_last_bgrewrite_status",
            lambda node: "ok" if node.persistence.aof.last_rewrite_ok else "err",
            "How the last rewrite ended.",
        ),
        counter("aof_rewrites", _of(lambda p: p.aof.rewrites), "Rewrites that succeeded since the start."),
        gauge(
            "aof_rewrites_consecutive_failures",
            _of(lambda p: p.aof.consecutive_failures),
            "Rewrites that failed since one succeeded.",
        ),
        text(
            "aof_last_write_status",
            lambda node: "err" if node.persistence.aof.write_error else "ok",
            "How the last write to the append-only file went; err: writes of clients are refused.",
        ),
        gauge(
            "aof_last_cow_size",
            _of(lambda p: p.aof.last_cow_bytes),
            "Memory that was copied while the last child ran.",
            "bytes",
        ),
        constant("module_fork_in_progress", 0, "There are no modules."),
        constant("module_fork_last_cow_size", 0, "There are no modules."),
        _aof("aof_current_size", lambda aof: aof.current_bytes, "Size of all append-only files together.", "bytes"),
        _aof(
            "aof_base_size",
            lambda aof: aof.base_bytes,
            "Size of all append-only files after the last rewrite or start.",
            "bytes",
        ),
        _aof("aof_pending_rewrite", lambda aof: int(aof.rewrite_scheduled), "A rewrite waits for another child."),
        _aof("aof_buffer_length", lambda aof: aof.buffer_bytes, "Bytes not written yet.", "bytes"),
        _aof("aof_pending_bio_fsync", lambda aof: int(aof.is_syncing), "Fsyncs that are under way."),
        _aof("aof_delayed_fsync", lambda aof: aof.delayed_fsyncs, "Writes that came while an fsync took long."),
        flag("event_log_enabled", lambda node: node.event_log.enabled, "An event log is written."),
        _event_log(
            "event_log_current_size",
            lambda use: use.file_bytes,
            "Size of the file that the event log writes to.",
            "bytes",
        ),
        _event_log("event_log_written", lambda use: use.written, "Lines of the event log written since the start."),
        _event_log(
            "event_log_dropped",
            lambda use: use.dropped,
            "Lines of the event log that are lost, as the disk did not take them.",
        ),
        _event_log("event_log_buffer_length", lambda use: use.waiting_bytes, "Bytes not written yet.", "bytes"),
        _event_log(
            "event_log_last_write_status",
            lambda use: "err" if use.write_error else "ok",
            "How the last write to the event log went.",
        ),
        _load("loading_start_time", lambda load, now: load.started_unix_s, "Unix time at which the load began.", "s"),
        _load(
            "loading_total_bytes",
            lambda load, now: load.total_bytes,
            "Size of what is loaded; 0 if not known.",
            "bytes",
        ),
        _load(
            "loading_rdb_used_mem",
            lambda load, now: 0,
            "Memory used when the file was made; 0, as it is not known.",
            "bytes",
        ),
        _load("loading_loaded_bytes", lambda load, now: load.loaded_bytes, "What was loaded so far.", "bytes"),
        _load("loading_loaded_perc", lambda load, now: load.percent, "What was loaded so far.", "percent"),
        _load(
            "loading_eta_seconds",
            lambda load, now: load.eta_seconds(now),
            "Time until the load is done, at the rate so far.",
            "s",
        ),
    ),
)
