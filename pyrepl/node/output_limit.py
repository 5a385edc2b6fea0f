"""client-output-buffer-limit: decides when a client that does not read its replies is cut. Redis 8.2's rule.

It is cut at once at the hard limit, and when it has stayed at the soft limit or above for more than `soft_seconds`. The
size is checked before replies are sent, so a reply that is too large is never sent, however quickly the client reads.
The limit of a replica is checked by its session, as one copy of the stream serves all replicas.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.config.kinds import BufferLimit, BufferLimits
from pyrepl.node.client import PUBSUB, UNLIMITED, Client

UNCOUNTED_BYTES: Final = 16 * 1024
"""So many bytes may always wait: Redis does not count its first buffer, which has this size."""
UNAUTHENTICATED: Final = BufferLimit(1, 0, 0)
"""The limit before AUTH: nothing may wait beyond UNCOUNTED_BYTES (Redis 8.0, CVE-2025-21605)."""


def limit_of(client: Client, limits: BufferLimits) -> BufferLimit:
    """The limit of a client that is no replica."""
    if not client.authenticated:
        return UNAUTHENTICATED
    return limits.pubsub if client.kind == PUBSUB else limits.normal


def room_for(limit: BufferLimit, waiting_bytes: int) -> int:
    """How many more bytes may wait before the hard limit is reached, or UNLIMITED."""
    return limit.hard_bytes + UNCOUNTED_BYTES - waiting_bytes if limit.hard_bytes else UNLIMITED


def counted_bytes(waiting_bytes: int) -> int:
    """How many of the bytes that wait are compared with the limit."""
    return max(0, waiting_bytes - UNCOUNTED_BYTES)


@final
class OutputWatch:
    """Watches one client. `_soft_since` is when the client was first seen at the soft limit or above, None while it is
    below."""

    __slots__ = ("_soft_since",)

    def __init__(self) -> None:
        self._soft_since: float | None = None

    @property
    def is_watched(self) -> bool:
        """Was the client at the soft limit or above when it was looked at last?"""
        return self._soft_since is not None

    def is_over(self, limit: BufferLimit, size_bytes: int, now: float) -> bool:
        """Must the client be cut? `size_bytes` is its counted output at `now` (monotonic seconds)."""
        if limit.hard_bytes and size_bytes >= limit.hard_bytes:
            return True
        if not limit.soft_bytes or size_bytes < limit.soft_bytes:
            self._soft_since = None
            return False
        if self._soft_since is None:
            self._soft_since = now
        return now - self._soft_since > limit.soft_seconds
