"""The Dovecot of this node, asked by its program `doveadm` to number changes of a mailbox anew.

Not here: which, and when (pyrepl.mailbox.aligning).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from typing import Final, final

from pyrepl.errors import PyreplError
from pyrepl.mailbox.aligning import DRAFT, AlignOrder
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.words import ranges, render_uids

PATIENCE_S: Final = 30.0
"""How long one command may take: it waits for the lock of the mailbox."""
MOST_UIDS: Final = 5000
"""In one command."""
MOST_SAID: Final = 300
"""Characters of what it says that are told."""
_SEPARATORS: Final = ("/", ".")
"""What operators choose."""
_NOT_FOUND: Final = 68
"""It ends so where there is no mailbox of this name."""
_NEW_LOG: Final = (
    *("-o", "mail_index_log_rotate_min_size=1", "-o", "mail_index_log_rotate_max_size=1"),
    *("-o", "mail_index_log_rotate_min_age=0"),
)
"""It begins a new log of the mailbox's index. Dovecot keeps the log before it, so twice forgets what was in it."""


class DoveadmError(PyreplError):
    """It failed; the text is for people."""


class _NoMailbox(DoveadmError):
    """There is none of this name."""


@final
class Doveadm:
    """The program, with what stands before its own words. Its methods wait for it."""

    def __init__(self, command: Sequence[str], separator: str) -> None:
        """`separator`: what is between the parts of mailboxes' names, where Dovecot's configuration says nothing of
        it."""
        self._command: Final = tuple(command)
        self._separators: Final = tuple(dict.fromkeys((separator, *_SEPARATORS)))

    def align(self, order: AlignOrder) -> None:
        """Raise the mailbox, and change a flag of each message and change it back, which gives it the next modseq.
        Raises DoveadmError; then flags may be changed that were not changed back."""
        name = self._raise(order)
        options = _NEW_LOG if order.forget else ()
        for hows, uids in _toggles(order):
            for how in hows:
                search = ("mailbox", name, "uid", render_uids(ranges(uids)))
                self._run(*options, "flags", how, "-u", order.user, DRAFT, *search)

    def _raise(self, order: AlignOrder) -> str:
        """What the mailbox is called."""
        names = list(dict.fromkeys(order.name.replace("/", each) for each in self._separators))
        for name in names:
            try:
                self._run("mailbox", "update", "-u", order.user, "--min-highest-modseq", str(order.modseq), "--", name)
            except _NoMailbox:
                continue
            return name
        raise DoveadmError(f"doveadm knows no mailbox {names[0]} of {order.user}")

    def _run(self, *words: str) -> None:
        try:
            done = subprocess.run(
                [*self._command, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=PATIENCE_S,
                check=False,
            )
        except OSError as error:
            raise DoveadmError(f"{self._command[0]}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise DoveadmError(f"doveadm has not ended in {PATIENCE_S:.0f} s") from None
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[:MOST_SAID]
            kind = _NoMailbox if done.returncode == _NOT_FOUND else DoveadmError
            raise kind(f"doveadm ended with {done.returncode}: {said}")


def _toggles(order: AlignOrder) -> Iterator[tuple[tuple[str, str], Sequence[int]]]:
    """What is done to the flag, and to which UIDs, in portions."""
    for is_draft, hows in ((False, ("add", "remove")), (True, ("remove", "add"))):
        uids = [each.uid for each in order.messages if each.is_draft is is_draft]
        for portion in portions(uids, MOST_UIDS):
            yield hows, portion
