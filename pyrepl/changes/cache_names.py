"""Names that stand for several caches: one row of the `caches` stream may invalidate them all with the same key.

Pure; who subscribes and calls back is invalidation.py. Which names stand for which caches is the application's
knowledge, the same on every worker: the stream carries the short name.
Source: the cache invalidation stream of the replication protocol that change streams follow ("a special cache name
that workers understand to mean to expand to invalidate the correct caches", `cs_cache_fake`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

from pyrepl.errors import PeerError


class Invalidation(NamedTuple):
    """One cache, or one key of it, is stale."""

    cache: str
    keys: tuple[object, ...] | None
    """The key's parts, in the order of the cached function's arguments; None: the whole cache."""
    at_ms: int
    """Unix time at which it was invalidated."""


@final
class CacheNames:
    """Expands a row into the caches that it means. A name that stands for nothing else is a cache."""

    def __init__(self, groups: Mapping[str, Iterable[str]] | None = None) -> None:
        """`groups`: name -> the caches it stands for, which may be such names again.

        Raises ValueError when a name leads back to itself.
        """
        given = {name: tuple(members) for name, members in (groups or {}).items()}
        self._expanded: Final = {name: _expand(name, given, ()) for name in given}

    def caches(self, name: str) -> tuple[str, ...]:
        """The caches meant by a name, each once, in the order given."""
        return self._expanded.get(name, (name,))

    def invalidations(self, row: object) -> list[Invalidation]:
        """What a row `[cache, keys or null, ms]` asks for. Raises PeerError when it is no such row."""
        if not isinstance(row, list) or len(row) < 3:
            raise PeerError(f"expected a row [cache, keys, ms] in stream caches, got {row!r:.200}")
        name, keys, at_ms = row[:3]
        if not isinstance(name, str) or not isinstance(keys, list | None) or not isinstance(at_ms, int):
            raise PeerError(f"expected a row [cache, keys, ms] in stream caches, got {row!r:.200}")
        parts = None if keys is None else tuple(keys)
        return [Invalidation(cache, parts, at_ms) for cache in self.caches(name)]


def _expand(name: str, groups: Mapping[str, tuple[str, ...]], above: tuple[str, ...]) -> tuple[str, ...]:
    if name in above:
        raise ValueError(f"cache name {name!r} stands for itself: {' -> '.join((*above, name))}")
    if name not in groups:
        return (name,)
    found = [cache for member in groups[name] for cache in _expand(member, groups, (*above, name))]
    return tuple(dict.fromkeys(found))
