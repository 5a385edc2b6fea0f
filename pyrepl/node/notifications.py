"""Keyspace notifications: tells subscribers what happens to keys, as `notify-keyspace-events` asks (Redis 8.2).

Each event whose class is wanted is up to two messages: its name to `__keyspace@<db>__:<key>` (K), its key to
`__keyevent@<db>__:<event>` (E). They go to this node's own clients; a replica makes its own from the commands of its
master's stream.

Not here: what has happened (`keyspace.events`), and what a command calls it (`commands.engine.key_events`).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.keyspace.database import Keyspace
from pyrepl.keyspace.events import Fact
from pyrepl.node.conditions import Condition, Conditions
from pyrepl.node.pubsub import PubSub
from pyrepl.resp.reply import Reply

EVERYTHING: Final = frozenset("g$lshzxetd")
"""The classes that `A` stands for; not m, n, o and c (Redis 8.2)."""


@final
class Notifications:
    """The keyspace notifications of a node.

    Invariant: the keyspace notes facts, and the condition NOTIFIED holds, exactly while a class and K or E are wanted.
    """

    __slots__ = ("_classes", "_conditions", "_keyspace", "_pubsub", "_to_events", "_to_keys")

    def __init__(self, keyspace: Keyspace, pubsub: PubSub, conditions: Conditions) -> None:
        self._keyspace = keyspace
        self._pubsub = pubsub
        self._conditions = conditions
        self._classes: frozenset[str] = frozenset()
        self._to_keys = False
        self._to_events = False

    def follow(self, wanted: str) -> None:
        """Take over the value of notify-keyspace-events: letters of classes, K and E."""
        letters = frozenset(wanted)
        self._classes = (letters | EVERYTHING if "A" in letters else letters) - {"A", "K", "E"}
        self._to_keys, self._to_events = "K" in letters, "E" in letters
        active = bool(self._classes) and (self._to_keys or self._to_events)
        self._keyspace.note_facts(active)
        self._conditions.note(Condition.NOTIFIED, active)

    def messages(self, events: list[Fact]) -> list[tuple[int, Reply]]:
        """(client id, message) for all who listen to one of these events, in order; no CHANGED is among them."""
        deliveries: list[tuple[int, Reply]] = []
        publish = self._pubsub.publish
        for event, index, key in events:
            if event.kind not in self._classes:
                continue
            if self._to_keys:
                deliveries += publish(b"__keyspace@%d__:%b" % (index, key), event.name)
            if self._to_events:
                deliveries += publish(b"__keyevent@%d__:%b" % (index, event.name), key)
        return deliveries
