"""What is at a key, for those who only look: no hit or miss is counted, and nothing is deleted or unpacked."""

from __future__ import annotations

from typing import NamedTuple

from pyrepl.keyspace.database import Database
from pyrepl.keyspace.packed import kept_type_name
from pyrepl.rdb.values import StreamValue


class StreamGlance(NamedTuple):
    """A stream at one moment, as far as its readers are concerned."""

    identity: int
    entries_added: int

    def is_news_after(self, before: StreamGlance) -> bool:
        """Has an entry been added since, or is it another stream?"""
        return self.identity != before.identity or self.entries_added > before.entries_added


def type_at(db: Database, key: bytes) -> str | None:
    """The type of a key as TYPE names it; None if it is not there, or has expired for who asks now."""
    value = None if db.has_expired(key) else db.store.get(key)
    return None if value is None else kept_type_name(value)


def stream_glance(db: Database, key: bytes) -> StreamGlance | None:
    """The stream at a key, whether its time has passed or not; None if there is none."""
    value = db.store.get(key)
    if not isinstance(value, StreamValue):
        return None
    return StreamGlance(id(value), value.entries_added)
