"""Two nodes' rows become one: what both know together, as if each had applied the ops of both.

| what | which stands |
|---|---|
| a message that only one has | it is new to the other, whose vector does not cover its SAVE; else it was expunged |
| of its SAVEs and COPYs | so, one by one: those that both have, and those that the other does not know of |
| its UID | the one under the higher token, then the higher one; not below what clients have seen |
| flags | per flag the higher stamp |
| modseqs | the higher one, and above all that clients here have seen, if there is something to see |
| a name, a subscription | the higher stamp |
| a deleted mailbox | deleted |

So no tombstone is needed to tell what is new from what is gone, however long the absence: vectors tell; only for what
came by state, until the vector covers it, tombstones do. They are joined as well, since clients ask for them.

The other's rows may know of ops above its vector: that is as if it told these rows, and later the ops, which have no
effect twice.

A mailbox's highest modseq and its next UID are joined at the end (`end_box`). Until then what comes is above what
clients have seen, in the order of UIDs.

Not here: how rows travel (pulling.py), and what ops change (merging.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from pyrepl.mailbox.boxes import view, works_between
from pyrepl.mailbox.clashes import are_mails
from pyrepl.mailbox.entries import Known
from pyrepl.mailbox.flags import merged
from pyrepl.mailbox.merging import Effects, Merger, Text, newest, with_creation
from pyrepl.mailbox.rows import UNPLACED, BoxRow, GoneRow, MessageRow
from pyrepl.mailbox.verbs import State
from pyrepl.mailbox.words import Box, Dot, Stamp

NEVER: Final = Stamp(0, "")


@final
class Joiner:
    """Takes another's rows. `held` is our vector, as it grows."""

    def __init__(self, merger: Merger, held: Mapping[str, int]) -> None:
        self.merger: Final = merger
        self.rows: Final = merger.rows
        self.held: Final = held

    # Mailboxes

    def box(self, state: State, effects: Effects) -> bool:
        """The other has this mailbox. False: it cannot be the one that is called so here."""
        mine = self.rows.box(state.id)
        if mine is not None and mine.user != state.user:
            return False
        self.merger.list_box(_new_box(state) if mine is None else _joined_box(mine, state), effects)
        return True

    def end_box(self, state: State) -> None:
        """All messages of the mailbox are joined."""
        mine = self.rows.box(state.id)
        assert mine is not None
        joined = mine._replace(uidnext=max(mine.uidnext, state.uidnext), highest=max(mine.highest, state.modseq))
        if joined != mine:
            self.rows.put_box(joined)

    # Messages

    def needs_text(self, user: str, box: str, theirs: Known) -> bool:
        """Is it a message that no mailbox of the user has here?"""
        row = theirs.row
        if row is None or not self._new_dots(row):
            return False
        mine = self.rows.message(box, row.guid)
        return self.rows.home(user, theirs.guid) is None if mine is None else are_mails(mine, row)

    def message(
        self, user: str, box: str, theirs: Known, text: Text | None, held: Mapping[str, int], effects: Effects
    ) -> bool:
        """What the other knows of a message; `held` is its vector then. `text` None: it was expunged since. True:
        clients of this node have to be told, by a higher modseq than the one that it has."""
        now = self.rows.box(box)
        mine = self.rows.message(box, theirs.guid)
        assert now is not None
        if theirs.row is not None and mine is not None and self.merger.is_other(mine, theirs.row, text):
            self._join(user, now, mine, theirs._replace(row=None), held, effects)
            self.merger.arrive(user, theirs.row._replace(dots=self._new_dots(theirs.row)), text, effects)
        elif theirs.row is not None and mine is None:
            self._arrive_or_flag(user, theirs.row, text, effects)
        elif mine is not None:
            self._join(user, now, mine, theirs, held, effects)
        if theirs.gone is not None:
            self._join_gone(user, theirs.gone, effects)
        is_seen = _is_seen(mine, self.rows.message(box, theirs.guid))
        return is_seen and self._modseq(box, theirs.guid) <= now.highest

    def _new_dots(self, row: MessageRow) -> tuple[Dot, ...]:
        """Those of another's that are not known here, neither as there nor as gone."""
        return self.merger.not_killed(row.box, row.guid, _beyond(row.dots, self.held))

    def _join(
        self,
        user: str,
        box: BoxRow,
        mine: MessageRow,
        known: Known,
        held: Mapping[str, int],
        effects: Effects,
    ) -> None:
        """A message that is here, and perhaps there."""
        theirs = known.row
        both = _common(mine, known)
        ours = self.left(mine, known, held)
        new = {*both, *self._new_dots(theirs)} if theirs is not None else both
        if not ours:
            self._kill(user, box, mine, effects)
            if theirs is not None:
                # It may have been expunged, and have come again.
                self._arrive_or_flag(user, theirs, Text(), effects)
            return
        went = set(mine.dots) - ours
        if went:
            # A twin of it was expunged there: as by the EXPUNGE it has the UID of that one no longer.
            self.merger.kill(user, mine, went, mine.modseq, effects)
            left = self.rows.message(mine.box, mine.guid)
            assert left is not None
            mine = left
        joined = tuple(sorted(ours | new))
        self.rows.put_message(mine._replace(dots=joined))
        if theirs is not None:
            # One that has no UID gets it by an op that is still to come, and keeps ours until then; one that was
            # expunged here, and has come again, has nothing to do with the UID that it had.
            stands = theirs.uid == UNPLACED or not new
            uid, token = (mine.uid, mine.token) if stands else (theirs.uid, theirs.token)
            self.merger.arrive(user, theirs._replace(dots=joined, uid=uid, token=token), Text(), effects)

    def left(self, mine: MessageRow, known: Known, held: Mapping[str, int]) -> set[Dot]:
        """Of a message of ours the SAVEs and COPYs that the other has too, or does not know; `held` is its vector."""
        # What came to the other by state, and was expunged there, its vector may not cover yet.
        killed = dict(known.gone.dots) if known.gone is not None else {}
        return {*_common(mine, known), *_beyond(_beyond(mine.dots, held), killed)}

    def _kill(self, user: str, box: BoxRow, mine: MessageRow, effects: Effects) -> None:
        before = view(self.rows, user) if box.deleted else None
        self.merger.kill(user, mine, mine.dots, mine.modseq, effects)
        if before is not None:
            effects.works.extend(works_between(self.rows, user, before, view(self.rows, user)))

    def _arrive_or_flag(self, user: str, theirs: MessageRow, text: Text | None, effects: Effects) -> None:
        """A message that is not here."""
        dots = self._new_dots(theirs)
        if dots:
            self.merger.arrive(user, theirs._replace(dots=dots), text, effects)
        else:
            self._join_flags(theirs)

    def _join_flags(self, theirs: MessageRow) -> None:
        """A message that is gone here; it may come again, and had these flags."""
        gone = self.rows.gone(theirs.box, theirs.guid)
        if gone is not None:
            flags, modseq = merged(gone.flags, theirs.flags), max(gone.modseq, theirs.modseq)
            self.rows.put_gone(gone._replace(flags=flags, modseq=modseq))

    def _join_gone(self, user: str, theirs: GoneRow, effects: Effects) -> None:
        """A message that is gone there. If it has come again here, it has the flags that it had before."""
        row = self.rows.message(theirs.box, theirs.guid)
        if row is not None:
            self.merger.arrive(user, row._replace(flags=merged(row.flags, theirs.flags)), Text(), effects)
        mine = self.rows.gone(theirs.box, theirs.guid)
        if mine is None:
            self.rows.put_gone(theirs)
            return
        dots, flags = newest((*mine.dots, *theirs.dots)), merged(mine.flags, theirs.flags)
        joined = mine._replace(dots=dots, flags=flags, modseq=max(mine.modseq, theirs.modseq))
        if joined != mine:
            self.rows.put_gone(joined)

    def _modseq(self, box: str, guid: str) -> int:
        found = self.rows.message(box, guid) or self.rows.gone(box, guid)
        return 0 if found is None else found.modseq


