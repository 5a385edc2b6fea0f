"""Who hears of keys that change: a `Watcher` of one key, a `Follower` of all keys. What they do, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol


class Watcher(Protocol):
    """A client that WATCHes a key; `dirty` is set when the key changes."""

    dirty_cas: bool


class Follower(ABC):
    """Hears of changed keys while it follows a keyspace (`Keyspace.follow`). A base class and not a Protocol, as
    compiled code calls the methods of a base class directly."""

    __slots__ = ()

    @abstractmethod
    def key_touched(self, key: bytes) -> None:
        """The value at `key`, in any database, is another from now on, or the key is gone."""

    @abstractmethod
    def keys_flushed(self) -> None:
        """All keys of at least one database are gone, or others."""
