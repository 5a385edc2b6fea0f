"""What became of mailboxes, for observers: a row for each op that was applied here, as the stream `mailboxes` has it.

| op | row |
|---|---|
| SAVE | `["save", user, mailbox, uid, guid]` |
| COPY | `["copy", user, mailbox, [uids], [guids], from mailbox]` |
| STORE | `["store", user, mailbox, [uids], [guids], [added flags], [removed flags]]` |
| EXPUNGE | `["expunge", user, mailbox, [uids], [guids]]` |
| RENUMBER | `["renumber", user, mailbox, [uids], [guids]]` |
| MODSEQ | `["modseq", user, mailbox, modseq]` |
| CREATE, DELETE, SUBSCRIBE, UNSUBSCRIBE | `["create", user, mailbox, its guid]` and so on |
| RENAME | `["rename", user, mailbox as it is called now, its guid]` |

What came by whole mailboxes (resync by state) has no ops: the shell tells of it by a row of its own,
`["resync", member]`.

UIDs are those that clients of this node see now, which another node's may differ from until all is settled; 0 is none
yet. A mailbox is called as clients see it, and one that is gone as it was called last.

Not here: the stream (daemon/changes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias, final

from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.rows import UNPLACED, Rows
from pyrepl.mailbox.verbs import Copy, Expunge, Modseqs, Op, Renumber, Save, Store

Row: TypeAlias = list[Any]
"""Of str, int, and lists of these."""


def told(rows: Rows, ops: Iterable[Op]) -> Iterator[Row]:
    """The rows of ops that were just applied, all of them; `rows` are as they are behind the last one."""
    teller = _Teller(rows)
    return (teller.row(op) for op in ops)


@final
class _Teller:
    """Tells ops of one moment: what a user's mailboxes are called is looked up once."""

    def __init__(self, rows: Rows) -> None:
        self._rows: Final = rows
        self._names: Final[dict[str, dict[str, str]]] = {}

    def row(self, op: Op) -> Row:
        guid = op.to.text if isinstance(op, Copy) else op.__dict__.get("id") or op.box.text
        head: Row = [op.VERB.lower(), op.user, self._name(op.user, guid)]
        if isinstance(op, Save):
            return [*head, *self._uids(guid, (op.guid,)), op.guid]
        if isinstance(op, Modseqs):
            return [*head, op.modseq or 0]
        if not isinstance(op, Copy | Store | Expunge | Renumber):
            return [*head, guid]
        row: Row = [*head, self._uids(guid, op.guids), list(op.guids)]
        if isinstance(op, Copy):
            row.append(self._name(op.user, op.box.text))
        elif isinstance(op, Store):
            row += [list(op.add), list(op.remove)]
        return row

    def _name(self, user: str, guid: str) -> str:
        if user not in self._names:
            self._names[user] = {box: name for box, (name, _) in view(self._rows, user).items()}
        name = self._names[user].get(guid)
        box = self._rows.box(guid) if name is None else None
        return name or (guid if box is None else box.name)

    def _uids(self, box: str, guids: tuple[str, ...]) -> list[int]:
        found = (self._rows.message(box, guid) or self._rows.gone(box, guid) for guid in guids)
        return [UNPLACED if row is None else row.uid for row in found]
