"""A writer that goes on while the tree below and above it changes; beside `peers.writer`, whose node stays the same."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.peers.lab import Node
from tests.peers.wire import ErrorReply, Word


class Writing:
    """A thread that writes to the root of the moment, and finds the next one when it is told off."""

    def __init__(self, root: Node, rng: random.Random) -> None:
        self.root = root
        self.written = 0
        self._rng = rng
        self._go_on = threading.Event()
        self._idle = threading.Event()
        self._ended = False
        self._go_on.set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing is written meanwhile."""
        self._idle.clear()
        self._go_on.clear()
        assert self._idle.wait(120), "the writer does not come to rest"
        yield
        self._go_on.set()

    def has_written(self, commands: int) -> bool:
        """Were at least so many commands accepted?"""
        return self.written >= commands

    def end(self) -> None:
        """Write no more."""
        self._ended = True
        self._go_on.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def command(self) -> tuple[Word, ...]:
        rng, key, value = self._rng, self._rng.randrange(50), self._rng.randrange(1_000_000)
        choices: tuple[tuple[Word, ...], ...] = (
            ("SET", f"s{key}", value),
            ("INCR", f"n{key}"),
            ("RPUSH", f"l{key % 5}", value),
            ("LTRIM", f"l{key % 5}", -100, -1),
            ("SADD", f"t{key}", value),
            ("SPOP", f"t{key}"),
            ("HSET", f"h{key}", f"f{value % 20}", value),
            ("ZADD", f"z{key}", value, f"m{value % 50}"),
            ("XADD", f"x{key % 5}", "MAXLEN", 50, "*", "f", value),
            ("DEL", f"t{key}"),
            ("SELECT", rng.randrange(3)),
        )
        return rng.choice(choices)

    def _run(self) -> None:
        while not self._ended:
            if not self._go_on.is_set():
                self._idle.set()
                self._go_on.wait(60)
            try:
                with self.root.connect(timeout_s=60) as wire:
                    root = self.root
                    while root is self.root and self._go_on.is_set() and not self._ended:
                        replies = wire.pipeline([self.command() for _ in range(20)])
                        self.written += sum(not isinstance(reply, ErrorReply) for reply in replies)
                        time.sleep(0.005)
            except (ConnectionError, OSError, ErrorReply):
                time.sleep(0.01)
