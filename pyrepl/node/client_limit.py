"""maxmemory-clients: which clients are cut when the buffers of all together take too much (Redis 7.0)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyrepl.config.settings import Settings
from pyrepl.node.client import Client

LEAST_BYTES: Final = 128 * 1024
"""A smaller limit is taken for this one, as nobody could talk to the node with less (Redis)."""


def limit_bytes(settings: Settings) -> int:
    """The limit in bytes; 0 for none. A percentage counts once there is a maxmemory."""
    wanted = settings.maxmemory_clients
    if wanted < 0:
        wanted = settings.maxmemory * -wanted // 100
    return max(wanted, LEAST_BYTES) if wanted else 0


def to_be_cut(sizes: Iterable[tuple[Client, int]], limit: int) -> list[Client]:
    """The clients to be cut, the largest first, so that the rest takes no more than `limit` bytes. `sizes` has all
    clients but replicas and our master, in bytes; those with CLIENT NO-EVICT count, and stay."""
    all_sizes = list(sizes)
    over = sum(size for _, size in all_sizes) - limit
    found: list[Client] = []
    if over <= 0:
        return found
    for client, size in sorted(all_sizes, key=lambda of: of[1], reverse=True):
        if over <= 0:
            break
        if not client.no_evict:
            found.append(client)
            over -= size
    return found
