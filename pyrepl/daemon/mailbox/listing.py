"""One mailbox as its files have it.

Not here: how that is read (open_box.py).
"""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """One message as it stands in the files."""

    uid: int
    guid: bytes
    flags: frozenset[str]
    path: bytes


class Listing(NamedTuple):
    """A mailbox as it stands in the files: messages by UID, and the bases of files that have no UID yet: they have just
    come, or their lines were lost. None of those is an expunged message. `next_uid`: where no client expunges, all UIDs
    below may have been seen."""

    uidvalidity: int
    next_uid: int
    messages: tuple[Message, ...]
    unlisted: frozenset[bytes]
    carried: frozenset[str]
    """The flags that a file's name can show."""
