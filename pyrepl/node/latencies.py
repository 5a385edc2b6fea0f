"""How long the executions of one command took: a histogram of two significant digits, as Redis 7's latency-tracking.

Theory (HdrHistogram). Durations below 256 ns have a bucket each. Above, each doubling of the duration is divided into
128 buckets, so that a bucket is never wider than 1/128 of what it holds. From 1 ns to 1.07 s that is about 3,000
counters; what takes longer is counted in the last of them.

Not here: INFO latencystats and LATENCY HISTOGRAM, which print it. Nothing here reads a clock.
"""

from __future__ import annotations

from typing import Final, final

_EXACT_BITS: Final = 8
_EXACT: Final = 1 << _EXACT_BITS
_HALF: Final = 128
_MOST_NS: Final = (1 << 30) - 1
_BUCKETS: Final = 23 * _HALF + _HALF
_FIRST_STEP_NS: Final = 1024
"""LATENCY HISTOGRAM counts in this and its doublings, each up to the end of the bucket that it falls in (Redis 7)."""


@final
class Latencies:
    """Takes no memory before the first `note`."""

    __slots__ = ("_counts", "count")

    def __init__(self) -> None:
        self._counts: list[int] = []
        self.count = 0
        """Durations noted."""

    def note(self, elapsed_s: float) -> None:
        """Count one execution; hot."""
        ns = int(elapsed_s * 1e9)
        if ns > _MOST_NS:
            ns = _MOST_NS
        elif ns < 0:
            ns = 0
        shift = ns.bit_length() - _EXACT_BITS
        if shift < 0:
            shift = 0
        if not self.count:
            self._counts = [0] * _BUCKETS
        counts, index = self._counts, shift * _HALF + (ns >> shift)
        # Not `+=`, which mypyc computes with objects.
        counts[index] = counts[index] + 1
        self.count += 1

    def clear(self) -> None:
        self._counts = []
        self.count = 0

    def percentile_us(self, percent: float) -> float:
        """The duration in microseconds that `percent` (0 to 100) of the executions did not exceed, up to 1/128.

        0.0 when there was none.
        """
        wanted = max(1, int(percent / 100 * self.count + 0.5))
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if seen >= wanted:
                return _greatest_ns(index) / 1000
        return 0.0

    def doublings(self) -> list[tuple[int, int]]:
        """(microseconds, executions that took no longer), doubling; without steps that add none."""
        steps: list[tuple[int, int]] = []
        seen = 0
        step_ns = _FIRST_STEP_NS
        for index, count in enumerate(self._counts):
            if not count:
                continue
            while _greatest_ns(index) >= step_ns + step_ns // _HALF:
                step_ns *= 2
            seen += count
            step_us = (step_ns + step_ns // _HALF - 1) // 1000
            if steps and steps[-1][0] == step_us:
                steps.pop()
            steps.append((step_us, seen))
        return steps


def _greatest_ns(index: int) -> int:
    """The longest duration of a bucket, in ns."""
    if index < _EXACT:
        return index
    shift = index // _HALF - 1
    return ((index - shift * _HALF + 1) << shift) - 1
