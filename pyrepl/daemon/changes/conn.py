"""One subscriber's connection: the shell of changes.subscription.Subscription. Compiled, as its base class is.

What it follows comes from `hub`; who may come in is `server`'s.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from pyrepl.changes.block import Block
from pyrepl.changes.subscription import LOW_WATER_BYTES, Ended, Heard, HeardCommand, Subscribed, Subscription, Wanted
from pyrepl.changes.verbs import LineCommand
from pyrepl.daemon.clients.polled_socket import PolledSocket, Receiver
from pyrepl.daemon.clock import Clock

LINGER_S: Final = 2.0
"""How long a connection that is to be closed may take to read the rest."""


class Hub(Protocol):
    """What reads for subscribers."""

    def want(self, conn: StreamConn, wanted: Wanted) -> None: ...


class StreamOwner(Protocol):
    """What a connection tells whoever keeps all of them."""

    clock: Clock

    @property
    def hub(self) -> Hub: ...

    def forget(self, conn: StreamConn) -> None: ...

    def heard(self, conn: StreamConn, command: HeardCommand) -> None: ...

    def subscribed(self, conn: StreamConn, event: Subscribed) -> None: ...

    def ended(self, conn: StreamConn, event: Ended) -> None: ...


@final
class StreamConn(Receiver):
    """The shell of one connection. `subscription` and `transport` are set from `enter` on."""

    subscription: Subscription
    transport: PolledSocket

    def __init__(self, streams: StreamOwner) -> None:
        self._streams = streams
        self._clock = streams.clock
        self.id = 0
        self.addr = ""
        self._close_by: float | None = None

    def enter(self, transport: PolledSocket, subscription: Subscription) -> None:
        """The connection came in."""
        self.transport = transport
        self.subscription = subscription
        # So that resume_writing comes when the machine has stopped to give more.
        transport.set_write_buffer_limits(high=LOW_WATER_BYTES - 1)

    def data_received(self, data: bytes) -> None:
        self.subscription.receive(data, self._clock.now())
        self.work()

    def eof_received(self) -> None:
        """The subscriber says nothing more: the connection closes once what was written is out."""

    def resume_writing(self) -> None:
        self.work()

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.forget(self)

    def rows(self, block: Block, writer: str | None) -> None:
        """The answer to something wanted."""
        self.subscription.rows(block, writer, self._clock.now())
        self.work()

    def refused(self, wanted: Wanted, reason: str) -> None:
        self.subscription.refused(wanted.stream, wanted.writer, reason)
        self.work()

    def live(self, block: Block) -> None:
        """News of a stream, for who follows it with or without named writers."""
        now = self._clock.now()
        self.subscription.live(block, None, now)
        self.subscription.live(block, block.writer, now)
        self.work()

    def live_in(self, block: Block, writer: str | None) -> None:
        """News of a stream, for who follows it in this form."""
        self.subscription.live(block, writer, self._clock.now())
        self.work()

    def appeared(self, stream: str, writer: str) -> None:
        self.subscription.appeared(stream, writer)
        self.work()

    def say(self, command: LineCommand) -> None:
        self.subscription.say(command)
        self.work()

    def renamed(self, old_replid: str, streams: list[str], fork: int) -> None:
        self.subscription.renamed(old_replid, streams, fork)
        self.work()

    def fall_behind(self, streams: list[str]) -> None:
        self.subscription.fall_behind(streams)
        self.work()

    def history_lost(self, streams: list[str], reason: str) -> None:
        self.subscription.history_lost(streams, reason)
        self.work()

    def close(self, reason: str) -> None:
        self.subscription.close(reason)
        self.work()

    def tick(self, now: float) -> None:
        """Do what is due; call it a few times a second."""
        if self._close_by is not None:
            if now >= self._close_by:
                self.transport.abort()
            return
        deadline = self.subscription.next_deadline()
        if deadline is not None and now >= deadline:
            self.subscription.tick(now)
            self.work()

    def work(self) -> None:
        """Write what is to be written and act on what happened."""
        if self._close_by is not None:
            return
        subscription = self.subscription
        out = subscription.data_to_send()
        if out and not self.transport.is_closing():
            self.transport.write(out[0] if len(out) == 1 else b"".join(out))
        subscription.note_unsent(self.transport.get_write_buffer_size())
        for event in subscription.events():
            if isinstance(event, Wanted):
                self._streams.hub.want(self, event)
            elif isinstance(event, Heard):
                self._streams.heard(self, event.command)
            elif isinstance(event, Subscribed):
                self._streams.subscribed(self, event)
            elif isinstance(event, Ended):
                self._end(event)

    def _end(self, event: Ended) -> None:
        self._streams.ended(self, event)
        self._close_by = self._clock.now() + LINGER_S
        self.transport.close()
