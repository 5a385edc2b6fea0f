"""Keeps an application's caches honest: follows the `caches` stream and calls back for each cache entry to be dropped.

    caches = {"get_user_by_id": {}, "get_rooms": {}}

    def drop(one: Invalidation) -> None:
        if one.keys is None:
            caches[one.cache].clear()
        else:
            caches[one.cache].pop(one.keys, None)

    def drop_all() -> None:
        for cache in caches.values():
            cache.clear()

    await follow_invalidations(["10.0.0.1:7379"], drop, drop_all, groups={"user_fake": ["get_user_by_id", "get_rooms"]})

Names that stand for several caches are expanded (cache_names.py); connections are client.py's.

A cache needs no history, only to miss nothing: it follows from now on, goes on at its token after a cut, and where that
cannot be (nobody keeps what came meanwhile), it begins anew. `drop_all` is called at each beginning, the first one too:
what was cached before may be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from pyrepl.changes.batches import Batch
from pyrepl.changes.cache_names import CacheNames
from pyrepl.changes.cache_names import Invalidation as Invalidation
from pyrepl.changes.client import ClientOptions, Notice, Subscription, subscribe
from pyrepl.changes.refusals import ForkedHistory, TokenTooOld

STREAM: Final = "caches"


async def follow_invalidations(
    nodes: Sequence[str | tuple[str, int]],
    drop: Callable[[Invalidation], None],
    drop_all: Callable[[], None],
    *,
    groups: Mapping[str, Iterable[str]] | None = None,
    name: str = "",
    user: str = "",
    password: str = "",
    options: ClientOptions | None = None,
    notice: Callable[[Notice], None] | None = None,
) -> None:
    """Call back for each entry to be dropped, until cancelled.

    The callbacks are called from the event loop, one at a time, in the order of the stream. Raises ValueError for bad
    arguments, PeerError for a row that is none of this stream, Refused when no node takes us (a wrong password, a right
    that the user lacks), and whatever a callback raises.
    """
    names = CacheNames(groups)
    while True:
        began = False
        try:
            async with subscribe(
                nodes, STREAM, name=name, user=user, password=password, options=options, notice=notice
            ) as changes:
                first = await changes.next_batch()
                began = True
                drop_all()
                await _follow(changes, first, names, drop)
        except (TokenTooOld, ForkedHistory):
            if not began:
                raise


async def _follow(changes: Subscription, first: Batch, names: CacheNames, drop: Callable[[Invalidation], None]) -> None:
    batch = first
    while True:
        for row in batch.rows:
            for one in names.invalidations(row):
                drop(one)
        batch = await changes.next_batch()
