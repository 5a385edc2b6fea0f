"""Flags of messages in the store that are others than their rows say: what was added, and what was removed.

Keywords are compared as IMAP does, whatever their case. A flag that the store cannot show (there are letters for 26
keywords) is not removed when it is not seen.

Not here: whose change it was (recovery.py), and what becomes of very many (doubts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, final

from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.rows import MessageRow

GUARD: Final = 100
"""More changed messages than this, and more than half of a mailbox, are an accident, perhaps: letters that a copy of
the files lost."""
Change: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Flags that were added, and that were removed; ascending."""
NO_CHANGE: Final[Change] = ((), ())


@final
class FlagChanges:
    """Those of one mailbox. `rows` are of the messages that differ."""

    def __init__(self, carried: frozenset[str] | None) -> None:
        """`carried`: the flags that the store can show there; None for all."""
        self._carried: Final = None if carried is None else {flag.lower() for flag in carried}
        self._guids: Final[dict[Change, list[str]]] = {}
        self.rows: Final[list[MessageRow]] = []

    def note(self, row: MessageRow, shown: tuple[str, ...]) -> None:
        """A message that the store shows with these flags."""
        own, seen = {flag.lower() for flag in row.set_flags()}, {flag.lower() for flag in shown}
        add = tuple(sorted(flag for flag in shown if flag.lower() not in own))
        remove = tuple(flag for flag in row.set_flags() if flag.lower() not in seen and self._is_carried(flag))
        if add or remove:
            self._guids.setdefault((add, remove), []).append(row.guid)
            self.rows.append(row)

    def are_many(self, messages: int) -> bool:
        """Of so many messages in the mailbox, do more differ than somebody changed?"""
        return len(self.rows) > GUARD and 2 * len(self.rows) > messages

    def parts(self) -> Iterator[tuple[Change, tuple[str, ...]]]:
        """As `in_parts`."""
        return in_parts(self._guids)

    def by_message(self) -> dict[str, Change]:
        """GUID -> what was changed."""
        return {guid: change for change, guids in self._guids.items() for guid in guids}

    def _is_carried(self, flag: str) -> bool:
        return self._carried is None or flag.lower() in self._carried


def in_parts(guids: Mapping[Change, Sequence[str]]) -> Iterator[tuple[Change, tuple[str, ...]]]:
    """Each change, and its messages, in parts that an op may name."""
    for change, named in sorted(guids.items()):
        for part in portions(named):
            yield change, tuple(part)
