"""The keeper of one node's gates as a process on the virtual clock, around the machine that it really has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyrepl.mailbox.gatekeeping import Gatekeeping
from tests.simulation.mailbox.gated_store import GatedStore


class ModelKeeper:
    """It outlives the node, and not its own death."""

    def __init__(
        self, store: GatedStore, orphaned: bytes, clock: Callable[[], float], later: Callable[..., None]
    ) -> None:
        """`orphaned` as the daemon says it; `later(seconds, what)` has something happen."""
        self._store: Final = store
        self._orphaned: Final = orphaned
        self._clock: Final = clock
        self._later: Final = later
        self._turn = 0
        """How often a daemon came or went."""

    def daemon_came(self) -> None:
        self._turn += 1
        keeper = self._store.keeper
        if keeper is None:
            keeper = Gatekeeping(self._store)
            self._store.new_keeper(keeper)
        keeper.daemon_came()
        keeper.hear(self._orphaned)

    def daemon_gone(self) -> None:
        """By kill -9."""
        self._turn += 1
        if self._store.keeper is not None:
            self._store.keeper.daemon_gone(self._clock())
            self._tick(self._turn)

    def kill(self) -> None:
        self._store.keeper_died()

    def _tick(self, turn: int) -> None:
        keeper = self._store.keeper
        if keeper is None or turn != self._turn:
            return
        keeper.tick(self._clock())
        if keeper.is_over:
            self._store.keeper = None
        else:
            self._later(keeper.next_s(), lambda: self._tick(turn))
