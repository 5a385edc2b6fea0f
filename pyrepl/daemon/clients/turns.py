"""The frame of what clients send: turns, in which the sockets are looked at, and batches, what one read brought. Hot.

The node's time is set for each batch; what a batch means for others goes out behind it, or at the end of the turn, and
the replies after that (`outbox`).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.daemon.clients.outbox import Outbox
from pyrepl.daemon.clock import Clock
from pyrepl.daemon.signals import Signals
from pyrepl.node.client import Client
from pyrepl.node.node import Node


@final
class Turns:
    """The turns of a node's clients. Invariant: between `begin_turn` and `end_turn` the clocks are read once."""

    def __init__(self, node: Node, signals: Signals, clock: Clock) -> None:
        self._node = node
        self._deliveries: Final = signals.deliveries
        self._stream_grew: Final = signals.stream_grew
        self.before_replies: Final = signals.before_replies
        self.outbox = Outbox(signals.before_replies)
        self.limits_output = False
        """client-output-buffer-limit bounds what normal clients leave unread."""
        self._clock = clock
        self.now: Final = clock.now
        """Monotonic seconds."""
        self._in_turn = False
        self._unix_offset_ms = 0.0
        """Unix ms minus monotonic ms, as of this turn."""

    def begin_turn(self) -> None:
        """Requests are coming, from any number of clients; `end_turn` follows."""
        self._in_turn = True
        self._read_clocks()
        self.outbox.begin_turn()

    def end_turn(self) -> None:
        """What the turn means for others goes out, then the replies."""
        self._in_turn = False
        self._stream_grew.tell()
        self.outbox.end_turn()

    def begin_batch(self, client: Client, commands: int) -> int:
        """The frame of a batch: the node's time is set; Unix ms of it."""
        if not self._in_turn:
            self._read_clocks()
        node = self._node
        now = self.now()
        client.last_seen_at = now
        node.process.now = now
        now_ms = int(now * 1000.0 + self._unix_offset_ms)
        node.keyspace.now_ms = now_ms
        stats = node.stats
        stats.total_commands_processed += commands
        stats.total_reads_processed += 1
        client.total_commands += commands
        return now_ms

    def end_batch(self) -> None:
        """What the batch means for others: messages to clients, and stream bytes to replicas once a turn."""
        if self._node.deliveries:
            self._deliveries.tell()
        if not self._in_turn:
            self._stream_grew.tell()

    def _read_clocks(self) -> None:
        self._unix_offset_ms = self._clock.unix_ms_exact() - self.now() * 1000.0
