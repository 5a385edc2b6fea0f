"""Deletes keys, fields and idempotency ids that have expired, although no command asks for them: a slice at each tick.

At most a quarter of the time is spent on this, as in Redis. Keys that a command finds expired are deleted by the
keyspace.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.memory.slice_timer import SliceTimer
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.keyspace.expire_cycle import ExpireCycle
from pyrepl.keyspace.field_expiry import FieldExpiryCycle
from pyrepl.keyspace.idmp import IdmpCycle
from pyrepl.node.latency_monitor import EXPIRE_CYCLE
from pyrepl.node.node import Node

_SLICE_S: Final = 0.002
_SLICE_KEYS: Final = 20
_PAUSE_S: Final = 0.006
"""The pause between two slices of _SLICE_S while there is more to delete, so that a quarter of the time is used."""
_IDS_EVERY_S: Final = 1.0


@final
class Expiring(Service):
    """The service that deletes expired keys, fields and idempotency ids of a node."""

    def __init__(self, node: Node, dispatcher: Dispatcher, signals: Signals, clock: Clock) -> None:
        self._node = node
        self._dispatcher = dispatcher
        self._signals = signals
        self._clock = clock
        self._keys = ExpireCycle(node.keyspace)
        self._fields = FieldExpiryCycle(node.keyspace)
        self._ids = IdmpCycle(node.keyspace)
        self._ids_at = 0.0
        """When all idempotency ids are looked at again, in monotonic seconds."""
        self._timer = SliceTimer()

    def tick(self, now: float) -> None:
        """Delete for one slice. While a slice is too short for all that has expired, more follow before the next
        tick."""
        self._expire()
        self._forget_ids(now)

    def next_deadline(self, now: float) -> float:
        return now

    def stop(self) -> None:
        self._timer.stop()

    def _expire(self) -> None:
        """Delete expired keys and fields for a slice of time, and put their deletion into the stream. On a replica only
        keys that its own clients wrote; the master decides about all others."""
        node = self._node
        if not node.active_expire or node.is_loading or node.pause.until_ms():
            return
        node.keyspace.now_ms = self._clock.unix_ms()
        started_at = self._clock.now()
        until = started_at + _SLICE_S * node.settings.active_expire_effort
        for cycle in (self._keys, self._fields):
            while cycle.run(_SLICE_KEYS) == _SLICE_KEYS:
                if self._clock.now() >= until:
                    if not self._timer.is_set:
                        self._timer.set(_PAUSE_S, self._expire)
                    break
        before = node.stream_end
        self._dispatcher.propagate_expired()
        node.latency_monitor.note(EXPIRE_CYCLE, self._clock.now() - started_at, node.keyspace.now_ms)
        if node.stream_end != before:
            self._signals.stream_grew.tell()
        if node.has_messages:
            self._signals.deliveries.tell()

    def _forget_ids(self, now: float) -> None:
        """Delete expired idempotency ids for a slice; about once a second, begin to look at all of them anew. Replicas
        do it too, by their own clock, as the stream says nothing of it."""
        if not self._node.is_loading:
            self._ids.run(self._clock.unix_ms())
        if now >= self._ids_at:
            self._ids_at = now + _IDS_EVERY_S
            self._ids.begin()
