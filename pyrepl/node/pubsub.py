"""The subscriptions of all clients, by channel and by pattern, and the messages that a PUBLISH makes for them.

Nothing is sent here: `publish` returns (client id, message) pairs, which the caller puts into `Node.deliveries`.
The commands and their replies are `pyrepl.commands.session.pubsub`. Shard channels have names of their own: a message
to one reaches neither the channel of the same name nor patterns (Redis 7.0).
"""

from __future__ import annotations

from typing import final

from pyrepl.glob import Glob
from pyrepl.node.client import Client
from pyrepl.resp.reply import Push, Reply


@final
class PubSub:
    """All subscriptions of a node.

    Invariants: a client's id stands under a channel exactly if the channel is in `Client.channels`, and likewise for
    patterns and shard channels; none of these is kept without listeners. Listeners stay in the order in which they
    came, as in Redis, hence dicts where sets would do.
    """

    __slots__ = ("_channels", "_globs", "_patterns", "_shard_channels")

    def __init__(self) -> None:
        self._channels: dict[bytes, dict[int, None]] = {}
        self._patterns: dict[bytes, dict[int, None]] = {}
        self._globs: dict[bytes, Glob] = {}
        """The compiled form of each key of `_patterns`."""
        self._shard_channels: dict[bytes, dict[int, None]] = {}

    def subscribe(self, client: Client, channel: bytes) -> bool:
        """Subscribe a client. True if it was not subscribed to the channel before."""
        if channel in client.channels:
            return False
        client.subscribe(channel)
        self._channels.setdefault(channel, {})[client.id] = None
        return True

    def unsubscribe(self, client: Client, channel: bytes) -> bool:
        """End a subscription. True if the client was subscribed to the channel."""
        if channel not in client.channels:
            return False
        client.unsubscribe(channel)
        _take_out(self._channels, channel, client.id)
        return True

    def psubscribe(self, client: Client, pattern: bytes) -> bool:
        """Subscribe a client to a pattern. True if it was not subscribed to this very pattern before."""
        if pattern in client.patterns:
            return False
        client.psubscribe(pattern)
        self._patterns.setdefault(pattern, {})[client.id] = None
        if pattern not in self._globs:
            self._globs[pattern] = Glob(pattern)
        return True

    def punsubscribe(self, client: Client, pattern: bytes) -> bool:
        """End a subscription to a pattern. True if the client was subscribed to this very pattern."""
        if pattern not in client.patterns:
            return False
        client.punsubscribe(pattern)
        _take_out(self._patterns, pattern, client.id)
        if pattern not in self._patterns:
            del self._globs[pattern]
        return True

    def ssubscribe(self, client: Client, channel: bytes) -> bool:
        """Subscribe a client to a shard channel. True if it was not subscribed to it before."""
        if channel in client.shard_channels:
            return False
        client.ssubscribe(channel)
        self._shard_channels.setdefault(channel, {})[client.id] = None
        return True

    def sunsubscribe(self, client: Client, channel: bytes) -> bool:
        """End a subscription to a shard channel. True if the client was subscribed to it."""
        if channel not in client.shard_channels:
            return False
        client.sunsubscribe(channel)
        _take_out(self._shard_channels, channel, client.id)
        return True

    def drop(self, client: Client) -> None:
        """End all subscriptions of a client that has gone or sends RESET, without messages to it."""
        for channel in list(client.channels):
            self.unsubscribe(client, channel)
        for pattern in list(client.patterns):
            self.punsubscribe(client, pattern)
        for channel in list(client.shard_channels):
            self.sunsubscribe(client, channel)

    def publish(self, channel: bytes, message: bytes) -> list[tuple[int, Reply]]:
        """(client id, message) in the order of sending: first for the channel's listeners, then for those of each
        pattern that matches.

        A client with several subscriptions that match gets the message once for each. The length of the list is the
        reply of PUBLISH.
        """
        deliveries: list[tuple[int, Reply]] = []
        listeners = self._channels.get(channel)
        if listeners:
            note = Push((b"message", channel, message))
            deliveries.extend([(client_id, note) for client_id in listeners])
        for pattern, glob in self._globs.items():
            if glob.matches(channel):
                note = Push((b"pmessage", pattern, channel, message))
                deliveries.extend([(client_id, note) for client_id in self._patterns[pattern]])
        return deliveries

    def spublish(self, channel: bytes, message: bytes) -> list[tuple[int, Reply]]:
        """As `publish`, for the listeners of a shard channel."""
        note = Push((b"smessage", channel, message))
        return [(client_id, note) for client_id in self._shard_channels.get(channel, ())]

    def channels(self, pattern: bytes | None = None) -> list[bytes]:
        """The channels that have subscribers by name: those that match `pattern`, or all for None."""
        return _matching(self._channels, pattern)

    def shard_channels(self, pattern: bytes | None = None) -> list[bytes]:
        """As `channels`, of shard channels."""
        return _matching(self._shard_channels, pattern)

    def listeners_count(self, channel: bytes) -> int:
        """How many clients listen to a channel by its name."""
        return len(self._channels.get(channel, ()))

    def shard_listeners_count(self, channel: bytes) -> int:
        """How many clients listen to a shard channel."""
        return len(self._shard_channels.get(channel, ()))

    @property
    def channels_count(self) -> int:
        """INFO's pubsub_channels."""
        return len(self._channels)

    @property
    def patterns_count(self) -> int:
        """Different patterns, however many clients share one: INFO's pubsub_patterns and PUBSUB NUMPAT."""
        return len(self._patterns)

    @property
    def shard_channels_count(self) -> int:
        """INFO's pubsubshard_channels."""
        return len(self._shard_channels)


def _matching(listeners_by_name: dict[bytes, dict[int, None]], pattern: bytes | None) -> list[bytes]:
    if pattern is None:
        return list(listeners_by_name)
    glob = Glob(pattern)
    return [name for name in listeners_by_name if glob.matches(name)]


def _take_out(listeners_by_name: dict[bytes, dict[int, None]], name: bytes, client_id: int) -> None:
    listeners = listeners_by_name[name]
    del listeners[client_id]
    if not listeners:
        del listeners_by_name[name]
