"""MEMORY: how many bytes a key, and the node as a whole, occupy. `observability.memory_use` computes the numbers."""

from __future__ import annotations

from typing import Final

from pyrepl.commands.describe.help import help_reply
from pyrepl.commands.engine.arguments import integer_argument, syntax_error
from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.table import LOADING, READONLY, SECOND_ARG, STALE, command, container
from pyrepl.keyspace.value_size import SAMPLES, key_bytes
from pyrepl.observability.memory_use import MemoryUse, memory_use
from pyrepl.resp.reply import OK, Reply, Simple, Verbatim

LITTLE_BYTES: Final = 5 * 1024 * 1024
"""While less memory than this is used, MEMORY DOCTOR examines nothing (Redis 7.0)."""
_LARGE_CLIENT_BYTES: Final = 200 * 1024
"""MEMORY DOCTOR reports clients whose buffers exceed this on average."""
_LARGE_REPLICA_BYTES: Final = 10 * 1024 * 1024
"""MEMORY DOCTOR reports replicas whose buffers exceed this on average."""

memory = container("MEMORY", group="server", since="4.0.0", summary="A container for memory diagnostics commands")


@command("MEMORY|USAGE", arity=-3, flags=READONLY, keys=SECOND_ARG, group="server", since="4.0.0")
def memory_usage(call: Call, key: bytes, *options: bytes) -> int | None:
    """Estimate the bytes that a key and its value occupy"""
    samples = SAMPLES
    for i in range(0, len(options), 2):
        if options[i].upper() != b"SAMPLES" or i + 1 == len(options):
            raise syntax_error()
        samples = integer_argument(options[i + 1])
        if samples < 0:
            raise syntax_error()
    value = call.db.find_kept(key)
    return None if value is None else key_bytes(key, value, samples)


@command("MEMORY|STATS", arity=2, group="server", since="4.0.0")
def memory_stats(call: Call) -> dict[Reply, Reply]:
    """Tell where the memory goes"""
    use = memory_use(call.node)
    stats: dict[Reply, Reply] = {
        b"peak.allocated": use.peak,
        b"total.allocated": use.used,
        b"startup.allocated": use.startup,
        b"replication.backlog": use.backlog,
        b"replica.fullsync.buffer": use.sync_buffer,
        b"clients.slaves": use.replicas,
        b"clients.normal": use.clients,
        b"cluster.links": 0,
        b"aof.buffer": 0,
        b"lua.caches": 0,
        b"functions.caches": 0,
    }
    for db in call.keyspace.databases:
        if db.key_count:
            main_bytes, expires_bytes = db.table_bytes()
            stats[b"db.%d" % db.index] = {
                b"overhead.hashtable.main": main_bytes,
                b"overhead.hashtable.expires": expires_bytes,
            }
    stats[b"overhead.total"] = use.overhead
    stats[b"keys.count"] = use.keys
    stats[b"keys.bytes-per-key"] = use.bytes_per_key
    stats[b"dataset.bytes"] = use.dataset
    stats[b"dataset.percentage"] = use.dataset_percent
    stats[b"peak.percentage"] = use.peak_percent
    stats[b"fragmentation"] = use.fragmentation
    stats[b"fragmentation.bytes"] = use.held - use.used
    return stats


@command("MEMORY|DOCTOR", arity=2, group="server", since="4.0.0")
def memory_doctor(call: Call) -> Verbatim:
    """Report what about the memory should worry an operator"""
    use = memory_use(call.node)
    if use.used < LITTLE_BYTES:
        return Verbatim(b"This instance uses very little memory, so there is nothing to examine.\n")
    findings = _findings(call, use)
    if not findings:
        return Verbatim(b"I can't find any memory issue in this instance.\n")
    lines = "".join(f" * {finding}\n" for finding in findings)
    return Verbatim(f"I detected {len(findings)} memory issue(s) in this instance:\n\n{lines}".encode())


def _findings(call: Call, use: MemoryUse) -> list[str]:
    """What MEMORY DOCTOR reports, one sentence each: the checks of Redis 7.0 (`getMemoryDoctorReport`) that make sense
    here. Those of jemalloc and of Lua do not."""
    findings = []
    clients = len(call.node.clients)
    replicas = sum(session.is_replica for session in call.node.replication.roster.sessions.values())
    if use.peak > use.used * 1.5:
        findings.append(
            f"Peak memory: {use.peak} bytes were used once, more than 150% of what is used now; the process may keep "
            "the rest until a restart."
        )
    if clients and use.clients // clients > _LARGE_CLIENT_BYTES:
        findings.append(
            "Big client buffers: clients hold more than 200 KiB each on average; see omem and qbuf in CLIENT LIST."
        )
    if replicas and use.replicas // replicas > _LARGE_REPLICA_BYTES:
        findings.append(
            "Big replica buffers: more than 10 MiB of the stream are kept for each replica on average; "
            "see the offsets of the slaves in INFO replication and client-output-buffer-limit replica."
        )
    return findings


@command("MEMORY|MALLOC-STATS", arity=2, group="server", since="4.0.0")
def memory_malloc_stats(call: Call) -> Verbatim:
    """Tell that the allocator reports nothing"""
    return Verbatim(b"Stats not supported for the current allocator")


@command("MEMORY|PURGE", arity=2, group="server", since="4.0.0")
def memory_purge(call: Call) -> Simple:
    """Do nothing: the allocator gives memory back by itself, as with every other than jemalloc in Redis"""
    return OK


@command("MEMORY|HELP", arity=2, flags=LOADING | STALE, group="server", since="4.0.0")
def memory_help(call: Call) -> list[Simple]:
    """Show what MEMORY can do"""
    return help_reply(
        "MEMORY",
        "DOCTOR",
        "    Return memory problems reports.",
        "MALLOC-STATS",
        "    Return internal statistics report from the memory allocator.",
        "PURGE",
        "    Attempt to purge dirty pages for reclamation by the allocator.",
        "STATS",
        "    Return information about the memory usage of the server.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return memory in bytes used by <key> and its value. Nested values are",
        "    sampled up to <count> times (default: 5, 0 means sample all).",
    )
