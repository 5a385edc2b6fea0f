"""The Dovecot of this node, asked by its program `doveadm` to number changes of a mailbox anew.

Not here: which, and when (pyrepl.mailbox.aligning), and the program itself (doveadm_program.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from pyrepl.daemon.mailbox.doveadm_program import MOST_UIDS, DoveadmError, DoveadmProgram, NoMailbox, of_user
from pyrepl.mailbox.aligning import DRAFT, AlignOrder
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.words import ranges, render_uids

_NEW_LOG: Final = (
    *("-o", "mail_index_log_rotate_min_size=1", "-o", "mail_index_log_rotate_max_size=1"),
    *("-o", "mail_index_log_rotate_min_age=0"),
)
"""It begins a new log of the mailbox's index. Dovecot keeps the log before it, so twice forgets what was in it."""


@final
class Doveadm:
    """Asks the program. Its methods wait for it."""

    def __init__(self, program: DoveadmProgram, separator: str) -> None:
        """`separator`: what is between the parts of mailboxes' names, where Dovecot's configuration says nothing of
        it."""
        self._program: Final = program
        self._separator: Final = separator

    def align(self, order: AlignOrder) -> None:
        """Raise the mailbox, and change a flag of each message and change it back, which gives it the next modseq.
        Raises DoveadmError; then flags may be changed that were not changed back."""
        name = self._raise(order)
        options = _NEW_LOG if order.forget else ()
        for hows, uids in _toggles(order):
            for how in hows:
                # A name alone is a pattern, which finds the messages of other mailboxes too; without one, doveadm opens
                # all mailboxes to see which has the GUID, and waits at their gates.
                search = ("mailbox", name, "mailbox-guid", order.box, "uid", render_uids(ranges(uids)))
                self._program.run(*options, "flags", how, *of_user(order.user), DRAFT, *search)

    def _raise(self, order: AlignOrder) -> str:
        """What the mailbox is called."""
        name = order.name.replace("/", self._separator)
        try:
            self._update(order, name)
        except NoMailbox:
            name = self._shown_as(order)
            self._update(order, name)
        return name

    def _update(self, order: AlignOrder, name: str) -> None:
        self._program.run(
            "mailbox", "update", *of_user(order.user), "--min-highest-modseq", str(order.modseq), "--", name
        )

    def _shown_as(self, order: AlignOrder) -> str:
        """The name with the separator and the prefix that Dovecot's configuration says."""
        # The pattern * alone finds nothing where names have a prefix.
        names = [row.get("mailbox", "") for row in self._program.rows("mailbox", "list", *of_user(order.user))]
        for row in self._program.rows("mailbox", "status", *of_user(order.user), "--", "guid", *names):
            if row.get("guid") == order.box:
                return row.get("mailbox", "")
        raise DoveadmError(f"Dovecot shows {order.user} no mailbox {order.name} with the GUID {order.box}")


def _toggles(order: AlignOrder) -> Iterator[tuple[tuple[str, str], Sequence[int]]]:
    """What is done to the flag, and to which UIDs, in portions."""
    for is_draft, hows in ((False, ("add", "remove")), (True, ("remove", "add"))):
        uids = [each.uid for each in order.messages if each.is_draft is is_draft]
        for portion in portions(uids, MOST_UIDS):
            yield hows, portion
