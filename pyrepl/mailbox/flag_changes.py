"""Flags of messages in the store that are others than their rows say: what was added, and what was removed.

Keywords are compared as IMAP does, whatever their case: two Dovecots may know one in two spellings. A flag that the
store cannot show (there are letters for 26 keywords) is not removed when it is not seen.

Not here: whose change it was (recovery.py), when it is looked (compare.py), and what becomes of very many (doubts.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, final

from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.rows import MessageRow

GUARD: Final = 100
"""More changed messages than this, and more than half of a mailbox, are an accident, perhaps: letters that a copy of
the files lost."""
Change: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Flags that were added, and that were removed; ascending."""
NO_CHANGE: Final[Change] = ((), ())


def change(own: Iterable[str], shown: Iterable[str], carried: Iterable[str] | None) -> Change:
    """What was done to a message with the flags `own`, which the store shows with those that are `shown`. `carried`:
    the keywords that the store can show there, as it always can system flags; None for all."""
    had, own_flags, shown_flags = None if carried is None else folded(carried), sorted(own), sorted(shown)
    own_keys, shown_keys = folded(own_flags), folded(shown_flags)
    added = tuple(flag for flag in shown_flags if flag.lower() not in own_keys)
    missing = (flag for flag in own_flags if flag.lower() not in shown_keys)
    return added, tuple(flag for flag in missing if had is None or flag.startswith("\\") or flag.lower() in had)


def without(changed: Change, doubt: Change) -> Change:
    """What was done, but for what is in doubt."""
    added, removed = folded(doubt[0]), folded(doubt[1])
    return (
        tuple(flag for flag in changed[0] if flag.lower() not in added),
        tuple(flag for flag in changed[1] if flag.lower() not in removed),
    )


def folded(flags: Iterable[str]) -> frozenset[str]:
    """As they are compared."""
    return frozenset(flag.lower() for flag in flags)


def with_change(had: Iterable[str], before: Iterable[str], after: Iterable[str]) -> frozenset[str]:
    """The flags of a message that had these, when it is to go from the flags `before` to those `after`: what was
    changed of it meanwhile stays changed."""
    old, new = folded(before), folded(after)
    there = folded(had)
    kept = (flag for flag in had if flag.lower() in new or flag.lower() not in old)
    return frozenset(kept) | {flag for flag in after if flag.lower() not in old and flag.lower() not in there}


@final
class FlagChanges:
    """Those of one mailbox. `rows` are of the messages that differ."""

    def __init__(self, carried: frozenset[str] | None) -> None:
        """`carried`: the flags that the store can show there; None for all."""
        self._carried: Final = carried
        self._guids: Final[dict[Change, list[str]]] = {}
        self.rows: Final[list[MessageRow]] = []

    def note(self, row: MessageRow, shown: tuple[str, ...]) -> None:
        """A message that the store shows with these flags."""
        add, remove = change(row.set_flags(), shown, self._carried)
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
        return {guid: done for done, guids in self._guids.items() for guid in guids}


def in_parts(guids: Mapping[Change, Sequence[str]]) -> Iterator[tuple[Change, tuple[str, ...]]]:
    """Each change, and its messages, in parts that an op may name."""
    for done, named in sorted(guids.items()):
        for part in portions(named):
            yield done, tuple(part)
