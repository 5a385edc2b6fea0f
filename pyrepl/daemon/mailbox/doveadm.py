"""The Dovecot of this node, asked by its program `doveadm` to number changes of a mailbox anew.

Not here: which, and when (pyrepl.mailbox.aligning), and the program itself (doveadm_program.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from pyrepl.daemon.mailbox.doveadm_program import MOST_UIDS, DoveadmError, DoveadmProgram, NoMailbox
from pyrepl.mailbox.aligning import DRAFT, AlignOrder
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.words import ranges, render_uids

_SEPARATORS: Final = ("/", ".")
"""What operators choose."""
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
        self._separators: Final = tuple(dict.fromkeys((separator, *_SEPARATORS)))

    def align(self, order: AlignOrder) -> None:
        """Raise the mailbox, and change a flag of each message and change it back, which gives it the next modseq.
        Raises DoveadmError; then flags may be changed that were not changed back."""
        name = self._raise(order)
        options = _NEW_LOG if order.forget else ()
        for hows, uids in _toggles(order):
            for how in hows:
                search = ("mailbox", name, "uid", render_uids(ranges(uids)))
                self._program.run(*options, "flags", how, "-u", order.user, DRAFT, *search)

    def _raise(self, order: AlignOrder) -> str:
        """What the mailbox is called."""
        names = list(dict.fromkeys(order.name.replace("/", each) for each in self._separators))
        for name in names:
            try:
                self._program.run(
                    "mailbox", "update", "-u", order.user, "--min-highest-modseq", str(order.modseq), "--", name
                )
            except NoMailbox:
                continue
            return name
        raise DoveadmError(f"doveadm knows no mailbox {names[0]} of {order.user}")


def _toggles(order: AlignOrder) -> Iterator[tuple[tuple[str, str], Sequence[int]]]:
    """What is done to the flag, and to which UIDs, in portions."""
    for is_draft, hows in ((False, ("add", "remove")), (True, ("remove", "add"))):
        uids = [each.uid for each in order.messages if each.is_draft is is_draft]
        for portion in portions(uids, MOST_UIDS):
            yield hows, portion
