"""What was refused to users: the entries of ACL LOG, and the counters of INFO (Redis 8.2)."""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from pyrepl.acl.denial import Refused

_GROUPED_MS: Final = 60_000
"""What is refused again within so many milliseconds, this bound included, is counted at the entry that is there."""
_LOOKED_AT: Final = 10
"""So many of the newest entries are looked at."""


class Context(Enum):
    """From where a command came that was refused, by the word of ACL LOG."""

    TOPLEVEL = "toplevel"
    MULTI = "multi"
    LUA = "lua"


@final
class Entry:
    """One entry: what was refused to whom. Times are Unix ms."""

    __slots__ = ("client_info", "context", "count", "created_ms", "number", "object", "reason", "updated_ms", "user")

    def __init__(
        self, number: int, reason: Refused, context: Context, object_: bytes, user: bytes, client_info: bytes, now: int
    ) -> None:
        self.number = number
        self.count = 1
        self.reason = reason
        self.context = context
        self.object = object_
        """The command, key or channel; for a login the name of the command that tried it."""
        self.user = user
        self.client_info = client_info
        """The last client to whom it was refused, as in CLIENT LIST."""
        self.created_ms = now
        self.updated_ms = now

    def is_like(self, reason: Refused, context: Context, object_: bytes, user: bytes, now_ms: int) -> bool:
        """Is this the entry of the same thing, refused a short time ago?"""
        return (
            self.reason is reason
            and self.context is context
            and self.object == object_
            and self.user == user
            and abs(now_ms - self.updated_ms) <= _GROUPED_MS
        )


@final
class AclLog:
    """The entries, the newest first, not more than `max_len`; and how often each thing was refused."""

    def __init__(self, max_len: int) -> None:
        self.entries: list[Entry] = []
        self.refused = dict.fromkeys(Refused, 0)
        self._max_len = max_len
        self._next_number = 0

    def follow(self, max_len: int) -> None:
        """acllog-max-len has changed. What is too much goes when something is added, as in Redis."""
        self._max_len = max_len

    def add(
        self, reason: Refused, context: Context, object_: bytes, user: bytes, client_info: bytes, now_ms: int
    ) -> None:
        """Something was refused. It gets an entry, or counts at the one that is there."""
        self.refused[reason] += 1
        entries = self.entries
        if self._max_len:
            for at, entry in enumerate(entries[:_LOOKED_AT]):
                if entry.is_like(reason, context, object_, user, now_ms):
                    entries.insert(0, entries.pop(at))
                    entry.client_info, entry.updated_ms = client_info, now_ms
                    entry.count += 1
                    return
            entries.insert(0, Entry(self._next_number, reason, context, object_, user, client_info, now_ms))
            self._next_number += 1
        del entries[self._max_len :]

    def clear(self) -> None:
        """ACL LOG RESET: forget the entries; their numbers go on."""
        self.entries.clear()

    def reset_counters(self) -> None:
        """CONFIG RESETSTAT."""
        self.refused = dict.fromkeys(Refused, 0)
