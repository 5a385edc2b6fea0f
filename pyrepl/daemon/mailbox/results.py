"""Works that the disk refused, told in its words."""

from __future__ import annotations

import os

from pyrepl.mailbox.store import Outcome, Result


def failed(error: Exception, outcome: Outcome = Outcome.FAILED) -> Result:
    """A work that the disk refused, in the disk's words."""
    if isinstance(error, OSError) and error.strerror is not None:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, bytes | str) else ""
        return Result(outcome, f"{where}{error.strerror}")
    return Result(outcome, str(error))
