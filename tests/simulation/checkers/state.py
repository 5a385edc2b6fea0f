"""At any place of a stream that master and replica both stop at, they hold the same data."""

from __future__ import annotations

import zlib

from pyrepl.replication.history import History
from tests.simulation.checkers.broken import Broken
from tests.simulation.data import Data
from tests.simulation.ledger import Ledger


class StateWatch:
    """The digests of what masters held, by stream and cut."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._digests: dict[tuple[str, int], int] = {}

    def note(self, history: History, cut: int, data: Data) -> None:
        """A master has executed what it wrote up to `cut`."""
        self._digests[history.replid, cut] = _digest(data)

    def check(self, who: str, replid: str, cut: int, data: Data) -> None:
        """`who` holds this stream up to `cut`; nothing is said where its master did not stop."""
        name = self._ledger.name_at(replid, cut)
        truth = self._digests.get((name, cut))
        if truth is not None and truth != _digest(data):
            raise Broken(f"state: {who} at {cut} of {replid[:8]} holds other data than its master did there")


def _digest(data: Data) -> int:
    return zlib.crc32(data.dump(0))
