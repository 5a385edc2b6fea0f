"""Flags that very many messages of a mailbox had otherwise than the rows say when the node started, until an operator
says what became of them. It may be an accident, as when a copy of the files lost the letters of their names.

| the operator says | then |
|---|---|
| MAILBOX ALLOW | a mail program changed them: they are changed everywhere |
| MAILBOX DENY | nobody did: the files get what the rows say |

Until then these flags of these messages are not compared, and all other flags are; a flag that the files show again as
the rows do is in doubt no longer. Nothing of it is kept: the next start compares anew.

Not here: how many are very many (flag_changes.py), who finds them at the start (recovery.py), and who compares what the
files have later (gates.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from pyrepl.mailbox.flag_changes import NO_CHANGE, Change, FlagChanges, in_parts
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.rows import BoxRow, MessageRow, Rows
from pyrepl.mailbox.store import SetFlags
from pyrepl.mailbox.verbs import Store


@final
class Doubts:
    """Of all mailboxes. Invariant: a mailbox that is named has a message in doubt."""

    def __init__(self, rows: Rows) -> None:
        self._rows: Final = rows
        self._changes: Final[dict[str, dict[str, Change]]] = {}

    def add(self, box: str, changes: FlagChanges) -> None:
        """What is in doubt of a mailbox, and nothing else of it is any more."""
        self._changes[box] = changes.by_message()

    def boxes(self) -> Iterable[str]:
        """Those in which there is any."""
        return self._changes

    def of(self, box: str) -> Mapping[str, Change]:
        """Message -> flags that were added, and that were removed, perhaps."""
        return self._changes.get(box, {})

    def review(self, box: str, shown: Iterable[tuple[str, frozenset[str]]]) -> None:
        """`shown`: messages, and the flags that their files have now."""
        doubts = self._changes.get(box)
        for guid, flags in shown if doubts else ():
            row = self._rows.message(box, guid)
            if doubts and guid in doubts:
                left = NO_CHANGE if row is None else _left(doubts[guid], frozenset(row.set_flags()), flags)
                doubts.pop(guid) if left == NO_CHANGE else doubts.update({guid: left})
        if doubts is not None and not doubts:
            del self._changes[box]

    def allowed(self, box: BoxRow) -> list[Store]:
        """A mail program changed them: what it did."""
        guids: dict[Change, list[str]] = {}
        for guid, change in self._changes.pop(box.guid, {}).items():
            if self._rows.message(box.guid, guid) is not None:
                guids.setdefault(change, []).append(guid)
        return [
            Store(user=box.user, box=by_guid(box), guids=part, add=add, remove=remove)
            for (add, remove), part in in_parts(guids)
        ]

    def denied(self, box: BoxRow) -> list[SetFlags]:
        """Nobody changed them. What a mail program changed of other flags since stays changed."""
        doubts = self._changes.pop(box.guid, {})
        rows = ((self._rows.message(box.guid, guid), change) for guid, change in sorted(doubts.items()))
        return [_put_back(box, row, change) for row, change in rows if row is not None]


def _left(change: Change, own: frozenset[str], shown: frozenset[str]) -> Change:
    """What of it the files still have otherwise than the row."""
    add, remove = change
    return tuple(flag for flag in add if flag in shown - own), tuple(flag for flag in remove if flag in own - shown)


def _put_back(box: BoxRow, row: MessageRow, change: Change) -> SetFlags:
    add, remove = change
    own = row.set_flags()
    before = ({*own} - {*remove}) | {*add}
    return SetFlags(box.user, box.guid, row.guid, own, tuple(sorted(before)))
