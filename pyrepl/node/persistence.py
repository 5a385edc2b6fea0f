"""The state of a node's snapshots, its append-only file and a load in progress, for INFO persistence and for refusing
commands. The daemon writes it.

Three of these facts can make commands be refused: a load, a snapshot file that could not be written, and an append-only
file that could not be written. Their setters note them in the node's `Conditions`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.node.conditions import Condition, Conditions
from pyrepl.node.own_writes import OwnWrites


@final
class Loading:
    """A load in progress. Times are monotonic seconds, sizes bytes; `total_bytes` is 0 when the size is not known."""

    __slots__ = (
        "asynchronous",
        "expired_keys",
        "loaded_bytes",
        "loaded_keys",
        "started_at",
        "started_unix_s",
        "total_bytes",
    )

    def __init__(self, started_at: float, started_unix_s: int, total_bytes: int, *, asynchronous: bool) -> None:
        self.started_at = started_at
        self.started_unix_s = started_unix_s
        self.total_bytes = total_bytes
        self.loaded_bytes = 0
        self.loaded_keys = 0
        self.expired_keys = 0
        self.asynchronous = asynchronous
        """Is the old data served during the load (repl-diskless-load swapdb)?"""

    @property
    def percent(self) -> float:
        return 100.0 * self.loaded_bytes / self.total_bytes if self.total_bytes else 0.0

    def eta_seconds(self, now: float) -> int:
        """Seconds until the end of the load, at the rate so far; 1 while that is not known, as Redis prints."""
        elapsed = now - self.started_at
        if not self.loaded_bytes or not self.total_bytes:
            return 1
        return int(elapsed * (self.total_bytes - self.loaded_bytes) / self.loaded_bytes)


RETRY_S: Final = 5.0
"""Seconds between a rewrite that failed and the next one, for the first failures."""
_PATIENT_FAILURES: Final = 3
_MAX_RETRY_S: Final = 3600.0


@final
class AofState:
    """The state of the append-only file. Sizes in bytes, durations in seconds; -1 means that there was none yet."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._write_error = ""
        self.own_writes = OwnWrites()
        self.enabled = False
        """appendonly is yes; a rewrite may still have to finish before the file follows the data."""
        self.rewrite_started_at: float | None = None
        """Monotonic seconds."""
        self.rewrite_scheduled = False
        self.last_rewrite_s = -1
        self.last_rewrite_ok = True
        self.rewrites = 0
        self.consecutive_failures = 0
        self.last_cow_bytes = 0
        self.current_bytes = 0
        self.base_bytes = 0
        """`current_bytes` after the last rewrite or start: automatic rewrites compare the growth with it."""
        self.buffer_bytes = 0
        self.is_syncing = False
        self.delayed_fsyncs = 0
        self.synced_cut = 0
        """The cut of our stream up to which the file is fsynced (WAITAOF)."""

    @property
    def write_error(self) -> str:
        """Why the last write or fsync failed; empty when it succeeded."""
        return self._write_error

    @write_error.setter
    def write_error(self, reason: str) -> None:
        self._write_error = reason
        self._conditions.note(Condition.AOF_FAILED, bool(reason))

    def follow(self, follows: bool) -> None:
        """An append-only file is written from now on, which has all data of this moment; or none is any more."""
        self.own_writes.keep(follows)
        self._conditions.note(Condition.FOLLOWED, follows)

    @property
    def is_rewriting(self) -> bool:
        """Does a child write a new base?"""
        return self.rewrite_started_at is not None

    @property
    def retry_delay_s(self) -> float:
        """Seconds until the next try after a failed rewrite; the more have failed, the longer (Redis 7.0)."""
        doublings = min(10, max(0, self.consecutive_failures - _PATIENT_FAILURES))
        return RETRY_S if not doublings else min(_MAX_RETRY_S, 60.0 * 2 ** (doublings - 1))


@final
class Persistence:
    """State of SAVE, BGSAVE and loads. Unix times in seconds; a duration of -1 means there was none yet."""

    def __init__(self, started_unix_s: int, conditions: Conditions) -> None:
        self._conditions = conditions
        self._loading: Loading | None = None
        self._last_bgsave_ok = True
        self.dirty_at_last_save = 0
        """keyspace.dirty when the last successful save began."""
        self.last_save_unix_s = started_unix_s
        self.bgsave_started_at: float | None = None
        self.bgsave_target: str = ""
        """disk, socket, or empty while no child runs."""
        self.last_bgsave_s = -1
        self.saves = 0
        self.last_cow_bytes = 0
        self.last_load_keys_loaded = 0
        self.last_load_keys_expired = 0
        self.child_pid: int | None = None
        self.child_keys_done = 0
        self.child_keys_total = 0
        self.aof = AofState(conditions)

    @property
    def loading(self) -> Loading | None:
        """The load in progress, None if there is none."""
        return self._loading

    @loading.setter
    def loading(self, loading: Loading | None) -> None:
        self._loading = loading
        self._conditions.note(Condition.LOADING, loading is not None and not loading.asynchronous)

    @property
    def last_bgsave_ok(self) -> bool:
        """Was the last snapshot file written? True before the first."""
        return self._last_bgsave_ok

    @last_bgsave_ok.setter
    def last_bgsave_ok(self, ok: bool) -> None:
        self._last_bgsave_ok = ok
        self._conditions.note(Condition.SAVE_FAILED, not ok)

    @property
    def bgsave_in_progress(self) -> bool:
        return self.bgsave_started_at is not None
