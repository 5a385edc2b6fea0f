"""The hot keys of a while (HOTKEYS, Redis 8.6): which keys cost most processor time, and most bytes on the wire.

Memory is bounded: each list watches twice WATCHED keys at most. When there are more, the half with the least goes, and
the greatest amount that went is what a key begins with from then on (after the algorithm Space-Saving). So amounts may
be too high, never too low, and no key is missed that has more than one part in WATCHED of the whole.

Nothing here reads a clock: times are Unix ms, and those who tell know how long a command took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import Final, NamedTuple, final

WATCHED: Final = 1024

Below = Callable[[int], int]


class Plan(NamedTuple):
    """What HOTKEYS START asks for. `top` keys are shown; one in `sample` is looked at; `duration_s` 0: no end."""

    cpu: bool
    net: bool
    top: int
    duration_s: int
    sample: int


class CpuTimes(NamedTuple):
    """Processor time of the process in seconds, in its own code and in the kernel."""

    user_s: float
    system_s: float


def _by_amount(pair: tuple[bytes, float]) -> float:
    return pair[1]


@final
class TopKeys:
    """Sums by key, of the keys with the greatest sums."""

    __slots__ = ("_floor", "_sums")

    def __init__(self) -> None:
        self._sums: dict[bytes, float] = {}
        self._floor = 0.0

    def __len__(self) -> int:
        """How many keys are watched."""
        return len(self._sums)

    def add(self, key: bytes, amount: float) -> None:
        self._sums[key] = self._sums.get(key, self._floor) + amount
        if len(self._sums) > 2 * WATCHED:
            kept = nlargest(WATCHED + 1, self._sums.items(), key=_by_amount)
            self._floor = kept.pop()[1]
            self._sums = dict(kept)

    def first(self, count: int) -> list[tuple[bytes, int]]:
        """(key, sum), the greatest first; without keys whose sum is below 1."""
        found = nlargest(count, self._sums.items(), key=_by_amount)
        return [(key, int(amount)) for key, amount in found if amount >= 1]


@final
class HotKeys:
    """One collection, running or ended."""

    __slots__ = (
        "_below",
        "all_bytes",
        "all_us",
        "by_cpu",
        "by_net",
        "cpu_at_start",
        "ended_ms",
        "key_bytes",
        "plan",
        "started_ms",
    )

    def __init__(self, plan: Plan, now_ms: int, cpu: CpuTimes, below: Below) -> None:
        """`cpu` is the processor time so far; `below(n)` is random in [0, n)."""
        self.plan = plan
        self.started_ms = now_ms
        self.ended_ms: int | None = None
        self.cpu_at_start = cpu
        self.all_us = 0.0
        self.all_bytes = 0
        self.key_bytes = 0
        self.by_cpu = TopKeys()
        self.by_net = TopKeys()
        self._below = below

    @property
    def is_running(self) -> bool:
        return self.ended_ms is None

    def has_ended(self, now_ms: int) -> bool:
        """Is it over? It ends here when its time has come."""
        end_ms = self.started_ms + self.plan.duration_s * 1000
        if self.ended_ms is None and self.plan.duration_s and now_ms >= end_ms:
            self.ended_ms = end_ms
        return self.ended_ms is not None

    def stop(self, now_ms: int) -> None:
        if not self.has_ended(now_ms):
            self.ended_ms = now_ms

    def duration_ms(self, now_ms: int) -> int:
        """How long it has lasted, or did last."""
        return max(0, (now_ms if self.ended_ms is None else self.ended_ms) - self.started_ms)

    def note_time(self, keys: Sequence[bytes], took_us: float) -> None:
        """A command with these keys took so long; each key gets its share."""
        self.all_us += took_us
        if self.plan.cpu and keys:
            for key in self._sampled(keys):
                self.by_cpu.add(key, took_us / len(keys))

    def note_bytes(self, keys: Sequence[bytes], size: int) -> None:
        """A command with these keys had so many bytes on the wire, its reply included; each key gets its share."""
        self.all_bytes += size
        if self.plan.net and keys:
            sampled = self._sampled(keys)
            self.key_bytes += size * len(sampled) // len(keys)
            for key in sampled:
                self.by_net.add(key, size / len(keys))

    def _sampled(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        sample = self.plan.sample
        return keys if sample == 1 else [key for key in keys if not self._below(sample)]
