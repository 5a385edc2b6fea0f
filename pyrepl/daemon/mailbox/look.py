"""What is asked of a look at a mailbox.

Not here: the look (open_box.py), and who asks for it (pyrepl.mailbox.gates).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias, final

Keep: TypeAlias = Callable[[str, bytes], None]
"""Takes the GUID and the text of a message that was read."""

MOST_TEXTS: Final = 300
"""So many are read in one look, as what is new in it becomes ops in one round; whoever looks asks for others then."""
MOST_TEXT_BYTES: Final = 64 * 1024 * 1024
"""When so much was read in one look, no more is: a look has the mailbox's lock, and a Dovecot that waits for that tells
its client NO after `mail_max_lock_timeout`. One text is read whatever its size."""


def _keep_nothing(guid: str, data: bytes) -> None:
    pass


class Look(NamedTuple):
    """The texts of messages from the UID `since` on, and of those that are `wanted`, are read, and `keep` takes them.
    `may_list`: messages without a UID get one. Without `is_whole` it is told what may have changed since it was told
    last, if that is known."""

    since: int
    may_list: bool = False
    is_whole: bool = True
    wanted: frozenset[str] = frozenset()
    keep: Keep = _keep_nothing


@final
class TextChoice:
    """Of which messages the texts are read in one look: of the lowest UIDs, at most MOST_TEXTS, and none when
    MOST_TEXT_BYTES were read."""

    def __init__(self, look: Look) -> None:
        self._look: Final = look
        self._left = MOST_TEXTS
        self._bytes_left = MOST_TEXT_BYTES

    def wants(self, uid: int, guid: str) -> bool:
        """It is asked in the order of UIDs."""
        if uid < self._look.since and guid not in self._look.wanted:
            return False
        self._left -= 1
        return self._left >= 0 and self._bytes_left > 0

    def take(self, guid: str, data: bytes, is_all: bool) -> None:
        """A piece of a text was read. `is_all`: the text has no other."""
        self._bytes_left -= len(data)
        if is_all:
            self._look.keep(guid, data)
