"""Client-side caching: which clients may hold which keys, and the messages by which they learn that a key has changed.

The rules are Redis's (8.2, `tracking.c`). In the usual mode the table remembers, for each key that a client has read,
who read it; the first change of the key tells them, and forgets them. With BCAST nothing is remembered: clients are
told of all keys with a prefix, once for each batch of commands. Databases are not told apart: a key of the same name
elsewhere counts as changed too.

Messages go into `Node.deliveries`, so they come behind the reply of the command that made the change. While no client
tracks, nobody follows the keyspace, and it costs nothing.

Not here: the commands (`commands.session.tracking`), the options of one client (`tracking_mode`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.follower import Follower
from pyrepl.node.client import Client
from pyrepl.node.tracking_mode import TrackingMode
from pyrepl.resp.reply import Push, Reply

CHANNEL: Final = b"__redis__:invalidate"
"""Where clients that speak RESP2 hear for others."""


@final
class Tracking(Follower):
    """The tracking of all clients of a node.

    Invariants: `clients_count` is how many clients have a mode (`Client.tracking`); the keyspace is followed exactly
    while it is not 0, and the table is empty while it is. `items_count` is the sum of the sizes of the table's values.
    """

    __slots__ = (
        "_clients",
        "_deliveries",
        "_keyspace",
        "_max_keys",
        "_pending",
        "_prefixes",
        "_readers",
        "clients_count",
        "items_count",
        "writer",
    )

    def __init__(self, keyspace: Keyspace, clients: dict[int, Client], deliveries: list[tuple[int, Reply]]) -> None:
        self._keyspace = keyspace
        self._clients = clients
        self._deliveries = deliveries
        self._max_keys = 0
        self._readers: dict[bytes, dict[int, None]] = {}
        """Key -> ids of the clients that have read it, in that order; some may be gone."""
        self._prefixes: dict[bytes, dict[int, None]] = {}
        """Prefix -> ids of the BCAST clients that asked for it."""
        self._pending: dict[bytes, dict[bytes, int]] = {}
        """Prefix -> keys that have changed and are not told yet, each with the id of the client that did it, or 0."""
        self.writer: Client | None = None
        """The client whose command is executed; None may stand for one that does not track. Set by the dispatcher."""
        self.clients_count = 0
        self.items_count = 0

    @property
    def keys_count(self) -> int:
        """INFO's tracking_total_keys."""
        return len(self._readers)

    @property
    def prefixes_count(self) -> int:
        """INFO's tracking_total_prefixes."""
        return len(self._prefixes)

    @property
    def is_pending(self) -> bool:
        """Has `tell_prefixes` something to tell?"""
        return bool(self._pending)

    def begin(self, client: Client, mode: TrackingMode, prefixes: Iterable[bytes]) -> None:
        """CLIENT TRACKING ON: the client is told as `mode` says from now on; `prefixes` join those it has (BCAST)."""
        if client.tracking is None:
            self.clients_count += 1
        else:
            mode.prefixes.update(client.tracking.prefixes)
            mode.caching = client.tracking.caching
        client.track(mode)
        for prefix in prefixes:
            mode.prefixes[prefix] = None
            self._prefixes.setdefault(prefix, {})[client.id] = None
        self._keyspace.follow(self)

    def end(self, client: Client) -> None:
        """CLIENT TRACKING OFF, RESET, or the client has gone. Harmless if it did not track."""
        mode = client.tracking
        if mode is None:
            return
        client.track(None)
        for prefix in mode.prefixes:
            told = self._prefixes[prefix]
            del told[client.id]
            if not told:
                del self._prefixes[prefix]
                self._pending.pop(prefix, None)
        self.clients_count -= 1
        if not self.clients_count:
            self._keyspace.follow(None)
            self._forget()

    def remember(self, client: Client, keys: list[bytes]) -> None:
        """The client has read these keys, and may keep what it read, if its mode says so."""
        mode = client.tracking
        if mode is None or not mode.remembers:
            return
        reader = client.id
        for key in keys:
            readers = self._readers.get(key)
            if readers is None:
                self._readers[key] = {reader: None}
                self.items_count += 1
            elif reader not in readers:
                readers[reader] = None
                self.items_count += 1
        if 0 < self._max_keys < len(self._readers):
            self._limit()

    def resize(self, max_keys: int) -> None:
        """Remember `max_keys` at most from now on (tracking-table-max-keys); 0: no limit. Whoever has read the keys
        that are remembered for the longest time is told that they are not valid; Redis takes random ones."""
        self._max_keys = max_keys
        self._limit()

    def _limit(self) -> None:
        while self._max_keys and len(self._readers) > self._max_keys:
            self._tell_readers(next(iter(self._readers)))

    def key_touched(self, key: bytes) -> None:
        """See Follower."""
        if key in self._readers:
            self._tell_readers(key)
        for prefix in self._prefixes:
            if key.startswith(prefix):
                changed_by = 0 if self.writer is None else self.writer.id
                self._pending.setdefault(prefix, {}).setdefault(key, changed_by)

    def keys_flushed(self) -> None:
        """See Follower."""
        self._forget()
        message = _invalidation(None)
        for client in self._clients.values():
            if client.tracking is not None:
                self._send(client, client.tracking, message)

    def tell_prefixes(self) -> None:
        """Tell the BCAST clients of all keys that have changed since the last time."""
        pending, self._pending = self._pending, {}
        for prefix, keys in sorted(pending.items()):
            for client_id in self._prefixes.get(prefix, ()):
                client = self._clients[client_id]
                mode = client.tracking
                assert mode is not None
                told: list[Reply] = [key for key, by in sorted(keys.items()) if not (mode.noloop and by == client_id)]
                if told:
                    self._send(client, mode, _invalidation(told))

    def _tell_readers(self, key: bytes) -> None:
        readers = self._readers.pop(key)
        self.items_count -= len(readers)
        message = _invalidation([key])
        for client_id in readers:
            client = self._clients.get(client_id)
            mode = None if client is None else client.tracking
            if client is None or mode is None or mode.bcast or (mode.noloop and client is self.writer):
                continue
            self._send(client, mode, message)

    def _send(self, client: Client, mode: TrackingMode, message: Push) -> None:
        """Tell a client, or the one that hears in its place, of an `_invalidation`. Who speaks RESP2 hears it as a
        published message, and only for another client and if it has a subscription."""
        target: Client | None = client
        if mode.redirect:
            target = self._clients.get(mode.redirect)
            if target is None:
                mode.is_broken = True
                if client.proto > 2:
                    self._deliveries.append((client.id, Push((b"tracking-redir-broken", mode.redirect))))
                return
        assert target is not None
        if target.proto > 2:
            self._deliveries.append((target.id, message))
        elif mode.redirect and target.subscribed:
            self._deliveries.append((target.id, Push((b"message", CHANNEL, message.items[1]))))

    def _forget(self) -> None:
        self._readers.clear()
        self.items_count = 0


def _invalidation(keys: list[Reply] | None) -> Push:
    """The message that `keys` are not valid any more; None: no key is. One object for all who hear it, so that it is
    encoded once."""
    return Push((b"invalidate", keys))
