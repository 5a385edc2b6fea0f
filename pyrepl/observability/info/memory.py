"""INFO memory. What is behind the numbers, and what they cannot say, is in memory_use.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyrepl.node.node import Node
from pyrepl.observability.info.field import Field, Kind, Section, Value, constant, counter, gauge, text
from pyrepl.observability.memory_use import MemoryUse, memory_use, used_bytes
from pyrepl.units import format_memory


def _use(read: Callable[[MemoryUse], Value]) -> Callable[[Node], Value]:
    return lambda node: read(memory_use(node))


def _human(name: str, read: Callable[[Node], int], help: str) -> tuple[Field, Field]:
    """A size, and the same for people."""
    return gauge(name, read, help, "bytes"), text(f"{name}_human", lambda node: format_memory(read(node)), help)


def _percent(name: str, read: Callable[[MemoryUse], float], help: str) -> Field:
    return Field(name, Kind.TEXT, lambda node: f"{read(memory_use(node)):.2f}%", help, "percent")


def _stream_bytes(node: Node) -> int:
    backlog = node.replication.backlog
    return backlog.memory_bytes if backlog.active else 0


def _vm_bytes(node: Node) -> int:
    return node.scripts.used_bytes + node.scripts.functions_used_bytes


def _lua_bytes(node: Node) -> int:
    return node.scripts.used_bytes


MEMORY: Final = Section(
    "Memory",
    (
        *_human(
            "used_memory",
            used_bytes,
            "Memory of the process at its start, the data and all buffers, by an estimate; see used_memory_rss.",
        ),
        *_human("used_memory_rss", lambda node: node.process.rss_bytes, "Memory that the process holds (RSS)."),
        *_human("used_memory_peak", lambda node: memory_use(node).peak, "The largest used_memory so far."),
        gauge(
            "used_memory_peak_time", lambda node: node.process.peak_used_unix_s, "Unix time of used_memory_peak.", "s"
        ),
        _percent("used_memory_peak_perc", lambda use: use.peak_percent, "used_memory as a part of used_memory_peak."),
        gauge("used_memory_overhead", _use(lambda use: use.overhead), "used_memory without the data.", "bytes"),
        gauge(
            "used_memory_startup",
            lambda node: node.process.startup_bytes,
            "Memory of the process at its start, before any data.",
            "bytes",
        ),
        gauge(
            "used_memory_dataset",
            _use(lambda use: use.dataset),
            "Memory of the data: used_memory less used_memory_overhead.",
            "bytes",
        ),
        _percent(
            "used_memory_dataset_perc",
            lambda use: use.dataset_percent,
            "The data as a part of what was added since the start.",
        ),
        *_human("total_system_memory", lambda node: node.process.total_system_bytes, "Memory of the machine."),
        gauge("used_memory_lua", _lua_bytes, "Memory of the Lua interpreter.", "bytes"),
        gauge("used_memory_vm_eval", _lua_bytes, "Memory of the Lua interpreter.", "bytes"),
        text("used_memory_lua_human", lambda node: format_memory(_lua_bytes(node)), "Memory of the Lua interpreter."),
        gauge(
            "used_memory_scripts_eval",
            lambda node: node.scripts.text_bytes,
            "Memory of the texts of cached scripts.",
            "bytes",
        ),
        gauge("number_of_cached_scripts", lambda node: len(node.scripts), "Scripts that EVALSHA finds."),
        gauge("number_of_functions", lambda node: node.functions.functions_count, "Functions that FCALL finds."),
        gauge("number_of_libraries", lambda node: len(node.functions), "Libraries of functions."),
        gauge(
            "used_memory_vm_functions",
            lambda node: node.scripts.functions_used_bytes,
            "Memory of the Lua interpreter of functions.",
            "bytes",
        ),
        gauge("used_memory_vm_total", _vm_bytes, "Memory of the Lua interpreter.", "bytes"),
        text(
            "used_memory_vm_total_human",
            lambda node: format_memory(_lua_bytes(node)),
            "Memory of the Lua interpreter.",
        ),
        gauge(
            "used_memory_functions",
            lambda node: node.functions.text_bytes,
            "Memory of the texts of libraries.",
            "bytes",
        ),
        gauge(
            "used_memory_scripts",
            lambda node: node.scripts.text_bytes,
            "Memory of the texts of cached scripts.",
            "bytes",
        ),
        text(
            "used_memory_scripts_human",
            lambda node: format_memory(node.scripts.text_bytes),
            "Memory of the texts of cached scripts.",
        ),
        *_human("maxmemory", lambda node: node.settings.maxmemory, "The configured limit; 0: none."),
        text("maxmemory_policy", lambda node: node.settings.maxmemory_policy, "What is evicted at the limit."),
        gauge(
            "mem_fragmentation_ratio",
            _use(lambda use: round(use.fragmentation, 2)),
            "used_memory_rss divided by used_memory.",
        ),
        gauge(
            "mem_fragmentation_bytes",
            _use(lambda use: use.held - use.used),
            "used_memory_rss less used_memory.",
            "bytes",
        ),
        gauge(
            "mem_not_counted_for_evict",
            _use(lambda use: use.not_counted),
            "Stream kept for replicas beyond the backlog; maxmemory does not limit it.",
            "bytes",
        ),
        gauge(
            "mem_replication_backlog",
            _use(lambda use: use.backlog),
            "The backlog, no more than repl-backlog-size.",
            "bytes",
        ),
        gauge("mem_total_replication_buffers", _stream_bytes, "Stream kept for the backlog and for replicas.", "bytes"),
        gauge(
            "mem_replica_full_sync_buffer",
            _use(lambda use: use.sync_buffer),
            "Stream that this replica holds while a snapshot loads.",
            "bytes",
        ),
        gauge(
            "mem_clients_slaves", _use(lambda use: use.replicas), "Buffers of replicas, without the backlog.", "bytes"
        ),
        gauge("mem_clients_normal", _use(lambda use: use.clients), "Buffers of all other connections.", "bytes"),
        constant("mem_cluster_links", 0, "There is no cluster."),
        gauge(
            "mem_aof_buffer",
            lambda node: node.persistence.aof.buffer_bytes,
            "Bytes for the append-only file that are not written yet.",
            "bytes",
        ),
        constant("mem_allocator", "pymalloc", "CPython's allocator."),
        constant("active_defrag_running", 0, "Always 0: pyrepl does not defragment."),
        gauge(
            "lazyfree_pending_objects",
            lambda node: node.keyspace.disposal.size,
            "Values that were deleted and are still to be freed.",
        ),
        counter(
            "lazyfreed_objects",
            lambda node: node.keyspace.disposal.freed,
            "Deleted values that were freed later, or by a flush of all.",
        ),
    ),
)
