"""Where memory goes, as far as we can tell: INFO memory and MEMORY STATS show the same numbers.

CPython does not tell how much of its memory is data, so `used_memory` is what the process holds (RSS), and the data set
is what remains of it after all that is accounted for elsewhere. Nothing here walks the keys. Under maxmemory the data
set is measured (`keyspace.data_size`), and `used_memory` is the sum.
"""

from __future__ import annotations

from typing import final

from pyrepl.frozen import Frozen
from pyrepl.node.node import Node
from pyrepl.observability.client_line import memory_bytes


@final
class MemoryUse(Frozen):
    """Sizes in bytes, at one moment."""

    used: int
    peak: int
    startup: int
    backlog: int
    """Stream bytes within repl-backlog-size."""
    replicas: int
    """Stream bytes beyond it that are kept for slow replicas, and what their connections hold (as Redis 7.0 splits)."""
    clients: int
    """Connections that are no replica's."""
    keys: int

    @property
    def overhead(self) -> int:
        return min(self.used, self.startup + self.backlog + self.replicas + self.clients)

    @property
    def dataset(self) -> int:
        return self.used - self.overhead

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
    """What is compared with maxmemory, while there is a limit; else what the process holds."""
    return node.memory.used_bytes if node.memory.limited else node.process.rss_bytes


def memory_use(node: Node) -> MemoryUse:
    """The state now; what the process holds was measured by the shell a moment ago."""
    process, backlog = node.process, node.replication.backlog
    stream = backlog.memory_bytes if backlog.active else 0
    kept = min(stream, backlog.capacity)
    of_replicas = of_others = 0
    for client in node.clients.values():
        if client.is_replica:
            of_replicas += memory_bytes(client)
        else:
            of_others += memory_bytes(client)
    return MemoryUse(
        used=used_bytes(node),
        peak=max(process.peak_rss_bytes, process.rss_bytes),
        startup=process.startup_rss_bytes,
        backlog=kept,
        replicas=stream - kept + of_replicas,
        clients=of_others,
        keys=node.keyspace.key_count,
    )
