"""Where memory goes, as far as we can tell: INFO memory and MEMORY STATS show the same numbers.

CPython does not tell how much of its memory is data, so the data set is estimated (`keyspace.data_size`): under
maxmemory at every write, else by samples. `used_memory` is the sum of that, of the process before it had data, and of
all buffers; what the process holds, freed memory and mapped files included, is `used_memory_rss`. Nothing here walks
the keys.

The process before it had data is Python and our program, some 25 MB (Redis: below 1 MB). It is part of `used_memory`,
as in Redis, since maxmemory is to keep what the process takes near the limit, and not the data alone.
"""

from __future__ import annotations

from typing import final

from pyrepl.frozen import Frozen
from pyrepl.node.node import Node
from pyrepl.observability.client_line import memory_bytes


@final
class MemoryUse(Frozen):
    """Sizes in bytes, at one moment."""

    held: int
    """What the process holds (RSS)."""
    peak_before: int
    """The most that was used until a moment ago."""
    startup: int
    backlog: int
    """The stream that is kept: within repl-backlog-size while there are replicas, else all (as Redis 7.0 splits)."""
    replicas: int
    """The stream beyond it that is kept for slow replicas, and their connections."""
    sync_buffer: int
    """The stream of our master, held until its snapshot is loaded."""
    not_counted: int
    """Kept for replicas beyond repl-backlog-size: part of `used`, but not limited by maxmemory."""
    clients: int
    """Connections that are no replica's."""
    keys: int
    dataset: int
    """The keys and values, estimated."""

    @property
    def used(self) -> int:
        return self.overhead + self.dataset

    @property
    def peak(self) -> int:
        return max(self.peak_before, self.used)

    @property
    def fragmentation(self) -> float:
        return self.held / self.used if self.used else 1.0

    @property
    def overhead(self) -> int:
        return self.startup + self.backlog + self.replicas + self.sync_buffer + self.clients

    @property
    def dataset_percent(self) -> float:
        """Of what was added since the start."""
        grown = self.used - self.startup
        return 100.0 * self.dataset / grown if grown > 0 else 0.0

    @property
    def peak_percent(self) -> float:
        return 100.0 * self.used / self.peak if self.peak else 0.0

    @property
    def bytes_per_key(self) -> int:
        return (self.used - self.startup) // self.keys if self.keys and self.used > self.startup else 0


def used_bytes(node: Node) -> int:
    """With what is held for replicas, which maxmemory does not limit."""
    return memory_use(node).used


def memory_use(node: Node) -> MemoryUse:
    """The state now; what connections hold was measured by the shell a moment ago."""
    process, backlog = node.process, node.replication.backlog
    stream = backlog.memory_bytes if backlog.active else 0
    beyond = max(0, stream - backlog.capacity)
    has_replicas = False
    of_replicas = of_others = 0
    for client in node.clients.values():
        if client.is_replica:
            has_replicas = True
            # Its output is the stream, of which one copy serves all replicas.
            of_replicas += memory_bytes(client) - client.output_bytes
        else:
            of_others += memory_bytes(client)
    return MemoryUse(
        held=process.rss_bytes,
        peak_before=process.peak_used_bytes,
        startup=process.startup_bytes,
        backlog=stream - beyond if has_replicas else stream,
        replicas=beyond + of_replicas if has_replicas else 0,
        sync_buffer=node.replication.buffer_use.size_bytes,
        not_counted=beyond + of_replicas,
        clients=of_others,
        keys=node.keyspace.key_count,
        dataset=node.memory.data.total_bytes,
    )
