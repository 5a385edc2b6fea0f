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
        *_human("used_memory", used_bytes, "The start, the data and all buffers, by an estimate; see used_memory_rss."),
        *_human("used_memory_rss", lambda node: node.process.rss_bytes, "What the process holds (RSS)."),
        *_human("used_memory_peak", lambda node: memory_use(node).peak, "The most that was used."),
        gauge("used_memory_peak_time", lambda node: node.process.peak_used_unix_s, "Unix time of the peak.", "s"),
        _percent("used_memory_peak_perc", lambda use: use.peak_percent, "Of the peak."),
        gauge("used_memory_overhead", _use(lambda use: use.overhead), "All that is no data.", "bytes"),
        gauge("used_memory_startup", lambda node: node.process.startup_bytes, "Taken before any data.", "bytes"),
        gauge("used_memory_dataset", _use(lambda use: use.dataset), "What remains for the data.", "bytes"),
        _percent("used_memory_dataset_perc", lambda use: use.dataset_percent, "Of what was added since the start."),
        *_human("total_system_memory", lambda node: node.process.total_system_bytes, "Memory of the machine."),
        gauge("used_memory_lua", _lua_bytes, "What the Lua interpreter holds.", "bytes"),
        gauge("used_memory_vm_eval", _lua_bytes, "What the Lua interpreter holds.", "bytes"),
        text("used_memory_lua_human", lambda node: format_memory(_lua_bytes(node)), "What the Lua interpreter holds."),
        gauge("used_memory_scripts_eval", lambda node: node.scripts.text_bytes, "Texts of cached scripts.", "bytes"),
        gauge("number_of_cached_scripts", lambda node: len(node.scripts), "Scripts that EVALSHA finds."),
        gauge("number_of_functions", lambda node: node.functions.functions_count, "Functions that FCALL finds."),
        gauge("number_of_libraries", lambda node: len(node.functions), "Libraries of functions."),
        gauge(
            "used_memory_vm_functions",
            lambda node: node.scripts.functions_used_bytes,
            "What the interpreter of functions holds.",
            "bytes",
        ),
        gauge("used_memory_vm_total", _vm_bytes, "What the Lua interpreter holds.", "bytes"),
        text(
            "used_memory_vm_total_human",
            lambda node: format_memory(_lua_bytes(node)),
            "What the Lua interpreter holds.",
        ),
        gauge("used_memory_functions", lambda node: node.functions.text_bytes, "Texts of libraries.", "bytes"),
        gauge("used_memory_scripts", lambda node: node.scripts.text_bytes, "Texts of cached scripts.", "bytes"),
        text(
            "used_memory_scripts_human", lambda node: format_memory(node.scripts.text_bytes), "Texts of cached scripts."
        ),
        *_human("maxmemory", lambda node: node.settings.maxmemory, "The configured limit; 0: none."),
        text("maxmemory_policy", lambda node: node.settings.maxmemory_policy, "What is evicted at the limit."),
        gauge("mem_fragmentation_ratio", _use(lambda use: round(use.fragmentation, 2)), "Held by used."),
        gauge(
            "mem_fragmentation_bytes",
            _use(lambda use: use.held - use.used),
            "Held and not used.",
            "bytes",
        ),
        gauge(
            "mem_not_counted_for_evict",
            _use(lambda use: use.not_counted),
            "Held for replicas beyond the backlog, which maxmemory does not limit.",
            "bytes",
        ),
        gauge("mem_replication_backlog", _use(lambda use: use.backlog), "The backlog, within its size.", "bytes"),
        gauge("mem_total_replication_buffers", _stream_bytes, "The stream kept for backlog and replicas.", "bytes"),
        gauge("mem_replica_full_sync_buffer", _use(lambda use: use.sync_buffer), "Held beside a snapshot.", "bytes"),
        gauge("mem_clients_slaves", _use(lambda use: use.replicas), "Replicas, beyond the backlog.", "bytes"),
        gauge("mem_clients_normal", _use(lambda use: use.clients), "Other connections.", "bytes"),
        constant("mem_cluster_links", 0, "There is no cluster."),
        constant("mem_aof_buffer", 0, "There is no AOF."),
        constant("mem_allocator", "pymalloc", "CPython's allocator."),
        constant("active_defrag_running", 0, "Nothing is defragmented."),
        gauge(
            "lazyfree_pending_objects",
            lambda node: node.keyspace.disposal.size,
            "Values dropped, and still to be freed.",
        ),
        counter(
            "lazyfreed_objects",
            lambda node: node.keyspace.disposal.freed,
            "Values dropped that were freed later, or with all others.",
        ),
    ),
)
