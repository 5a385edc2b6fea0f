"""What a sync and a link have cost so far: the numbers behind INFO replication, the progress bar and the log.

Times are monotonic seconds, sizes bytes. Only link.py writes here.
"""

from __future__ import annotations

from typing import Final, final

_RATE_WINDOW_S: Final = 5.0


@final
class TransferProgress:
    """One snapshot on its way: how much came and how fast.

    Invariant: the rate is measured between the oldest of the marks kept, at most _RATE_WINDOW_S old, and now.
    """

    __slots__ = ("_marks", "last_io_at", "read_bytes", "started_at", "total_bytes")

    def __init__(self, now: float, total_bytes: int | None) -> None:
        self.started_at = now
        self.last_io_at = now
        self.total_bytes = total_bytes
        """None for a diskless master, which does not know it either."""
        self.read_bytes = 0
        self._marks: list[tuple[float, int]] = [(now, 0)]

    def advance(self, read_bytes: int, now: float) -> None:
        """`read_bytes` in all have come by `now`."""
        assert read_bytes >= self.read_bytes
        self.read_bytes = read_bytes
        self.last_io_at = now
        marks = self._marks
        if now - marks[-1][0] >= _RATE_WINDOW_S / 10:
            marks.append((now, read_bytes))
            while len(marks) > 2 and now - marks[1][0] > _RATE_WINDOW_S:
                marks.pop(0)

    @property
    def left_bytes(self) -> int | None:
        return None if self.total_bytes is None else self.total_bytes - self.read_bytes

    @property
    def percent(self) -> float | None:
        """0 to 100; None while the size is not known."""
        if self.total_bytes is None:
            return None
        return 100.0 * self.read_bytes / self.total_bytes if self.total_bytes else 100.0

    def bytes_per_s(self, now: float) -> float:
        """The rate of the last seconds; 0 before any time has passed."""
        then, before = self._marks[0]
        return (self.read_bytes - before) / (now - then) if now > then else 0.0

    def eta_s(self, now: float) -> float | None:
        """Seconds to go at the present rate; None when nothing can be said."""
        left = self.left_bytes
        rate = self.bytes_per_s(now)
        if left == 0:
            return 0.0
        return None if left is None or rate <= 0 else left / rate


@final
class LinkProgress:
    """The link's history: attempts, times up and down, the last error.

    Invariant: exactly one of `up_since` and `down_since` is set once the link was started.
    """

    __slots__ = (
        "_down_s",
        "current_sync_attempts",
        "down_since",
        "last_io_at",
        "last_sync_error",
        "next_try_at",
        "total_sync_attempts",
        "transfer",
        "up_since",
    )

    def __init__(self) -> None:
        self.current_sync_attempts = 0
        """Connections tried since the link was last up."""
        self.total_sync_attempts = 0
        self.up_since: float | None = None
        self.down_since: float | None = None
        self.last_io_at: float | None = None
        """When the master last sent something."""
        self.last_sync_error = ""
        """Why the link is not up or last went down; empty if that never happened."""
        self.next_try_at: float | None = None
        self.transfer: TransferProgress | None = None
        """The snapshot under way; kept while it is loaded, None otherwise."""
        self._down_s = 0.0

    def note_attempt(self) -> None:
        """A connection is tried."""
        self.current_sync_attempts += 1
        self.total_sync_attempts += 1
        self.next_try_at = None

    def note_up(self, now: float) -> None:
        if self.down_since is not None:
            self._down_s += now - self.down_since
        self.down_since = None
        self.up_since = now
        self.current_sync_attempts = 0

    def note_down(self, now: float) -> None:
        self.up_since = None
        if self.down_since is None:
            self.down_since = now

    def total_disconnect_s(self, now: float) -> float:
        """Seconds without a link since it was first wanted: total_disconnect_time_sec."""
        return self._down_s + (now - self.down_since if self.down_since is not None else 0.0)

    def next_try_in_s(self, now: float) -> float | None:
        """Seconds to the next Connect; None if none is planned."""
        return None if self.next_try_at is None else max(0.0, self.next_try_at - now)
