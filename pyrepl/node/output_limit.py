"""client-output-buffer-limit: when has a client that does not read its replies to go? Redis 8.2's rule.

At once above the hard limit; or when it stayed above the soft limit for more than `soft_seconds`. The replies are
looked at as they come, before anything is sent: one that is too large is never answered, however quickly its client
reads. A replica's limit is its session's, as one copy of the stream serves all replicas.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.config.kinds import BufferLimit, BufferLimits
from pyrepl.node.client import PUBSUB, UNLIMITED, Client

UNCOUNTED_BYTES: Final = 16 * 1024
"""So much may always wait: Redis begins to count behind its first buffer of this size."""
UNAUTHENTICATED: Final = BufferLimit(1, 0, 0)
"""Before AUTH nobody owes a client more than that (Redis 8.0, CVE-2025-21605)."""


def limit_of(client: Client, limits: BufferLimits) -> BufferLimit:
    """What applies to a client that is no replica."""
    if not client.authenticated:
        return UNAUTHENTICATED
    return limits.pubsub if client.kind == PUBSUB else limits.normal


def room_for(limit: BufferLimit, waiting_bytes: int) -> int:
    """How many bytes more may wait before the hard limit is reached, or UNLIMITED."""
    return limit.hard_bytes + UNCOUNTED_BYTES - waiting_bytes if limit.hard_bytes else UNLIMITED


def counted_bytes(waiting_bytes: int) -> int:
    """What counts of the output that waits."""
    return max(0, waiting_bytes - UNCOUNTED_BYTES)


@final
class OutputWatch:
    """Watches one client. `_soft_since` is when it was first seen above the soft limit, None while it is not."""

    __slots__ = ("_soft_since",)

    def __init__(self) -> None:
        self._soft_since: float | None = None

    @property
    def is_watched(self) -> bool:
        """Was it above the soft limit when it was looked at last?"""
        return self._soft_since is not None

    def is_over(self, limit: BufferLimit, size_bytes: int, now: float) -> bool:
        """Has the client to be cut, `size_bytes` of counted output waiting at `now` (monotonic seconds)?"""
        if limit.hard_bytes and size_bytes >= limit.hard_bytes:
            return True
        if not limit.soft_bytes or size_bytes < limit.soft_bytes:
            self._soft_since = None
            return False
        if self._soft_since is None:
            self._soft_since = now
        return now - self._soft_since > limit.soft_seconds
