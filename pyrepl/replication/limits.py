"""How slow and how silent a replica may be: the limits, and the check of its pending bytes against them.

"Pending" are the bytes of the stream that a replica has not been handed, or its socket has not taken; Redis calls them
its output buffer (client-output-buffer-limit replica).

Not here: when a replica has been silent too long (session.py), counting the bytes (session.py, pairs.py) and keeping
them (backlog.py). The replica's own limit while it loads is in syncbuffer.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, final

from pyrepl.replication.psync import Cause, Reason

_SOFT_SLACK_S: Final = 0.01
"""The soft limit must be passed, not met."""


@dataclass(slots=True)
class SessionOptions:
    """Limits of all sessions of a node. The shell changes them in place. A limit of 0 is none."""

    timeout_s: float = 60.0
    """repl-timeout: the longest time without an ACK while online."""
    hard_limit_bytes: int = 256 * 1024 * 1024
    """client-output-buffer-limit replica: with so many bytes pending, inclusive, the replica is cut at once."""
    soft_limit_bytes: int = 64 * 1024 * 1024
    """With so many bytes pending, inclusive, for longer than soft_limit_s without a break, the replica is cut."""
    soft_limit_s: float = 60.0
    rdb_channel_grace_s: float = 60.0
    """How long one connection of a pair waits for the other: a main one for its RDB connection to come, a snapshot
    that was taken for the main one to ask for the stream behind it (Valkey's wait-before-rdb-client-free)."""


class Excess(NamedTuple):
    """A limit was passed: the reason, with the bytes above the limit, and a sentence for people."""

    reason: Reason
    text: str


@final
class PendingWatch:
    """One replica's pending bytes against the limits. Invariant: `_soft_since` is set while the soft one is passed."""

    __slots__ = ("_limits", "_soft_since", "last_bytes", "peak_bytes")

    def __init__(self, limits: SessionOptions) -> None:
        self._limits: Final = limits
        self._soft_since: float | None = None
        self.last_bytes = 0
        """What was pending at the last check."""
        self.peak_bytes = 0
        """The most that was since `forget_peak`."""

    def forget_peak(self) -> None:
        """It was told, or means nothing any more."""
        self.peak_bytes = 0

    def check(self, pending_bytes: int, floor_bytes: int, now: float) -> Excess | None:
        """Is the replica slower than allowed? A backlog has `floor_bytes`.

        A hard limit below the backlog's size counts as that size (Redis 7.0), as those bytes are kept anyway.
        """
        self.last_bytes = pending_bytes
        if pending_bytes > self.peak_bytes:
            self.peak_bytes = pending_bytes
        limits = self._limits
        hard = limits.hard_limit_bytes
        if hard and pending_bytes >= max(hard, floor_bytes):
            hard = max(hard, floor_bytes)
            text = f"{pending_bytes} bytes pending, the hard limit is {hard}"
            return Excess(Reason(Cause.OUTPUT_BUFFER, pending_bytes - hard, "hard"), text)
        soft = limits.soft_limit_bytes
        if not soft or pending_bytes < soft:
            self._soft_since = None
        elif self._soft_since is None:
            self._soft_since = now
        elif now > self._soft_since + limits.soft_limit_s:
            text = f"{pending_bytes} bytes pending for over {limits.soft_limit_s:g} seconds, the soft limit is {soft}"
            return Excess(Reason(Cause.OUTPUT_BUFFER, pending_bytes - soft, "soft"), text)
        return None

    @property
    def deadline(self) -> float | None:
        """When `check` is due at the latest; None if the soft limit is kept."""
        return None if self._soft_since is None else self._soft_since + self._limits.soft_limit_s + _SOFT_SLACK_S
