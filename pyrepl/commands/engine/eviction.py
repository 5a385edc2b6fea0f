"""Evicts keys until the used memory is within `maxmemory`: for the dispatcher before a command, and for the daemon.

Not here: which key goes next, and how memory is measured (`node.memory_limit`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyrepl.commands.engine.call import RandomSource
from pyrepl.commands.engine.key_events import tell_events
from pyrepl.commands.engine.propagation import send_evicted
from pyrepl.node.latency_monitor import EVICTION_CYCLE
from pyrepl.node.node import Node

_AT_ONCE: Final = 16
"""How many keys are evicted between two looks at the clock."""


def make_room(node: Node, random: RandomSource, clock: Callable[[], float], slice_s: float) -> bool:
    """Evict until used memory is not over maxmemory, for `slice_s` at most, and put the deletions into the stream.

    Returns whether the time was too short. Afterwards `full` says whether memory is over the limit with nothing left to
    evict. As in Redis 7.0, nothing is evicted and nothing refused while a data set loads or a pause lasts.
    """
    memory = node.memory
    now_ms = node.keyspace.now_ms
    memory.full = False
    if not memory.is_over or node.is_loading or node.pause.until_ms() > now_ms:
        return False
    started = now = clock()
    while memory.is_over:
        if not memory.evict(_AT_ONCE, random.below):
            memory.full = True
            break
        now = clock()
        if now > started + slice_s:
            break
    node.latency_monitor.note(EVICTION_CYCLE, now - started, now_ms)
    send_evicted(node)
    if node.conditions.notified:
        tell_events(node, "", [])
    return memory.is_over and not memory.full
