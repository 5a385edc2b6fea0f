"""Keys, fields and idempotency ids whose time is over, deleted though nobody asks for them: a slice at each tick.

At most a quarter of the time goes into it, as in Redis. What a read finds expired is the keyspace's.
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.service import Service
from pyrepl.daemon.signals import Signals
from pyrepl.keyspace.expire_cycle import ExpireCycle
from pyrepl.keyspace.field_expiry import FieldExpiryCycle
from pyrepl.keyspace.idmp import IdmpCycle
from pyrepl.node.node import Node

_SLICE_S: Final = 0.002
_SLICE_KEYS: Final = 20
_PAUSE_S: Final = 0.006
"""Between slices while there is more to delete: a quarter of the time at most, as in Redis."""
_IDS_EVERY_S: Final = 1.0


@final
class Expiring(Service):
    """Deletes what has expired in a node."""

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
        self._timer: asyncio.TimerHandle | None = None

    def tick(self, now: float) -> None:
        """A slice, and more of them before the next tick while each finds much."""
        self._expire()
        self._forget_ids(now)

    def next_deadline(self, now: float) -> float:
        return now

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        """Delete what nobody asks for any more, for a slice of time; a replica only what its own clients wrote."""
        node = self._node
        if not node.active_expire or node.is_loading or node.pause.until_ms():
            return
        node.keyspace.now_ms = self._clock.unix_ms()
        until = self._clock.now() + _SLICE_S * node.settings.active_expire_effort
        for cycle in (self._keys, self._fields):
            while cycle.run(_SLICE_KEYS) == _SLICE_KEYS:
                if self._clock.now() >= until:
                    self._go_on_soon()
                    break
        before = node.stream_end
        self._dispatcher.propagate_expired()
        if node.stream_end != before:
            self._signals.stream_grew.tell()

    def _go_on_soon(self) -> None:
        """The slice was too short: another one before the next tick."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE_S, self._go_on)

    def _go_on(self) -> None:
        self._timer = None
        self._expire()

    def _forget_ids(self, now: float) -> None:
        """A slice; replicas do it too, by their own clock, as nothing in the stream tells them."""
        if not self._node.is_loading:
            self._ids.run(self._clock.unix_ms())
        if now >= self._ids_at:
            self._ids_at = now + _IDS_EVERY_S
            self._ids.begin()
