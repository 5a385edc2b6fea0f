"""Threads that do works in mailboxes: all of a user's are one thread's, in the order in which they are told.

Each thread has a store of its own, so nothing is shared but the disk. Threads and not processes: what takes time is
the disk, which they wait for side by side.

Not here: what is to be done (pyrepl.mailbox), and when (driver.py).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar, final

from pyrepl.daemon.mailbox.maildir_store import TROUBLE
from pyrepl.daemon.mailbox.node_store import NodeStore
from pyrepl.daemon.mailbox.results import failed
from pyrepl.mailbox.folders import FolderOrder, FolderResult
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from pyrepl.mailbox.outgoing import TextOf
from pyrepl.mailbox.store import Result, StoredBox, Work

T = TypeVar("T")
U = TypeVar("U")


@final
class Workers:
    """The threads, by user."""

    def __init__(self, stores: Iterable[NodeStore]) -> None:
        """A store for each thread; all of them keep the same mailboxes."""
        self.stores: Final = tuple(stores)
        self._threads: Final = tuple(
            ThreadPoolExecutor(1, thread_name_prefix=f"mailbox-{number}") for number, _ in enumerate(self.stores)
        )

    def _place(self, user: str) -> int:
        return zlib.crc32(user.encode()) % len(self.stores)

    def run(self, user: str, what: Callable[[NodeStore], T]) -> Future[T]:
        """Ask the store of a user for something, in its thread."""
        place = self._place(user)
        return self._threads[place].submit(what, self.stores[place])

    async def in_first(self, what: Callable[[NodeStore], T]) -> T:
        """Ask the first store for something, whosever it is: at the start, while nothing else is done."""
        return await asyncio.wrap_future(self._threads[0].submit(what, self.stores[0]))

    def fresh(self, text_of: TextOf) -> bytes | None:
        """A user's text that was read a moment ago; may be asked for in any thread."""
        return self.stores[self._place(text_of[0])].fresh.get(text_of)

    def _parts(self, works: Sequence[Work]) -> dict[int, list[int]]:
        """Thread -> which of the works are its."""
        parts: dict[int, list[int]] = {}
        for index, work in enumerate(works):
            parts.setdefault(self._place(work.user), []).append(index)
        return parts

    async def perform(self, works: Sequence[Work]) -> list[Result]:
        """Do works; how each ended, in their order."""
        parts = self._parts(works)
        done = [
            self._threads[place].submit(self.stores[place].perform, [works[index] for index in indexes])
            for place, indexes in parts.items()
        ]
        results: dict[int, Result] = {}
        for indexes, found in zip(parts.values(), await _all(done), strict=True):
            results |= dict(zip(indexes, found, strict=True))
        return [results[index] for index in range(len(works))]

    async def keep(self, works: Sequence[Work]) -> str:
        """Have the texts of works on disk that are not done now; why that cannot be, "" if they are. No user's thread
        is waited for, as all stores have one folder of texts."""
        if not works:
            return ""
        return await asyncio.get_running_loop().run_in_executor(None, _why_not, self.stores[0].keep, works)

    async def try_again(self, user: str, works: Sequence[Work]) -> list[Result]:
        """Works of a user that the disk refused before; how each ended."""
        return await asyncio.wrap_future(self.run(user, lambda store: store.try_again(works)))

    async def stored(self, user: str, names: Mapping[str, str]) -> dict[str, StoredBox] | str:
        """All that a user has; if it cannot be read, why. `names` as `all_of` has them."""
        found: dict[str, StoredBox] = {}

        def read(store: NodeStore) -> None:
            found.update(all_of(store, user, names))

        return await asyncio.wrap_future(self.run(user, lambda store: _why_not(read, store))) or found

    async def do_gates(self, orders: Sequence[GateOrder]) -> list[GateResult]:
        """Do what gates need; how each ended, in their order."""
        done = [self.run(order.user, partial(_gate, order)) for order in orders]
        return await _all(done)

    async def list_folders(self, orders: Sequence[FolderOrder]) -> list[FolderResult]:
        """List users' folders; how each ended, in their order."""
        done = [self.run(order.user, partial(_folders, order)) for order in orders]
        return await _all(done)

    def settle(self, works: Sequence[Work]) -> None:
        """Their rows are committed: what was kept to know that they were done goes, when there is time."""
        for place, indexes in self._parts(works).items():
            self._threads[place].submit(self.stores[place].settle, [works[index] for index in indexes])

    def stop(self) -> None:
        """What is under way ends; nothing else is begun."""
        for thread in self._threads:
            thread.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Until that has ended."""
        for thread in self._threads:
            thread.shutdown(wait=True)


def all_of(store: NodeStore, user: str, names: Mapping[str, str]) -> dict[str, StoredBox]:
    """All that a user has. `names`: GUID -> what the rows call each mailbox, which is to be there or gone. Raises
    TROUBLE."""
    store.remember(user, names)
    found = store.stored(user)
    store.check_missing(user, names)
    return found


def _gate(order: GateOrder, store: NodeStore) -> GateResult:
    return store.gate(order)


def _folders(order: FolderOrder, store: NodeStore) -> FolderResult:
    return store.folders(order)


async def _all(asked: Iterable[Future[U]]) -> list[U]:
    """What threads were asked for, in its order."""
    return list(await asyncio.gather(*map(asyncio.wrap_future, asked)))


def _why_not(what: Callable[[U], None], of: U) -> str:
    """Why the disk refused it; "" if it did not."""
    try:
        what(of)
    except TROUBLE as error:
        return failed(error).reason
    return ""
