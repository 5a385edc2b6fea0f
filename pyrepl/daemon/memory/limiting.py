"""maxmemory between commands: keeps the measure of the used memory right, and evicts what commands have left to evict.

Not here: the eviction before each command (the dispatcher), the limit and the measure (`node.memory_limit`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, final

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.memory.slice_timer import SliceTimer
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.node.node import Node
from pyrepl.observability import events
from pyrepl.observability.memory_use import memory_use

_OVERHEAD_EVERY_S: Final = 0.1
_PRUNE_EVERY_S: Final = 1.0
_AUDIT_SLICE_S: Final = 0.002
_AUDIT_SLICE_KEYS: Final = 256
_SAMPLE_KEYS: Final = 32
"""Keys that are measured in each tick while there is no limit: this takes 0.1 ms."""
_EVICTION_SLICE_S: Final = 0.003
_EVICTION_PAUSE_S: Final = 0.002
"""The pause between two slices while there is more to evict, in which clients are served."""


@final
class Limiting(Service):
    """Keeps a node's memory within `maxmemory`."""

    def __init__(self, node: Node, dispatcher: Dispatcher, signals: Signals, clock: Clock, log: Log) -> None:
        self._node = node
        self._dispatcher = dispatcher
        self._signals = signals
        self._clock = clock
        self._log = log
        self._timer = SliceTimer()
        """Set while there is more to evict."""
        self._overhead_at = 0.0
        self._prune_at = 0.0

    def tick(self, now: float) -> None:
        """Measure a part of the data, and evict for a slice unless such slices are planned already."""
        memory = self._node.memory
        memory.watch_clock(now)
        if now >= self._overhead_at:
            self._overhead_at = now + _OVERHEAD_EVERY_S
            self._measure_overhead()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNE_EVERY_S
            memory.tracker.prune()
        if not self._node.is_loading:
            self._audit()

    def next_deadline(self, now: float) -> float:
        return now

    def settings_changed(self, names: Collection[str]) -> None:
        """CONFIG SET maxmemory: measure at once, as the next command must know how much memory is used."""
        if "maxmemory" in names:
            memory = self._node.memory
            self._measure_overhead()
            if memory.is_over:
                self._log(events.MaxmemorySmallerThanUsed(memory.limit_bytes, memory.used_bytes))

    def stop(self) -> None:
        self._timer.stop()

    def _measure_overhead(self) -> None:
        """Measure the memory used besides the data."""
        memory = self._node.memory
        if memory.limited:
            use = memory_use(self._node)
            memory.overhead_bytes = use.overhead - use.not_counted

    def _audit(self) -> None:
        """Measure a part of the data, and evict if that is due."""
        memory = self._node.memory
        if not memory.limited:
            # Without a limit only INFO's used_memory needs the measure, and a rough one is enough.
            memory.data.audit(_SAMPLE_KEYS)
            return
        until = self._clock.now() + _AUDIT_SLICE_S
        while not memory.data.audit(_AUDIT_SLICE_KEYS) and self._clock.now() < until:
            pass
        if not self._timer.is_set:
            self._evict()

    def _evict(self) -> None:
        """Evict for one slice, and plan the next slice after a pause (as Redis 6.2 does between two looks at its
        clients)."""
        self._node.keyspace.now_ms = self._clock.unix_ms()
        before = self._node.stream_end
        if self._dispatcher.make_room(_EVICTION_SLICE_S):
            self._timer.set(_EVICTION_PAUSE_S, self._evict)
        if self._node.stream_end != before:
            self._signals.stream_grew.tell()
        if self._node.has_messages:
            self._signals.deliveries.tell()
