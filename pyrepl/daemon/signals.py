"""Signals: facts that one part of a node tells, and that other parts have subscribed to. Hot.

The part that tells a fact does not know its subscribers. App subscribes them all, so that the order in which they hear
stands in one place. A question that needs an answer is no signal: the part that asks is given the part that knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, final

from pyrepl.replication.events import OtherChild

T = TypeVar("T")


@final
class Signal:
    """A fact without an argument. Subscribers are called in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, *subscribers: Callable[[], None]) -> None:
        """Let them hear from now on, after those that do already."""
        self._subscribers.extend(subscribers)

    def tell(self) -> None:
        """Call all subscribers. An exception of a subscriber goes to the caller, and the subscribers behind it are not
        called."""
        for subscriber in self._subscribers:
            subscriber()


@final
class SignalOf(Generic[T]):
    """As `Signal`, for a fact with an argument."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[T], None]] = []

    def subscribe(self, *subscribers: Callable[[T], None]) -> None:
        """Let them hear from now on, after those that do already."""
        self._subscribers.extend(subscribers)

    def tell(self, what: T) -> None:
        """Call all subscribers with `what`. Exceptions as in `Signal.tell`."""
        for subscriber in self._subscribers:
            subscriber(what)


@final
class Signals:
    """The signals of a node."""

    def __init__(self) -> None:
        self.stream_grew = Signal()
        """Our stream may have grown: a batch of commands, or a turn of them, is done, or our master sent something.
        Told so often that subscribers only plan what they do."""
        self.deliveries = Signal()
        """Commands have left messages for other clients (`node.deliveries`)."""
        self.stream_ends = Signal()
        """Our data and stream are about to be replaced by those of a master."""
        self.stream_begins = Signal()
        """Our data and stream were replaced by those of a master."""
        self.before_replies = Signal()
        """Replies are about to be written: the writes that they acknowledge may have to be on disk before."""
        self.before_feed = Signal()
        """The stream or its name is about to go out to replicas: our own disk must have it first, or after a crash
        replicas would have more than we."""
        self.acked = Signal()
        """A replica may have acknowledged more of the stream."""
        self.fsynced = Signal()
        """The append-only file may have more of the stream on disk, or is not kept any more."""
        self.role_changes = Signal()
        """This node is about to follow a master, or another master: waits that only a master can fulfil must end."""
        self.take_over = Signal()
        """Our master hands over to us, and nothing forbids it: become the master."""
        self.handed_over = SignalOf[str]()
        """The end of our hand-over: empty when the other node is the master now, otherwise the reason why not."""
        self.other_child = SignalOf[OtherChild | None]()
        """A child process that is not for replicas has begun, or ended (None)."""
