"""Works on messages of a mailbox that has no folder any more, beside a Dovecot whose client deleted it.

What comes there is kept aside: the client did not know of it, so it will bring the mailbox back. Everything else was
deleted with it: a message that was to move is told as not there, as in a mailbox where it was expunged, so its gate
looks as soon as the mailbox is there again. Not here: whether the folder is really gone (maildir_store.py).
"""

from __future__ import annotations

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.box_plan import BoxWork, FindText
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import DONE, AddMessage, MoveMessage, Outcome, RemoveMessage, Result


def without_box(work: BoxWork, aside: Aside, find_text: FindText) -> Result:
    """How it ends; on disk when this returns. Raises OSError, CorruptData, NotThere."""
    if isinstance(work, RemoveMessage):
        aside.remove(work.guid)
    if not isinstance(work, AddMessage | MoveMessage):
        return DONE
    if aside.path(work.guid) is None:
        source = find_text(work) if isinstance(work, AddMessage) else None
        if source is None:
            return Result(Outcome.NO_TEXT)
        aside.add(work.guid, source)
        aside.sync()
    return DONE if work.uid == UNPLACED else Result(Outcome.TOO_LOW, next_uid=work.uid + 1)
