"""Works in batches of one mailbox, for a store; after one that failed, no later work of its user is begun.

Not here: the doing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from pyrepl.daemon.mailbox.drop_folder import DropFolder, is_of, text_name
from pyrepl.mailbox.store import (
    BRINGING,
    AddMessage,
    MakeBox,
    MoveMessage,
    Outcome,
    RemoveBox,
    RenameBox,
    Result,
    SetFlags,
    SubscribeBox,
    Work,
)

FLAGGING: Final = (SetFlags, MoveMessage)
"""Works that change flags of messages whose rows are there."""
_OF_BOXES: Final = (MakeBox, RenameBox, RemoveBox, SubscribeBox)

Perform: TypeAlias = Callable[[str, str, list[Work]], list[Result]]
"""Does works in a mailbox of a user: all on the mailbox itself, or none."""


def perform_in_batches(works: Sequence[Work], perform: Perform) -> list[Result]:
    """Do them, in their order; how each ended."""
    results: list[Result] = []
    stopped: dict[str, Result] = {}
    for (user, box), batch in _batches(works):
        done = [stopped[user]] * len(batch) if user in stopped else perform(user, box, batch)
        results += done
        if done[-1].outcome is Outcome.FAILED:
            stopped[user] = done[-1]
    return results


def are_of_boxes(works: Sequence[Work]) -> bool:
    """Is a batch on the mailbox itself?"""
    return isinstance(works[0], _OF_BOXES)


def begin_flags(drop: DropFolder, box: str, works: Sequence[Work]) -> None:
    """Keep which flags these works of a mailbox change, until their rows are committed. Raises OSError."""
    changing = [(work.guid, _changing(work)) for work in works if isinstance(work, FLAGGING)]
    if changing:
        drop.begin_flags(box.encode(), changing)


def settle(drop: DropFolder, works: Sequence[Work]) -> None:
    """The rows of these works are committed: what was kept to know that they were done goes. Raises OSError."""
    for work in works:
        if isinstance(work, BRINGING) and work.text:
            drop.remove([work.text])
        if isinstance(work, AddMessage) and work.at is not None and not is_of(work.text, work.guid):
            drop.remove([text_name(work.at, work.guid)])
        if isinstance(work, MakeBox):
            drop.remove_new_box(work.box.encode())
    for box in {work.box for work in works if isinstance(work, FLAGGING)}:
        drop.remove_flags(box.encode())


def _changing(work: SetFlags | MoveMessage) -> frozenset[str] | None:
    """The flags that a work may change, in lower case; None for all."""
    if not isinstance(work, SetFlags) or work.before is None:
        return None
    return frozenset(flag.lower() for flag in {*work.flags} ^ {*work.before})


def _batches(works: Sequence[Work]) -> Iterator[tuple[tuple[str, str], list[Work]]]:
    """Works that follow each other in one mailbox, those on messages apart from those on the mailbox."""
    for (user, box, _), batch in groupby(works, lambda work: (work.user, work.box, isinstance(work, _OF_BOXES))):
        yield (user, box), list(batch)
