"""What a sync and a link have cost so far: the numbers behind INFO replication, the progress bar and the log.

Times are monotonic seconds, sizes bytes. The machines of the link write here (link.py, link_life.py, conversation.py,
snapshot_in.py); everybody else reads.

Not here: the numbers on the master's side (session.py, causes.py), and what the log says of them (observability).
"""

from __future__ import annotations

from typing import Final, final

_RATE_WINDOW_S: Final = 5.0


@final
class TransferProgress:
    """One snapshot on its way: how much came and how fast.

    The rate is that of the last seconds, since the mean since the beginning would hide that a transfer has slowed down.
    `_marks` are points (time, bytes come until then), at least a tenth of the window apart; the rate is measured from
    the first mark to now. Invariant: all marks but the first are at most _RATE_WINDOW_S older than the last.
    """

    __slots__ = ("_marks", "last_io_at", "read_bytes", "started_at", "total_bytes")

    def __init__(self, now: float, total_bytes: int | None) -> None:
        self.started_at = now
        self.last_io_at = now
        self.total_bytes = total_bytes
        """None before the header has come, and for a diskless master, which does not know the size itself."""
        self.read_bytes = 0
        """Of the payload, without the header and the mark at its end."""
        self._marks: list[tuple[float, int]] = [(now, 0)]

    def advance(self, read_bytes: int, now: float) -> None:
        """Note that `read_bytes` in all have come by `now`; never fewer than before."""
        assert read_bytes >= self.read_bytes
        self.read_bytes = read_bytes
        self.last_io_at = now
        marks = self._marks
        if now - marks[-1][0] >= _RATE_WINDOW_S / 10:
            marks.append((now, read_bytes))
            # Two marks always stay: after a pause longer than the window the rate is measured over the pause.
            while len(marks) > 2 and now - marks[1][0] > _RATE_WINDOW_S:
                marks.pop(0)

    @property
    def left_bytes(self) -> int | None:
        """Bytes still to come; None while the size is not known."""
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
        """Connections tried since the link was made."""
        self.up_since: float | None = None
        """When the stream began to flow; None while it does not."""
        self.down_since: float | None = None
        """When the stream ceased to flow, or the link was started; None while it flows."""
        self.last_io_at: float | None = None
        """When the master last sent something, on either connection; None if it never did."""
        self.last_sync_error = ""
        """Why the link is not up or last went down; empty if that never happened."""
        self.next_try_at: float | None = None
        """When the link connects again; None unless it waits."""
        self.transfer: TransferProgress | None = None
        """The snapshot under way; kept while it is loaded, None otherwise."""
        self._down_s = 0.0

    def note_attempt(self) -> None:
        """A connection is tried."""
        self.current_sync_attempts += 1
        self.total_sync_attempts += 1
        self.next_try_at = None

    def note_up(self, now: float) -> None:
        """The stream flows from `now` on."""
        if self.down_since is not None:
            self._down_s += now - self.down_since
        self.down_since = None
        self.up_since = now
        self.current_sync_attempts = 0

    def note_down(self, now: float) -> None:
        """The stream does not flow. A link that is down already stays down since the earlier moment."""
        self.up_since = None
        if self.down_since is None:
            self.down_since = now

    def total_disconnect_s(self, now: float) -> float:
        """Seconds without a link since it was first wanted: total_disconnect_time_sec."""
        return self._down_s + (now - self.down_since if self.down_since is not None else 0.0)

    def next_try_in_s(self, now: float) -> float | None:
        """Seconds to the next Connect; None if none is planned."""
        return None if self.next_try_at is None else max(0.0, self.next_try_at - now)
