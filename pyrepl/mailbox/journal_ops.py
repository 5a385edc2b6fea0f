"""Making ops: their dots, their modseqs, and what they wait for.

Not here: what is done by them (merging.py), and who asks for them (node.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar, final

from pyrepl.mailbox.causal import MOST_TX_BYTES, Causal, tx_cost
from pyrepl.mailbox.modseqs import modseq_after
from pyrepl.mailbox.rows import BoxRow, Rows
from pyrepl.mailbox.sayable import UnsayableOp, why_unsayable
from pyrepl.mailbox.uids import next_uidvalidity
from pyrepl.mailbox.verbs import Create, Op
from pyrepl.mailbox.words import Box, Dot, Stamp, Vector

AnyOp = TypeVar("AnyOp", bound=Op)


@final
class Journal:
    """The ops that this node makes; `origin` is its name in dots.

    Invariant: numbers ascend without holes, since one is taken in the transaction in which its op is applied and kept.

    Rows that came by state may show what ops above the vector did. Until the vector covers these, they are `ahead`: an
    op of ours may speak of what they brought, so others have to apply them first as well. Each op says so, as who takes
    our state jumps over those that have said it, and need not have all that is ahead here.
    """

    def __init__(self, rows: Rows, causal: Causal, origin: str) -> None:
        self.rows: Final = rows
        self.causal: Final = causal
        self.origin: Final = origin
        self.ahead: Final = rows.ahead()
        self.most_tx_bytes = MOST_TX_BYTES
        """What one transaction may take (causal.tx_cost): more would never be whole anywhere else."""
        self._told: dict[str, int] = {}
        """What the ops made since the start have told to wait for."""
        self.made_count = 0
        """How many those are."""

    def made(self, op: AnyOp, modseq: int = 0) -> AnyOp:
        """The op with its dot and what it waits for. `modseq` 0: the next of its mailbox. Raises UnsayableOp, before
        anything is changed, for one that nobody could read, neither others nor this node in its own journal."""
        held = self._seen()
        at = Dot(self.origin, self.causal.held.get(self.origin, 0) + 1)
        new = tuple(
            Dot(origin, seq)
            for origin, seq in sorted(held.items())
            if origin != self.origin and (self._told.get(origin, 0) < seq or origin in self.ahead)
        )
        made = op.replaced(at=at, after=(), modseq=modseq or self.next_modseq(op), tx="")
        why = why_unsayable(made)
        if why is not None:
            raise UnsayableOp(why)
        self.made_count += 1
        self._told |= {dot.origin: dot.seq for dot in new}
        return made.replaced(after=new) if new else made

    def why_too_large(self, ops: Iterable[Op]) -> str | None:
        """Why these cannot be one transaction; None if they can."""
        size = tx_cost(ops)
        return self.too_large(size) if size > self.most_tx_bytes else None

    def too_large(self, size: int) -> str:
        return f"a transaction of {size} bytes in memory, more than {self.most_tx_bytes}: there are too many messages"

    def next_modseq(self, op: Op) -> int:
        """One more than the highest that is known of what the op changes."""
        box = self.rows.box(op.counted_in.text)
        if box is None:
            return 1
        # While a mailbox comes by state, its messages may have higher ones than itself.
        named = op.__dict__.get("guids", ()) if self.ahead else ()
        rows = (self.rows.message(box.guid, guid) for guid in named)
        return modseq_after(max(box.highest, *(row.modseq for row in rows if row is not None), 0))

    def next_stamp(self, user: str) -> Stamp:
        """A stamp above all that are known of the user's list of mailboxes."""
        stamps = [
            stamp.modseq
            for box in self.rows.boxes(user)
            for stamp in (box.name_stamp, box.created_stamp, box.subscribed_stamp)
        ]
        return Stamp(modseq_after(max(stamps, default=0)), self.origin)

    def vector(self) -> Vector:
        """Everything that is applied here."""
        return vector(self.causal.held)

    def beyond(self) -> Vector:
        """What rows show above that: of such an op perhaps a part."""
        return vector(self.ahead)

    def is_ahead(self) -> bool:
        """Do rows show a part of what ops above the vector did?"""
        held = self.causal.held
        return any(held.get(origin, 0) < seq for origin, seq in self.ahead.items())

    def seen(self) -> Vector:
        """Everything that clients may have seen the effects of."""
        return vector(self._seen())

    def _seen(self) -> dict[str, int]:
        held = self.causal.held
        for origin in [origin for origin, seq in self.ahead.items() if held.get(origin, 0) >= seq]:
            del self.ahead[origin]
        return held | self.ahead

    def reaches(self, dots: Iterable[Dot]) -> None:
        """Rows that come now may show what these ops did, and those before them."""
        for dot in dots:
            if dot.seq > max(self.causal.held.get(dot.origin, 0), self.ahead.get(dot.origin, 0)):
                self.ahead[dot.origin] = dot.seq
                self.rows.put_ahead(dot)

    def creation(self, user: str, name: str, unix_s: int) -> Create:
        """The op that makes a mailbox at this Unix time."""
        newest = max((box.uidvalidity for box in self.rows.boxes(user)), default=0)
        return Create(
            user=user,
            box=Box(name),
            id=self.new_box_guid(user, name),
            uidvalidity=next_uidvalidity(newest, unix_s),
            stamp=self.next_stamp(user),
        )

    def new_box_guid(self, user: str, name: str) -> str:
        """A mailbox's GUID: no two ops have one dot, so no two mailboxes have one GUID."""
        number = self.causal.held.get(self.origin, 0) + 1
        return hashlib.sha256(f"{self.origin}:{number} {user} {name}".encode()).hexdigest()[:32]


def vector(held: Mapping[str, int]) -> Vector:
    """A vector as it is told."""
    return tuple(Dot(origin, seq) for origin, seq in sorted(held.items()) if seq)


def by_guid(box: BoxRow) -> Box:
    """A mailbox as nodes name it to each other: its name may be another one there."""
    return Box(box.guid, True)
