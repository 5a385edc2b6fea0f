"""The clients that wait for one key, and when that key is ready for one of them.

A queue watches its key as a client does with WATCH: the database tells it of every change of the key, whatever command
made it, and while nobody waits for keys that costs nothing.

Ready is what Redis 8.2 calls so (`signalKeyAsReady`): a key came that has the type which one of the clients waits for;
an entry was added to a stream; and, for a client that waits as a group's consumer, the key was deleted or has another
type. Other changes of a stream (XDEL, XTRIM, XGROUP SETID) make nothing ready.

Not here: a group that is destroyed, which WATCH does not hear of (`Waiting.key_ready`); serving the clients, and their
order (`waiting`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from pyrepl.keyspace.database import Database
from pyrepl.keyspace.glance import StreamGlance, stream_glance, type_at
from pyrepl.node.waits import KeysWait


@final
class KeyQueue:
    """The waits for one key, by the ids of their clients, in the order in which they are served; a `Watcher`.

    `ready(self)` is called at each change of the key that makes it ready. After `close` no change is noticed.
    """

    __slots__ = ("_db", "_key", "_ready", "_seen", "waits")

    def __init__(self, db: Database, key: bytes, ready: Callable[[KeyQueue], None]) -> None:
        self.waits: Final[dict[int, KeysWait]] = {}
        self._db = db
        self._key = key
        self._ready = ready
        self._seen: StreamGlance | None = stream_glance(db, key)
        """The stream at the last change; None while there was none."""
        db.watchers.setdefault(key, set()).add(self)

    @property
    def type_name(self) -> str | None:
        """The type of the key as TYPE names it; None if it is not there, or has expired."""
        return type_at(self._db, self._key)

    @property
    def dirty_cas(self) -> bool:
        """A queue never has anything to be told later."""
        return False

    @dirty_cas.setter
    def dirty_cas(self, dirty: bool) -> None:
        """The database tells that the key has changed."""
        seen = self._seen
        self._seen = found = stream_glance(self._db, self._key)
        if seen is not None and found is not None and not found.is_news_after(seen):
            return
        type_name = self.type_name
        if any(wait.wants(type_name) for wait in self.waits.values()):
            self._ready(self)

    def close(self) -> None:
        """Nobody waits for the key any more."""
        watchers = self._db.watchers[self._key]
        watchers.remove(self)
        if not watchers:
            del self._db.watchers[self._key]
