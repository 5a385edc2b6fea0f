"""Background work on the clock: expiry, timeouts, samples, save points, replicas' deadlines. `hz` times a second.

Each piece is small enough for the loop: expiry is sliced by time, the rest is bounded by the number of clients.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol, final

from pyrepl.commands.engine.dispatch import Dispatcher
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.faults import Faults
from pyrepl.daemon.feeding.replicas import Replicas
from pyrepl.daemon.log_sink import Log
from pyrepl.daemon.memory.growing import Growing
from pyrepl.daemon.memory.housekeeper import Housekeeper
from pyrepl.daemon.supervision import Supervision
from pyrepl.keyspace.expire_cycle import ExpireCycle
from pyrepl.keyspace.field_expiry import FieldExpiryCycle
from pyrepl.keyspace.idmp import IdmpCycle
from pyrepl.node.node import Node
from pyrepl.observability.memory_use import memory_use

_SAMPLE_EVERY_S: Final = 0.1
_SLOW_EVERY_S: Final = 1.0
_EXPIRE_SLICE_S: Final = 0.002
_EXPIRE_SLICE_KEYS: Final = 20
_EXPIRE_PAUSE_S: Final = 0.006
"""Between slices while there is more to delete: a quarter of the time at most, as in Redis."""
_AUDIT_SLICE_S: Final = 0.002
_AUDIT_SLICE_KEYS: Final = 256
_SAMPLE_KEYS: Final = 32
"""Of the data, looked at in each tick where no limit asks for more: 0.1 ms."""
_EVICTION_SLICE_S: Final = 0.003
_EVICTION_PAUSE_S: Final = 0.002
"""Between slices while there is more to evict, so that others are served."""


class Service(Protocol):
    """A part of the node with work to do when time passes."""

    def tick(self) -> None:
        """Do what is due, a small piece of it."""


@dataclass(frozen=True, slots=True)
class Services:
    """Whose work is driven, in this order: at each tick of the timer, or about every 100 ms."""

    each_tick: Sequence[Service]
    each_sample: Sequence[Service]


@final
class Cron:
    """The timer of a node."""

    def __init__(
        self,
        node: Node,
        dispatcher: Dispatcher,
        clients: Clients,
        replicas: Replicas,
        supervision: Supervision,
        services: Services,
        faults: Faults,
        clock: Clock,
        log: Log,
    ) -> None:
        self._node = node
        self._dispatcher = dispatcher
        self._clients = clients
        self._replicas = replicas
        self._supervision = supervision
        self._services = services
        self._faults = faults
        self._clock = clock
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._expire_timer: asyncio.TimerHandle | None = None
        self._evict_timer: asyncio.TimerHandle | None = None
        self._expiry = ExpireCycle(node.keyspace)
        self._field_expiry = FieldExpiryCycle(node.keyspace)
        self._idmp = IdmpCycle(node.keyspace)
        self._housekeeper = Housekeeper(node.keyspace, clock)
        self._growing = Growing(node.keyspace, clock)
        self._next_sample_at = 0.0
        self._next_slow_at = 0.0
        self._page_bytes = resource.getpagesize()

    def start(self) -> None:
        self._slow()
        held_bytes, files_bytes = self._resident()
        self._node.process.startup_bytes = held_bytes - files_bytes
        self._timer = self._loop.call_later(self._period_s(), self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._expire_timer is not None:
            self._expire_timer.cancel()
            self._expire_timer = None
        if self._evict_timer is not None:
            self._evict_timer.cancel()
            self._evict_timer = None
        self._housekeeper.stop()
        self._growing.stop()

    def _period_s(self) -> float:
        return 1.0 / min(500, max(1, self._node.settings.hz))

    def _tick(self) -> None:
        self._timer = self._loop.call_later(self._period_s(), self._tick)
        now = self._clock.now()
        self._node.process.now = now
        self._guarded(self._expire)
        self._guarded(self._forget_idempotency_ids)
        self._guarded(self._limit_memory)
        for service in self._services.each_tick:
            self._guarded(service.tick)
        self._guarded(self._housekeeper.tick)
        if not self._node.is_loading:
            self._guarded(self._growing.tick)
        if now >= self._next_sample_at:
            self._next_sample_at = now + _SAMPLE_EVERY_S
            self._guarded(self._sample)
            for service in self._services.each_sample:
                self._guarded(service.tick)
        if now >= self._next_slow_at:
            self._next_slow_at = now + _SLOW_EVERY_S
            self._idmp.begin()
            self._guarded(self._slow)

    def _guarded(self, work: Callable[[], None]) -> None:
        """A defect in one piece of work must not stop the others: it is logged, and the node goes on."""
        try:
            work()
        except Exception as error:
            self._faults.survived(f"background work {work.__qualname__}", error)

    def _expire(self) -> None:
        """Delete what nobody asks for any more, for a slice of time; a replica only what its own clients wrote."""
        node = self._node
        if not node.active_expire or node.is_loading or node.pause.until_ms():
            return
        node.keyspace.now_ms = self._clock.unix_ms()
        until = self._clock.now() + _EXPIRE_SLICE_S * node.settings.active_expire_effort
        for cycle in (self._expiry, self._field_expiry):
            while cycle.run(_EXPIRE_SLICE_KEYS) == _EXPIRE_SLICE_KEYS:
                if self._clock.now() >= until:
                    self._expire_more()
                    break
        self._dispatcher.propagate_expired()
        self._replicas.plan_pump()

    def _forget_idempotency_ids(self) -> None:
        """A slice; replicas do it too, by their own clock, as nothing in the stream tells them."""
        if not self._node.is_loading:
            self._idmp.run(self._clock.unix_ms())

    def _expire_more(self) -> None:
        """The slice was too short: another one before the next tick."""
        if self._expire_timer is None and self._timer is not None:
            self._expire_timer = self._loop.call_later(_EXPIRE_PAUSE_S, self._expire_again)

    def _expire_again(self) -> None:
        self._expire_timer = None
        self._guarded(self._expire)

    def _limit_memory(self) -> None:
        """maxmemory: keep the measure right, and evict what commands have left to do."""
        memory = self._node.memory
        memory.watch_clock(self._clock.now())
        if self._node.is_loading:
            return
        if not memory.limited:
            # INFO's used_memory, for which a rough measure will do.
            memory.data.audit(_SAMPLE_KEYS)
            return
        until = self._clock.now() + _AUDIT_SLICE_S
        while not memory.data.audit(_AUDIT_SLICE_KEYS) and self._clock.now() < until:
            pass
        if self._evict_timer is None:
            self._evict()

    def _evict(self) -> None:
        """A slice of it, and the next after a pause (Redis 6.2 evicts on between two looks at its clients, too)."""
        self._node.keyspace.now_ms = self._clock.unix_ms()
        if self._dispatcher.make_room(_EVICTION_SLICE_S) and self._timer is not None:
            self._evict_timer = self._loop.call_later(_EVICTION_PAUSE_S, self._evict_again)
        self._replicas.plan_pump()

    def _evict_again(self) -> None:
        self._evict_timer = None
        self._guarded(self._evict)

    def _sample(self) -> None:
        stats = self._node.stats
        now = self._clock.now()
        stats.ops.sample(stats.total_commands_processed, now)
        stats.input.sample(stats.total_net_input_bytes, now)
        stats.output.sample(stats.total_net_output_bytes, now)
        stats.repl_input.sample(stats.total_net_repl_input_bytes, now)
        stats.repl_output.sample(stats.total_net_repl_output_bytes, now)
        self._clients.measure()
        self.measure_overhead()

    def measure_overhead(self) -> None:
        """What is used besides the data, for maxmemory."""
        memory = self._node.memory
        if memory.limited:
            use = memory_use(self._node)
            memory.overhead_bytes = use.overhead - use.not_counted

    def _resident(self) -> tuple[int, int]:
        """Bytes that the process holds in memory, and how many of them are mapped files; what it held last, and 0, if
        the system does not tell."""
        with suppress(OSError), open("/proc/self/statm", "rb") as statm:
            _, held_pages, files_pages, *_ = map(int, statm.read().split())
            return held_pages * self._page_bytes, files_pages * self._page_bytes
        return self._node.process.rss_bytes, 0

    def _slow(self) -> None:
        process = self._node.process
        own = resource.getrusage(resource.RUSAGE_SELF)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        process.cpu_sys_s, process.cpu_user_s = own.ru_stime, own.ru_utime
        process.cpu_sys_children_s, process.cpu_user_children_s = children.ru_stime, children.ru_utime
        process.rss_bytes, _ = self._resident()
        used_bytes = memory_use(self._node).used
        if used_bytes > process.peak_used_bytes:
            process.peak_used_bytes = used_bytes
            process.peak_used_unix_s = self._clock.unix_ms() // 1000
        self._node.memory.tracker.prune()
        self._clients.close_idle()
        self._log.reopen_if_moved()
        self._supervision.tick(self._node)
