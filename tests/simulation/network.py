"""A network that delays, splits and cuts. Within one connection bytes are never reordered, doubled or skipped."""

from __future__ import annotations

import random
from collections import deque
from typing import Protocol

from tests.simulation.clock import Clock

POLL_S = 0.05


class End(Protocol):
    """Who sits at an end of a wire."""

    def wire_received(self, wire: Wire, data: bytes) -> None: ...

    def wire_lost(self, wire: Wire) -> None: ...

    def wire_wants_data(self, wire: Wire) -> bool: ...


class Wire:
    """One connection. Side 0 is who connected, side 1 who accepted."""

    def __init__(self, clock: Clock, rng: random.Random, ends: tuple[End, End], max_delay_s: float) -> None:
        self.is_open = True
        self.stalled_until = 0.0
        self.goes_nowhere = False
        """A black hole: nothing arrives any more, and nobody is told, not even of the other end's closing."""
        self._clock = clock
        self._rng = rng
        self.ends = ends
        self._max_delay_s = max_delay_s
        self._flying: tuple[deque[bytes], deque[bytes]] = (deque(), deque())
        self._arrives = [0.0, 0.0]

    def in_flight_bytes(self, side: int) -> int:
        """Bytes sent by `side` that the other has not taken."""
        return sum(map(len, self._flying[side]))

    def send(self, side: int, data: bytes) -> None:
        """Data of one side; it arrives in a few pieces."""
        while data and self.is_open:
            size = len(data) if self._rng.random() < 0.5 else self._rng.randint(1, len(data))
            self._flying[side].append(data[:size])
            data = data[size:]
            due = self._clock.now + self._rng.random() * self._max_delay_s
            self._arrives[side] = max(self._arrives[side], due)
            self._clock.at(self._arrives[side], lambda: self._deliver(side))

    def close(self, side: int) -> None:
        """One side hangs up: what it sent still arrives, then the other side hears of it."""
        if self.goes_nowhere:
            self.is_open = False
        elif self.is_open:
            self._ends_heard(1 - side, max(self._arrives[side], self._clock.now))

    def cut(self) -> None:
        """The network breaks it: what is on the way is lost, both sides hear of it sooner or later."""
        if not self.is_open:
            return
        self.is_open = False
        for side in (0, 1):
            self._flying[side].clear()
            end = self.ends[side]
            self._clock.after(self._rng.random() * 2, lambda end=end: end.wire_lost(self))  # type: ignore[misc]

    def _ends_heard(self, side: int, when: float) -> None:
        def hear() -> None:
            if self.goes_nowhere:
                return
            if self._flying[1 - side] and self.is_open:
                self._clock.after(POLL_S, hear)
                return
            self.is_open = False
            self.ends[side].wire_lost(self)

        self._clock.at(when, hear)

    def _deliver(self, side: int) -> None:
        flying = self._flying[side]
        if not flying or not self.is_open or self.goes_nowhere:
            return
        receiver = self.ends[1 - side]
        if self._clock.now < self.stalled_until or not receiver.wire_wants_data(self):
            self._arrives[side] = max(self._arrives[side], self._clock.now + POLL_S)
            self._clock.after(POLL_S, lambda: self._deliver(side))
            return
        receiver.wire_received(self, flying.popleft())
