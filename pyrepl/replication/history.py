"""Which stream a node's bytes belong to: its replication id, the id before it, and the cut where the two part.

Not here: the bytes (backlog.py) and the verdict on a request (psync.py).

    replid2  ----------------+ fork
    replid                   +--------------------->  end

Up to `fork` the two names mean the same bytes, so a replica of the old id that holds no more than `fork` can be
continued. Source: Redis 4.0's PSYNC2, `shiftReplicationId`.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.units import NO_REPLID, Offset, ReplId

REPLID_LENGTH: Final = 40
_HEX: Final = frozenset("0123456789abcdefABCDEF")


def is_replid(text: str) -> bool:
    """Is `text` shaped like a replication id: 40 hexadecimal digits?"""
    return len(text) == REPLID_LENGTH and _HEX.issuperset(text)


@final
class History:
    """The names of our stream.

    Invariants: `fork is None` exactly when `replid2` is NO_REPLID; replid and replid2 are 40 digits each.
    INFO prints `fork + 1` as second_repl_offset, -1 for None, as Redis numbers bytes from 1.
    """

    __slots__ = ("fork", "replid", "replid2")

    def __init__(self, replid: ReplId) -> None:
        assert len(replid) == REPLID_LENGTH
        self.replid = replid
        self.replid2 = NO_REPLID
        self.fork: Offset | None = None

    def shift(self, new_replid: ReplId, end: Offset) -> None:
        """Go on under `new_replid` from the cut `end`; the present id stays valid up to there.

        A promotion does this, and so does a replica whose master answered `+CONTINUE <new id>`.
        """
        assert len(new_replid) == REPLID_LENGTH and new_replid != self.replid
        assert end >= 0
        self.replid2 = self.replid
        self.fork = end
        self.replid = new_replid

    def restart(self, replid: ReplId) -> None:
        """Forget both names: the stream begins anew (a full resync was loaded, or the backlog was freed)."""
        assert len(replid) == REPLID_LENGTH
        assert replid != NO_REPLID
        self.replid = replid
        self.replid2 = NO_REPLID
        self.fork = None

    def knows(self, replid: ReplId) -> bool:
        """Was `replid` ever a name of a part of our stream? Case counts not, as in Redis."""
        lowered = replid.lower()
        return lowered == self.replid.lower() or (self.fork is not None and lowered == self.replid2.lower())

    def bytes_past_fork(self, replid: ReplId, held: int) -> int:
        """How far a holder of `held` bytes of `replid` went beyond the cut where our streams part; 0 if it did not."""
        if self.fork is None or replid.lower() == self.replid.lower():
            return 0
        return max(0, held - self.fork)
