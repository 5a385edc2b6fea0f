"""What many parts of a node want to know: each fact is a signal, and who wants to know subscribes to it. Hot.

Who tells a fact does not know who hears of it; App, which makes the parts, subscribes them, so that the order in which
they hear stands in one place. A question that has an answer is no signal: who asks is given the part that knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class Signal:
    """A fact that is told without a word more: its subscribers are called in the order in which they came."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[], None]] = []

    def subscribe(self, *subscribers: Callable[[], None]) -> None:
        """Let them hear from now on, after those that do already."""
        self._subscribers.extend(subscribers)

    def tell(self) -> None:
        """It has happened, or is about to. What a subscriber raises is the teller's."""
        for subscriber in self._subscribers:
            subscriber()


@final
class SignalOf(Generic[T]):
    """As `Signal`, for a fact that has something to say."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[T], None]] = []

    def subscribe(self, *subscribers: Callable[[T], None]) -> None:
        """Let them hear from now on, after those that do already."""
        self._subscribers.extend(subscribers)

    def tell(self, what: T) -> None:
        """It has happened. What a subscriber raises is the teller's."""
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
        """Our data and stream are about to be replaced by another one's."""
        self.stream_begins = Signal()
        """They were replaced."""
        self.before_replies = Signal()
        """Replies are about to go out: what they acknowledge may have to be on disk."""
        self.before_feed = Signal()
        """The stream or its name is about to go out: what replicas have, we are to have after a crash."""
        self.acked = Signal()
        """A replica has acknowledged something."""
        self.fsynced = Signal()
        """The append-only file may have more of the stream on disk, or is kept no more."""
        self.role_changes = Signal()
        """We are about to be no master any more, or another one's replica: nobody will acknowledge to us."""
        self.take_over = Signal()
        """Our master hands over to us, and may: be the master."""
        self.handed_over = SignalOf[str]()
        """How our hand-over went: empty when the other end is the master now, else why it is not."""
        self.other_child = SignalOf[bool]()
        """A child process that is not for replicas has begun (True) or ended."""
