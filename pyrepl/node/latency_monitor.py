"""The latency monitor: what took long, by the kind of event; shown by LATENCY LATEST, HISTORY, GRAPH and DOCTOR.

An event that takes `latency-monitor-threshold` ms or longer becomes a sample. Those who do the work know how long it
took, and tell `note`; nothing here reads a clock. As in Redis, the samples of one second are one sample, the longest,
and the newest SAMPLES of each kind are kept.

The kinds have Redis's names: `command` and `fast-command` (one that takes O(1) or O(log n)), `fork`, `expire-cycle`,
`eviction-cycle`, `aof-write`, `aof-fsync-always`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from math import inf
from typing import Final, NamedTuple, final

SAMPLES: Final = 160
COMMAND: Final = "command"
FAST_COMMAND: Final = "fast-command"
FORK: Final = "fork"
EXPIRE_CYCLE: Final = "expire-cycle"
EVICTION_CYCLE: Final = "eviction-cycle"
AOF_WRITE: Final = "aof-write"
AOF_FSYNC_ALWAYS: Final = "aof-fsync-always"


class Sample(NamedTuple):
    """The longest event of one second: Unix time in seconds, and how many ms it took."""

    at_s: int
    took_ms: int


@final
class Series:
    """The samples of one kind of event, the oldest first. It has one sample at least."""

    __slots__ = ("most_ms", "samples")

    def __init__(self, first: Sample) -> None:
        self.samples: deque[Sample] = deque((first,), maxlen=SAMPLES)
        self.most_ms = first.took_ms
        """The longest since the last reset; its sample may have been dropped."""

    def add(self, sample: Sample) -> None:
        self.most_ms = max(self.most_ms, sample.took_ms)
        last = self.samples[-1]
        if last.at_s != sample.at_s:
            self.samples.append(sample)
        elif sample.took_ms > last.took_ms:
            self.samples[-1] = sample


@final
class LatencyMonitor:
    """The series of all kinds of events that had a sample."""

    __slots__ = ("limit_s", "series")

    def __init__(self) -> None:
        self.limit_s = inf
        """How many seconds make an event a sample; infinite while the monitor is off."""
        self.series: dict[str, Series] = {}

    @property
    def is_on(self) -> bool:
        return self.limit_s < inf

    def follow(self, threshold_ms: int) -> None:
        """latency-monitor-threshold is `threshold_ms` from now on, 0 for off. Samples stay."""
        self.limit_s = threshold_ms / 1000 if threshold_ms else inf

    def note(self, event: str, elapsed_s: float, now_ms: int) -> None:
        """An event took so long, and ended at the Unix time `now_ms`."""
        if elapsed_s < self.limit_s:
            return
        sample = Sample(now_ms // 1000, int(elapsed_s * 1000))
        series = self.series.get(event)
        if series is None:
            self.series[event] = Series(sample)
        else:
            series.add(sample)

    def reset(self, events: Collection[str]) -> int:
        """Forget the samples of these kinds, or of all if none is named. Returns how many kinds had samples."""
        gone = [event for event in events or list(self.series) if self.series.pop(event, None) is not None]
        return len(gone)
