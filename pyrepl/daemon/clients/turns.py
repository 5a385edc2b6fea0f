"""What happens before and after the commands of clients: around each turn of the poller, and around each batch. Hot.

A turn serves all sockets that are ready; a batch is the commands that one read brought. `poller` calls `begin_turn` and
`end_turn`, `client_conn` calls `begin_batch` and `end_batch`; a batch may also come outside of a turn, when a held
client goes on. The node's time is set before each batch. Messages to other clients go out after each batch, stream
bytes to replicas are planned once a turn, and then the replies are written (`outbox`).
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
    """The turns of a node's clients. Invariant: between `begin_turn` and `end_turn` the Unix clock is read once."""

    def __init__(self, node: Node, signals: Signals, clock: Clock) -> None:
        self._node = node
        self._deliveries: Final = signals.deliveries
        self._stream_grew: Final = signals.stream_grew
        self.before_replies: Final = signals.before_replies
        self.outbox = Outbox(signals.before_replies)
        self.limits_output = False
        """Is there a client-output-buffer-limit for normal clients? Set by `Clients`."""
        self._clock = clock
        self.now: Final = clock.now
        """Monotonic seconds."""
        self._in_turn = False
        self._unix_offset_ms = 0.0
        """Unix ms minus monotonic ms, as of this turn."""

    def begin_turn(self) -> None:
        """The poller serves sockets from now on; `end_turn` follows."""
        self._in_turn = True
        self._read_clocks()
        self.outbox.begin_turn()

    def end_turn(self) -> None:
        """Tell that the stream may have grown, then write the replies."""
        self._in_turn = False
        self._stream_grew.tell()
        self.outbox.end_turn()

    @property
    def in_turn(self) -> bool:
        """Does the poller serve sockets now?"""
        return self._in_turn

    def begin_batch(self, client: Client, commands: int) -> int:
        """Set the node's time, and count the `commands` of this batch of `client`. Returns the time in Unix ms."""
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
        """Send messages that the batch left for other clients. Outside of a turn, also tell that the stream may have
        grown."""
        if self._node.has_messages:
            self._deliveries.tell()
        if not self._in_turn:
            self._stream_grew.tell()

    def _read_clocks(self) -> None:
        self._unix_offset_ms = self._clock.unix_ms_exact() - self.now() * 1000.0
