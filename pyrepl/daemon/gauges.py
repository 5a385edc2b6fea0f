"""The figures of INFO that must be measured from time to time: rates per second, and the process's use of processor and
memory."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.clock import Clock
from pyrepl.daemon.service import Service
from pyrepl.node.node import Node
from pyrepl.observability.memory_use import memory_use

_RATES_EVERY_S: Final = 0.1
_USE_EVERY_S: Final = 1.0


@final
class Rates(Service):
    """Samples the counters of commands and bytes, for the rates in INFO stats."""

    def __init__(self, node: Node) -> None:
        self._stats = node.stats

    def tick(self, now: float) -> None:
        """Take a sample of each counter."""
        stats = self._stats
        stats.ops.sample(stats.total_commands_processed, now)
        stats.input.sample(stats.total_net_input_bytes, now)
        stats.output.sample(stats.total_net_output_bytes, now)
        stats.repl_input.sample(stats.total_net_repl_input_bytes, now)
        stats.repl_output.sample(stats.total_net_repl_output_bytes, now)

    def next_deadline(self, now: float) -> float:
        return now + _RATES_EVERY_S


@final
class ProcessUse(Service):
    """Asks the system how much processor time and memory the process uses."""

    def __init__(self, node: Node, clock: Clock) -> None:
        self._node = node
        self._clock = clock
        self._page_bytes = resource.getpagesize()

    def note_start(self) -> None:
        """Note how much memory a node without data uses; to be called before anything is loaded."""
        self.tick(self._clock.now())
        held_bytes, files_bytes = self._resident()
        self._node.process.startup_bytes = held_bytes - files_bytes

    def tick(self, now: float) -> None:
        """Measure the process."""
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

    def next_deadline(self, now: float) -> float:
        return now + _USE_EVERY_S

    def _resident(self) -> tuple[int, int]:
        """(bytes that the process holds in memory, bytes of them that are mapped files). If the system does not tell,
        the last measure and 0."""
        with suppress(OSError), open("/proc/self/statm", "rb") as statm:
            _, held_pages, files_pages, *_ = map(int, statm.read().split())
            return held_pages * self._page_bytes, files_pages * self._page_bytes
        return self._node.process.rss_bytes, 0