def _common(mine: MessageRow, known: Known) -> set[Dot]:
    return set(mine.dots) & set(known.row.dots) if known.row is not None else set()


def _beyond(dots: Iterable[Dot], held: Mapping[str, int]) -> tuple[Dot, ...]:
    """Those that a vector does not cover."""
    return tuple(dot for dot in dots if held.get(dot.origin, 0) < dot.seq)


def _is_seen(before: MessageRow | None, after: MessageRow | None) -> bool:
    """Do clients see a difference?"""
    one, other = (None if row is None or not row.uid else (row.uid, row.set_flags()) for row in (before, after))
    return one != other


def _new_box(state: State) -> BoxRow:
    """Its messages come in the order of their UIDs, and its highest modseq with the last of them."""
    return BoxRow(
        *(state.id, state.user, state.box.text, state.stamp, state.uidvalidity),
        subscribed=state.is_subscribed,
        subscribed_stamp=state.subscribed or NEVER,
        deleted=state.deleted,
        created_stamp=state.created,
    )


def _joined_box(mine: BoxRow, state: State) -> BoxRow:
    joined = with_creation(mine, _new_box(state))
    joined = joined._replace(deleted=mine.deleted or state.deleted)
    if (state.subscribed or NEVER) > mine.subscribed_stamp:
        joined = joined._replace(subscribed=state.is_subscribed, subscribed_stamp=state.subscribed or NEVER)
    return joined


def state_of(box: BoxRow) -> State:
    """A mailbox as it is told."""
    return State(
        user=box.user,
        box=Box(box.name),
        id=box.guid,
        uidvalidity=box.uidvalidity,
        uidnext=box.uidnext,
        modseq=box.highest,
        stamp=box.name_stamp,
        created=box.created_stamp,
        subscribed=None if box.subscribed_stamp == NEVER else box.subscribed_stamp,
        is_subscribed=box.subscribed,
        deleted=box.deleted,
    )
