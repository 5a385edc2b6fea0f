"""What no member in its right mind says: it is refused before anything is changed by it.

The codec has checked words one by one. Here are rules between the words of a command, and bounds that leave room for
what this node makes itself: a number next to the end of its range would make it fail on and on. Who says such a thing
loses the connection; what is known stays as it was.

Not here: commands of mail processes, who are answered (mail_side.py), and what merely has no effect (merging.py).
"""

from __future__ import annotations

from typing import Final

from pyrepl.mailbox.verbs import Command, Copy, Create, Op, Renumber
from pyrepl.mailbox.words import Register, Stamp, count

MOST_MODSEQ: Final = 2**62
"""Of what others say; each change adds one, so the rest is never used up."""
MOST_EPOCHS_AHEAD: Final = 1_000_000
"""By which another's epoch may be ahead of ours: an election adds one, an operator's force a thousand."""
MOST_IN_OP: Final = 1000
"""Messages that one op may name."""


def why_not(command: Command, epoch: int) -> str | None:
    """Why a command or an answer of a member is refused; None if it is not. `epoch`: ours."""
    words = command.__dict__
    ahead = max(words.get("epoch") or 0, *(token.epoch for token in (words.get("token"),) if token is not None), 0)
    if ahead > epoch + MOST_EPOCHS_AHEAD:
        return f"{command.VERB}: epoch {ahead} is far beyond {epoch}"
    modseqs = [words.get("modseq") or 0, *_stamps(words)]
    if max(modseqs) > MOST_MODSEQ:
        return f"{command.VERB}: modseq {max(modseqs)} leaves no room for others"
    return _why_not_op(command) if isinstance(command, Op) else None


def _stamps(words: dict[str, object]) -> list[int]:
    """The modseqs of all stamps that a command has."""
    found = []
    for value in words.values():
        if isinstance(value, Stamp):
            found.append(value.modseq)
        elif isinstance(value, tuple):
            found += [each.stamp.modseq for each in value if isinstance(each, Register)]
    return found


def _why_not_op(op: Op) -> str | None:
    guids = len(op.__dict__.get("guids", ()))
    if guids > MOST_IN_OP:
        return f"{op.VERB}: expected {MOST_IN_OP} messages at most, got {guids}"
    if isinstance(op, Create) and not op.id:
        return "CREATE: expected the id of the mailbox"
    uids = op.touids if isinstance(op, Copy) else op.to if isinstance(op, Renumber) and op.guids else None
    if uids is not None and count(uids) != guids:
        return f"{op.VERB}: expected a UID for each of {guids} messages, got {count(uids)}"
    return None
