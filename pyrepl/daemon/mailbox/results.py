"""How works ended, with the reason for people: what the store adds to pyrepl.mailbox.store's outcomes."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from pyrepl.mailbox.store import Outcome


class Result(NamedTuple):
    """`reason` says why a work failed; `unkept_keywords` are those that the mailbox has no letter for."""

    outcome: Outcome
    reason: str = ""
    unkept_keywords: tuple[str, ...] = ()


DONE: Final = Result(Outcome.DONE)


def failed(error: Exception) -> Result:
    """A work that the disk refused, in the disk's words."""
    if isinstance(error, OSError) and error.strerror is not None:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, bytes | str) else ""
        return Result(Outcome.FAILED, f"{where}{error.strerror}")
    return Result(Outcome.FAILED, str(error))
