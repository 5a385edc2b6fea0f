"""A node without data: it neither votes nor claims to be the root before it has what the others have.

A node whose disk was lost does not know how it voted, so a vote of its could be the second one in an epoch. It is
fresh until, whatever comes first:

- a member that is not fresh has told it all ops, or all of its state (SYNC was answered, resync.py);
- it is linked to a majority, itself included, of which all are fresh: the cluster is a new one.

A witness has nothing to be told: for it, links to a majority are enough. What others say of themselves (`fresh=` of
HELLO) is as of the link's beginning.

Not here: where it is kept over a restart (the cluster's row), and votes (root.py).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.core import Core
from pyrepl.mailbox.members import Members
from pyrepl.mailbox.root import Root


@final
class Freshness:
    """Of this node; `root.is_fresh` is the answer."""

    def __init__(self, core: Core, root: Root, members: Members) -> None:
        self._core: Final = core
        self._root: Final = root
        self._members: Final = members
        self._linked: Final[dict[str, bool]] = {}
        """Member -> is it fresh?"""
        if root.is_fresh and members.majority == 1:
            self._keep_over()
        elif root.is_fresh:
            core.note("fresh", core.name)

    def link_up(self, peer: str, is_fresh: bool) -> None:
        self._linked[peer] = is_fresh
        self._review()

    def link_down(self, peer: str) -> None:
        self._linked.pop(peer, None)

    def synced(self, peer: str) -> None:
        """A member has told all that it has."""
        if not self._linked.get(peer, True):
            self._end(f"by {peer}")

    def _review(self) -> None:
        is_new = all(self._linked.values()) or self._core.name in self._members.witnesses
        if is_new and 1 + len(self._linked) >= self._members.majority:
            self._end("with a majority of new ones" if all(self._linked.values()) else "as a witness")

    def _end(self, how: str) -> None:
        if self._root.is_fresh:
            self._keep_over()
            self._core.note("fresh_over", f"{self._core.name} {how}")

    def _keep_over(self) -> None:
        self._root.is_fresh = False
        self._core.rows.put_cluster(self._core.rows.cluster()._replace(is_fresh=False))
