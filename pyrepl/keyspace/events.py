"""What may happen to a key: the keyspace events of Redis 8.2, each with its class (`notify-keyspace-events`).

While somebody wants events (`Keyspace.follow`), a database notes what happens to its keys as facts, in order. A fact
that is always the same event (a new key, a deletion, a time to live) carries that event. A key that a command changed
is the fact `CHANGED`: what it is called depends on the command, and stands in `commands.engine.key_events`.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from pyrepl.keyspace.packed import kept_type_name
from pyrepl.keyspace.values import Value


@final
class Event:
    """One kind of event. `name` is what subscribers get, `kind` the letter of its class in notify-keyspace-events."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name.encode()

    def __repr__(self) -> str:
        return f"Event({self.kind!r}, {self.name.decode()!r})"


Fact: TypeAlias = tuple[Event, int, bytes]
"""(what happened, index of the database, key)."""

CHANGED: Final = Event("", "")
"""The value of the key has changed; the command that did it says how."""

NEW: Final = Event("n", "new")
OVERWRITTEN: Final = Event("o", "overwritten")
TYPE_CHANGED: Final = Event("c", "type_changed")
MISSED: Final = Event("m", "keymiss")
EXPIRED: Final = Event("x", "expired")
EVICTED: Final = Event("e", "evicted")

DELETED: Final = Event("g", "del")
TIMED: Final = Event("g", "expire")
UNTIMED: Final = Event("g", "persist")

FIELDS_EXPIRED: Final = Event("h", "hexpired")
FIELDS_TIMED: Final = Event("h", "hexpire")
FIELDS_UNTIMED: Final = Event("h", "hpersist")
FIELDS_DELETED: Final = Event("h", "hdel")

TRIMMED: Final = Event("t", "xtrim")
ENTRIES_DELETED: Final = Event("t", "xdel")
GROUP_MADE: Final = Event("t", "xgroup-create")
GROUP_SET: Final = Event("t", "xgroup-setid")
GROUP_DESTROYED: Final = Event("t", "xgroup-destroy")
CONSUMER_MADE: Final = Event("t", "xgroup-createconsumer")
CONSUMER_DELETED: Final = Event("t", "xgroup-delconsumer")
STREAM_ID_SET: Final = Event("t", "xsetid")


def of_put(old: Value | None, new: Value, *, has_expired: bool) -> list[Event]:
    """What happens when `new` is stored in place of `old`, whose time may be over; None: there is nothing."""
    if old is None:
        return [NEW]
    if has_expired:
        return [EXPIRED, NEW]
    return [OVERWRITTEN] if kept_type_name(old) == kept_type_name(new) else [OVERWRITTEN, TYPE_CHANGED]
