"""Ids of a stream's facts: reserved, completed in any order, and how far a reader may go.

Not here: where the ids come from (a sequence, tables) and what the facts are.

A writer reserves an id, writes the fact's rows and completes it; a fact that failed completes too, without rows. The
current id of a writer is the largest id such that everything this writer reserved up to it is complete; the linear
current id of a stream is the same over all its writers. Neither ever moves back; they jump, as facts complete in any
order:

| action | current id | |
|---|---|---|
| | 1 | |
| reserve 2, reserve 3 | 1 | |
| complete 3 | 1 | waits for 2 |
| complete 2 | 3 | jumps |
| reserve 4, 5, 6; complete 5 | 3 | |
| complete 4 | 5 | though 6 is pending |
| complete 6 | 6 | |

The linear id, theory: facts of writers that nobody heard of yet may lie anywhere behind what is known, so two rules
bound it, and the larger one counts. No fact can be missing up to the least position of all known writers; and none can
be missing up to an id when every id up to it is known to be complete, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import final


@final
class WriterIds:
    """What one writer has reserved in one stream, and its current id.

    Invariants: `current` never moves back; `_pending` and `_complete` hold ids beyond `current`, no id is in both;
    `last` is the largest id ever reserved or passed.
    """

    __slots__ = ("_complete", "_pending", "current", "last")

    def __init__(self, current: int) -> None:
        """A writer that starts has nothing pending: `current` is its position as the table knows it."""
        assert current >= 0
        self.current = current
        self.last = current
        self._pending: set[int] = set()
        self._complete: list[int] = []

    @property
    def pending(self) -> list[int]:
        """The ids reserved and not complete, ascending."""
        return sorted(self._pending)

    def is_pending(self, stream_id: int) -> bool:
        return stream_id in self._pending

    def reserve(self, stream_id: int) -> None:
        """An id was drawn from the sequence; each is larger than all before. Raises ValueError if it is not."""
        if stream_id <= self.last:
            raise ValueError(f"expected an id beyond {self.last}, got {stream_id}: has the sequence been set back?")
        self.last = stream_id
        self._pending.add(stream_id)

    def complete(self, stream_id: int) -> list[int]:
        """A fact is written, or failed: the ids of the facts that readers may have now, in order; often none.

        Raises KeyError if it was not reserved, or is complete already.
        """
        self._pending.remove(stream_id)
        heappush(self._complete, stream_id)
        horizon = min(self._pending, default=self.last + 1)
        advanced: list[int] = []
        while self._complete and self._complete[0] < horizon:
            advanced.append(heappop(self._complete))
        if advanced:
            assert advanced[0] > self.current
            self.current = advanced[-1]
        return advanced

    def pass_idle(self, stream_id: int) -> bool:
        """With nothing pending, ids up to `stream_id` belong to others for sure if the sequence has given them out.

        True if the position moved. Without it a writer that rests would hold the linear id back for ever.
        """
        if self._pending or stream_id <= self.current:
            return False
        self.current = stream_id
        self.last = max(self.last, stream_id)
        return True


@final
class LinearId:
    """The linear current id of one stream, as one reader knows it.

    Invariants: `current` never moves back; `positions` neither; `_known` holds complete ids beyond `current`.
    """

    __slots__ = ("_known", "current", "positions")

    def __init__(self, positions: dict[str, int]) -> None:
        """`positions` of every known writer."""
        self.positions = dict(positions)
        self.current = min(positions.values(), default=0)
        self._known: list[int] = []

    def note_position(self, writer: str, position: int) -> None:
        """Everything of `writer` up to `position` is complete. A writer unknown so far holds back what comes."""
        self.note_positions({writer: position})

    def note_positions(self, positions: dict[str, int]) -> None:
        """As note_position, for several that were read together: writers new among them hold back from now on."""
        for writer, position in positions.items():
            if position > self.positions.get(writer, -1):
                self.positions[writer] = position
        self._advance()

    def note_complete(self, ids: Iterable[int]) -> None:
        """These facts are complete, though their writer's position may not have reached them."""
        for stream_id in ids:
            if stream_id > self.current:
                heappush(self._known, stream_id)
        self._advance()

    def _advance(self) -> None:
        self.current = max(self.current, min(self.positions.values(), default=0))
        known = self._known
        while known and known[0] <= self.current + 1:
            self.current = max(self.current, heappop(known))
