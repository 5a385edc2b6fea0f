"""Bugs that are planted to see whether the simulation finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyrepl.mailbox import mastering, merging, root
from pyrepl.mailbox.causal import Causal
from pyrepl.mailbox.journal_ops import Journal
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.tracker import Tracker
from pyrepl.mailbox.uids import UidBlocks
from pyrepl.mailbox.words import Register


def _held_ignored(patch: pytest.MonkeyPatch) -> None:
    """GIVE's held= is ignored."""
    give = Tracker.give
    patch.setattr(Tracker, "give", lambda self, box, token, needs, now: give(self, box, token, (), now))


def _after_ignored(patch: pytest.MonkeyPatch) -> None:
    """An op does not wait for what its origin knew."""
    patch.setattr(Causal, "_covers", lambda self, op, origin: True)


def _vote_not_on_disk(patch: pytest.MonkeyPatch) -> None:
    """A vote is forgotten by a restart."""
    made = root.Root.__init__

    def forgetful(self: Any, name: Any, members: Any, row: Any, now: Any, options: Any) -> None:
        made(self, name, members, row._replace(voted="", epoch=max(0, row.epoch - 1), root=""), now, options)

    patch.setattr(root.Root, "__init__", forgetful)


def _last_writer_by_arrival(patch: pytest.MonkeyPatch) -> None:
    """Of two changes of a flag the one that arrives last stands."""

    def merged(one: Any, other: Any) -> tuple[Register, ...]:
        found = {register.flag: register for register in (*one, *other)}
        return tuple(found[flag] for flag in sorted(found))

    patch.setattr("pyrepl.mailbox.flags.merged", merged)


def _gap_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Who is apart goes on at UIDNEXT."""
    patch.setattr(UidBlocks, "first", lambda self, uidnext, place: uidnext)


def _renumber_below(patch: pytest.MonkeyPatch) -> None:
    """A UID is given below what clients have seen."""

    def may_place(self: Any, guid: str, message: str, uid: int, effects: Any) -> bool:
        box = self.rows.box(guid)
        self.rows.put_box(box._replace(uidnext=max(box.uidnext, uid + 1)))
        return uid != UNPLACED

    patch.setattr(merging.Merger, "_may_place", may_place)


def _takeover_without_gap(patch: pytest.MonkeyPatch) -> None:
    """A takeover from one who could not clear goes on at UIDNEXT."""
    arrived = mastering.Mastering._arrived

    def no_gap(self: Any, event: Any) -> None:
        self._has_gap = False
        arrived(self, event)

    patch.setattr(mastering.Mastering, "_arrived", no_gap)


def _seq_reused(patch: pytest.MonkeyPatch) -> None:
    """An op takes a number that was taken."""
    made = Journal.made

    def again(self: Any, op: Any, modseq: int = 0) -> Any:
        found = made(self, op, modseq)
        return found.replaced(at=found.at._replace(seq=max(1, found.at.seq - 1))) if found.at.seq % 7 == 0 else found

    patch.setattr(Journal, "made", again)


BUGS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "after= ignored": _after_ignored,
    "gap forgotten": _gap_forgotten,
    "held= ignored": _held_ignored,
    "last writer by arrival": _last_writer_by_arrival,
    "renumber below uidnext": _renumber_below,
    "seq reused": _seq_reused,
    "takeover without its gap": _takeover_without_gap,
    "vote not on disk": _vote_not_on_disk,
}
"""Name -> what plants it."""
