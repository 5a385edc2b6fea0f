"""How works ended: those that the disk refused, in its words, and mailboxes that have another name in the store."""

from __future__ import annotations

import os

from pyrepl.mailbox.maildir.fitting import fitted
from pyrepl.mailbox.maildir.layout import Layout
from pyrepl.mailbox.store import MakeBox, Outcome, RenameBox, Result, SubscribeBox, Work


def failed(error: Exception, outcome: Outcome = Outcome.FAILED) -> Result:
    """A work that the disk refused, in the disk's words."""
    if isinstance(error, OSError) and error.strerror is not None:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, bytes | str) else ""
        return Result(outcome, f"{where}{error.strerror}")
    return Result(outcome, str(error))


def storable(work: Work, layout: Layout) -> Work:
    """The work with a name that the layout can store."""
    if not isinstance(work, MakeBox | RenameBox | SubscribeBox):
        return work
    name = fitted(layout, work.name, work.box)
    return work if name == work.name else type(work)(**work.__dict__ | {"name": name})


def told_of_name(result: Result, work: Work, done: Work) -> Result:
    """How a work ended that was done as `done`: told with the name that the mailbox has got, if that is not its own."""
    if not isinstance(done, MakeBox | RenameBox) or done == work:
        return result
    return result._replace(stored_as=done.name)
