"""Connections between members: in order, but for what may overtake, with delays, lost when they are cut; a cut may be
noticed late."""

from __future__ import annotations

import random
from collections.abc import Callable

from pyrepl.mailbox.codec import Decoder, Line, encode
from pyrepl.mailbox.outgoing import overtakes
from pyrepl.mailbox.verbs import Command, Side

Schedule = Callable[[float, Callable[[], None]], None]


class Connection:
    """Both directions between two members."""

    def __init__(self, ends: tuple[str, str]) -> None:
        self.ends = ends
        self.is_cut = False
        self.is_up = False
        self.number = 0
        """Rises with each break: what was under way on an older one never arrives."""
        self.free_at = {(end, is_first): 0.0 for end in ends for is_first in (False, True)}
        """Sender, and whether it overtakes -> when its last such message arrives."""
        self.slow = 1.0
        self.lag_s = dict.fromkeys(ends, 0.0)
        """Sender -> how much longer each of its messages takes."""


class Network:
    """All connections. `deliver`, `meet` and `part` are told what happens, at the time it does: `meet` of a connection,
    `part` of each of its ends that is alive."""

    def __init__(self, rng: random.Random, names: list[str], schedule: Schedule, now: Callable[[], float]) -> None:
        self._rng = rng
        self._schedule = schedule
        self._now = now
        self.has_wire = False
        """Commands are written as lines and read again, which takes a third of a history's time."""
        pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        self.connections = {frozenset(pair): Connection(pair) for pair in pairs}
        both_ways = ((ends, each) for each in self.connections.values() for ends in (each.ends, each.ends[::-1]))
        self._between = dict(both_ways)
        self.deliver: Callable[[str, str, str, Command, str], None] = lambda *_: None
        self.meet: Callable[[str, str], None] = lambda *_: None
        self.part: Callable[[str, str], None] = lambda *_: None
        self.is_alive: Callable[[str], bool] = lambda name: True

    def of(self, one: str, other: str) -> Connection:
        return self._between[one, other]

    def send(self, sender: str, to: str, tag: str, command: Command, text: str) -> None:
        connection = self.of(sender, to)
        if not connection.is_up:
            return
        if self.has_wire:
            [line] = Decoder(Side.NODE).feed(encode(command, tag))
            assert isinstance(line, Line), line
            command = line.command
        delay = self._rng.expovariate(1 / 0.003) * connection.slow + connection.lag_s[sender]
        lane = sender, overtakes(command)
        at = max(self._now() + delay, connection.free_at[lane])
        connection.free_at[lane] = at
        number = connection.number

        def arrive() -> None:
            if connection.is_up and connection.number == number and not connection.is_cut:
                self.deliver(sender, to, tag, command, text)

        self._schedule(at, arrive)

    def stall(self, sender: str, to: str, seconds: float) -> None:
        """Nothing of this direction arrives for a time, and the connection stays up."""
        connection = self.of(sender, to)
        for lane in ((sender, False), (sender, True)):
            connection.free_at[lane] = max(self._now() + seconds, connection.free_at[lane])

    def cut(self, one: str, other: str) -> None:
        """Nothing passes any more; both ends notice within 3 s."""
        connection = self.of(one, other)
        connection.is_cut = True
        number = connection.number
        self._schedule(self._now() + self._rng.choice((0.01, 0.5, 3.0)), lambda: self._notice(connection, number))

    def _notice(self, connection: Connection, number: int) -> None:
        if connection.is_up and connection.number == number:
            self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """The connection breaks, and both ends know it."""
        connection.is_up = False
        connection.number += 1
        for one, other in (connection.ends, connection.ends[::-1]):
            if self.is_alive(one):
                self.part(one, other)

    def heal(self, one: str, other: str) -> None:
        connection = self.of(one, other)
        if connection.is_cut and connection.is_up:
            self.drop(connection)
        connection.is_cut = False
        connection.slow = 1.0
        connection.lag_s = dict.fromkeys(connection.ends, 0.0)

    def connect(self) -> None:
        """Whatever can be connected is."""
        for connection in self.connections.values():
            one, other = connection.ends
            if not connection.is_up and not connection.is_cut and self.is_alive(one) and self.is_alive(other):
                connection.is_up = True
                connection.number += 1
                connection.free_at = dict.fromkeys(connection.free_at, self._now())
                self.meet(one, other)
