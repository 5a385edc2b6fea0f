"""client-output-buffer-limit: when has a client that does not read its replies to go? Redis 7.0's rule.

At once above the hard limit; or when it stayed above the soft limit for more than `soft_seconds`.
"""

from __future__ import annotations

from typing import final

from pyrepl.config.kinds import BufferLimit


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
        """Has the client to be cut, `size_bytes` of output waiting at `now` (monotonic seconds)?"""
        if limit.hard_bytes and size_bytes >= limit.hard_bytes:
            return True
        if not limit.soft_bytes or size_bytes < limit.soft_bytes:
            self._soft_since = None
            return False
        if self._soft_since is None:
            self._soft_since = now
        return now - self._soft_since > limit.soft_seconds
