"""A node without data: it neither votes nor claims to be the root before it has what the others have.

A node whose disk was lost does not know how it voted, so a vote of its could be the second one in an epoch. It is
fresh until, whatever comes first:

- a member that is not fresh has told it all ops, or all of its state (SYNC was answered, resync.py), and they are
  applied; and it knows in which epochs it may have voted;
- it is linked to a majority, itself included, of which all are fresh: the cluster is a new one;
- it is linked to all that keep mail, and all of them are fresh: only witnesses are left that are not, who have
  nothing to tell but the epochs.

A witness has nothing to be told: for it, links to a majority and the epochs are enough.

An epoch in which its vote made a root is known to the rest of a majority. So it has to hear of the epochs of so many
that every majority has one of them, and votes in later epochs alone; or of all members, where others are fresh too.
What others say of themselves (`fresh=` and `epoch=` of HELLO) is as of the link's beginning.

Nor does it know which masterships it held, and which UIDs it gave out that nobody else heard of. So while it is fresh
it takes no mastership, gives out no UID but in mailboxes that it has made since, and does not say that it is clear of
an older epoch (mastering.py). When it has been told all, it first passes over those UIDs, by an op in each mailbox:
what it gave out under a mastership or apart lies below (uids.py). Whoever is root afterwards waits for these ops. Of
mailboxes that only another member knows it hears later, and passes them over then; until every member that keeps mail
has told it all, it does not say that it is clear, so that a root leaves room (mastering.py). And a member may show a
mailbox of which nobody has the ops any more, as it had begun to take it from one that has lost its data: when that
is told as rows, UIDs are passed over there as well.

Its own ops have another name than those before (`a~5`, rows.py): no number of theirs is used twice.

Not here: where it is kept over a restart (the cluster's row), and votes (root.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.mastering import Mastering
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.words import node_of


@final
class Freshness:
    """Of this node; `root.is_fresh` is the answer."""

    def __init__(self, core: Core, mastering: Mastering) -> None:
        self._core: Final = core
        self._mastering: Final = mastering
        self._root: Final = mastering.root
        self._linked: Final[dict[str, bool]] = {}
        """Member -> is it fresh?"""
        self._heard: Final[set[str]] = set()
        """Members that were not fresh, and told their epochs."""
        self._told: dict[str, int] | None = None
        """What a member that is not fresh had when it had told all; None before that."""
        self._told_by = ""
        self._unheard: Final[set[str]] = set()
        """Members of whose ops not all are applied since the data was lost; they may know mailboxes that no other
        does."""
        if self._root.is_fresh and mastering.members.majority == 1:
            self._keep_over()
        elif self._root.is_fresh:
            core.note("fresh", core.name)

    def link_up(self, peer: str, now: float, *, is_fresh: bool, epoch: int) -> None:
        self._linked[peer] = is_fresh
        if not is_fresh:
            self._heard.add(peer)
        if self._root.is_fresh:
            self._root.pass_epochs(epoch, now)
        members = self._mastering.members
        if not self._root.is_fresh or 1 + len(self._linked) < members.majority:
            return
        if all(self._linked.values()):
            self._end("with a majority of new ones")
        elif self._core.name in members.witnesses and self._knows_epochs():
            self._end("as a witness")
        elif all(self._linked.get(name, name == self._core.name) for name in members.keepers) and self._knows_epochs():
            self._end("as no member has data")

    def link_down(self, peer: str) -> None:
        self._linked.pop(peer, None)

    def synced(self, peer: str) -> None:
        """A member has told all that it has."""
        if not self._linked.get(peer, True):
            self._told, self._told_by = dict(self._core.peers[peer].held), peer

    def box_came(self, guid: str) -> None:
        """A mailbox was told, whole, as rows. One that was made on a disk that is lost may be new here."""
        box = self._core.rows.box(guid)
        if box is None or self._core.origin == self._core.name or not self.has_heard_all():
            return
        if not box.token.epoch and self._is_lost(box.created_stamp.node):
            self._pass_uids(box)

    def _is_lost(self, origin: str) -> bool:
        """May the disk be lost on which these ops were made? Their node has another name for its ops as well; which of
        two is the newer one their numbers do not say, as they are of a clock."""
        names = {self._core.origin, *self._core.causal.held} - {origin}
        return origin != self._core.origin and any(node_of(name) == node_of(origin) for name in names)

    def has_heard_all(self) -> bool:
        """Is no UID that was given out before the data was lost below what others may get?"""
        return not self._root.is_fresh and not self._unheard

    def review(self) -> None:
        """Is all applied that was told?"""
        if self._root.is_fresh and self._told is not None and self._knows_epochs() and self._has(self._told):
            # One that is fresh has nothing to tell.
            others = self._mastering.members.others(self._core.name)
            self._unheard.update(name for name in others if name != self._told_by and self._is_awaited(name))
            self._end(f"by {self._told_by}")
            self._pass_lost_uids()
        for name in sorted(self._unheard):
            peer = self._core.peers[name]
            # Who gets our ops has said what it has.
            if peer.is_live and self._has(peer.held):
                self._unheard.discard(name)
                self._pass_lost_uids()

    def _has(self, told: dict[str, int]) -> bool:
        held = self._core.causal.held
        return all(held.get(origin, 0) >= seq for origin, seq in told.items())

    def _is_awaited(self, name: str) -> bool:
        return name not in self._mastering.members.witnesses and not self._linked.get(name, False)

    def _knows_epochs(self) -> bool:
        """Has it heard of every epoch in which its vote may have made a root?"""
        members = self._mastering.members
        count = len(members.names)
        return len(self._heard) > count - members.majority or len(self._linked) == count - 1

    def _pass_lost_uids(self) -> None:
        rows = self._core.rows
        for box in [box for user in rows.users() for box in rows.boxes(user)]:
            if not self._mastering.is_made_here(box):
                self._pass_uids(box)

    def _pass_uids(self, box: BoxRow) -> None:
        blocks, place = self._mastering.blocks, self._mastering.members.place(self._core.name)
        self._core.pass_uids(box, blocks.first(box.uidnext, place) + blocks.room - 1)

    def _end(self, how: str) -> None:
        self._keep_over()
        self._core.note("fresh_over", f"{self._core.name} {how}")

    def _keep_over(self) -> None:
        self._root.is_fresh = False
        self._core.rows.put_cluster(self._core.rows.cluster()._replace(is_fresh=False))
