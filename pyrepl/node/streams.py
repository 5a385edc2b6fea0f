"""The subscribers of change streams at this node, and the counts of what was sent to them, for INFO.

Not here: the connections (the daemon's stream server, which keeps this up to date) and the machine of each
(changes/subscription.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from pyrepl.changes.subscription import Subscription


@final
class Subscriber:
    """One connection to the stream port."""

    __slots__ = ("addr", "id", "since", "subscription")

    def __init__(self, subscriber_id: int, addr: str, since: float, subscription: Subscription) -> None:
        """`since` is monotonic seconds."""
        self.id = subscriber_id
        self.addr = addr
        self.since = since
        self.subscription = subscription


@final
class StreamState:
    """The state of the stream port. Invariant: `subscribers` holds the Subscriber of each open connection by its id."""

    def __init__(self) -> None:
        self.port = 0
        """The port that was bound; 0 while there is none."""
        self.name = ""
        self.subscribers: dict[int, Subscriber] = {}
        self.total_connections = 0
        self.rejected_connections = 0
        self.cut_for_output = 0
        """Subscribers whose connections were closed because they did not read."""
        self.errors_sent = 0
        self.rows_of_ended = 0
        """Rows sent to subscribers that are gone."""

    @property
    def rows_sent(self) -> int:
        return self.rows_of_ended + sum(one.subscription.rows_sent for one in self.subscribers.values())

    @property
    def output_bytes(self) -> int:
        """The bytes that wait to be read by all subscribers together."""
        return sum(one.subscription.unsent_bytes for one in self.subscribers.values())
