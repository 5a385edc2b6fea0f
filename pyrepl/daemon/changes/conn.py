"""One subscriber's connection: the shell around changes.subscription.Subscription. Compiled, as its base class is.

`server` makes it and decides who may come in; `hub` reads the streams and calls it with rows. The subscription decides
what is sent; this shell writes it and carries out the subscription's events.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from pyrepl.changes.block import Block
from pyrepl.changes.subscription import (
    LOW_WATER_BYTES,
    Denied,
    Ended,
    Heard,
    HeardCommand,
    Subscribed,
    Subscription,
    Wanted,
)
from pyrepl.changes.verbs import LineCommand
from pyrepl.daemon.clients.polled_socket import PolledSocket, Receiver
from pyrepl.daemon.clock import Clock

LINGER_S: Final = 2.0
"""How many seconds a subscriber has to read the last bytes before its connection is cut."""


class Hub(Protocol):
    """The part of `StreamHub` that a connection uses."""

    def want(self, conn: StreamConn, wanted: Wanted) -> None:
        """Read the rows that `wanted` names for `conn`, in a later turn of the loop."""


class StreamOwner(Protocol):
    """What a connection tells `StreamServer`, which keeps all of them."""

    clock: Clock

    @property
    def hub(self) -> Hub: ...

    def forget(self, conn: StreamConn) -> None:
        """The connection has ended, by whichever side."""

    def heard(self, conn: StreamConn, command: HeardCommand) -> None:
        """The subscriber sent a command that concerns others."""

    def subscribed(self, conn: StreamConn, event: Subscribed) -> None:
        """The subscriber follows a stream from now on."""

    def denied(self, conn: StreamConn, event: Denied) -> None:
        """Something was refused to the subscriber."""

    def ended(self, conn: StreamConn, event: Ended) -> None:
        """The subscription has ended; the connection closes."""


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
        """Serve `subscription` over `transport` from now on."""
        self.transport = transport
        self.subscription = subscription
        # At this mark the subscription stops giving more; resume_writing must come whenever it has stopped.
        transport.set_write_buffer_limits(high=LOW_WATER_BYTES - 1)

    def data_received(self, data: bytes) -> None:
        self.subscription.receive(data, self._clock.now())
        self.work()

    def eof_received(self) -> None:
        """The subscriber sends no more. The socket closes by itself once all that was written is out."""

    def resume_writing(self) -> None:
        self.work()

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.forget(self)

    def rows(self, block: Block, writer: str | None) -> None:
        """The rows that the subscription wanted."""
        self.subscription.rows(block, writer, self._clock.now())
        self.work()

    def refused(self, wanted: Wanted, reason: str) -> None:
        self.subscription.refused(wanted.stream, wanted.writer, reason)
        self.work()

    def live(self, block: Block) -> None:
        """New rows of a stream. They serve subscribers that follow the whole stream, and those that follow the block's
        writer."""
        now = self._clock.now()
        self.subscription.live(block, None, now)
        self.subscription.live(block, block.writer, now)
        self.work()

    def live_in(self, block: Block, writer: str | None) -> None:
        """New rows of a stream for subscribers that follow it in one form: `writer`, or None for the whole stream."""
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

    def users_changed(self) -> None:
        self.subscription.users_changed()
        self.work()

    def close(self, reason: str) -> None:
        self.subscription.close(reason)
        self.work()

    def tick(self, now: float) -> None:
        """Look at the deadlines; to be called a few times a second."""
        if self._close_by is not None:
            if now >= self._close_by:
                self.transport.abort()
            return
        deadline = self.subscription.next_deadline()
        if deadline is not None and now >= deadline:
            self.subscription.tick(now)
            self.work()

    def work(self) -> None:
        """Write what the subscription has to say, and carry out its events."""
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
            elif isinstance(event, Denied):
                self._streams.denied(self, event)
            elif isinstance(event, Ended):
                self._end(event)

    def _end(self, event: Ended) -> None:
        self._streams.ended(self, event)
        self._close_by = self._clock.now() + LINGER_S
        self.transport.close()
