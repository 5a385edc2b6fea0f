"""What a node knows of messages, as members compare it: entries in the order of GUIDs, and their digests.

An entry is all that is known of one GUID in one mailbox: the message, or that it is gone, or both, if it came again. A
GUID never changes, so whatever happens meanwhile, who reads all entries in this order misses none.

A digest is a function of rows alone, of their values as JSON: so it is the same on each node that has the same rows;
where two are equal, so are the rows.

Not here: who compares (pulling.py), and how rows of two nodes become one (joining.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from pyrepl.mailbox.rows import UNPLACED, GoneRow, MessageRow, Rows
from pyrepl.mailbox.verbs import Message
from pyrepl.mailbox.words import Box, Token

_ENTRY_BYTES: Final = 8
_RANGE_BYTES: Final = 16


class Pages(NamedTuple):
    """How much at once. `boxes`, `entries`: in an answer. `compared`: entries of the asker's, by one question;
    `messages`: those asked for, as a line has room for their GUIDs. `wanted`: those of a mailbox that are remembered as
    different."""

    boxes: int = 100
    entries: int = 500
    compared: int = 250
    messages: int = 100
    wanted: int = 50_000

    @property
    def lines(self) -> int:
        """Of an answer: each message may be told as there and as gone."""
        return max(self.boxes, self.entries, 2 * self.messages)


class Known(NamedTuple):
    """An entry."""

    guid: str
    row: MessageRow | None
    gone: GoneRow | None

    @property
    def uid(self) -> int:
        return UNPLACED if self.row is None else self.row.uid

    def messages(self, user: str) -> list[Message]:
        """It as words."""
        found = [] if self.row is None else [_of_row(user, self.row)]
        return found if self.gone is None else [*found, _of_gone(user, self.gone)]

    def digest(self) -> str:
        # The UID is the one that clients of this node saw last, which may differ for good.
        gone = None if self.gone is None else self.gone._replace(uid=UNPLACED)
        return hashlib.blake2b(json.dumps((self.row, gone)).encode(), digest_size=_ENTRY_BYTES).hexdigest()


def entry(rows: Rows, box: str, guid: str) -> Known:
    return Known(guid, rows.message(box, guid), rows.gone(box, guid))


def entries(rows: Rows, box: str, after: str, upto: str, most: int) -> tuple[list[Known], str]:
    """The first `most` entries above `after` and not above `upto` ("": without an end); and the GUID of the last one,
    "" if these are all."""
    messages = rows.messages_by_guid(box, after, upto, most)
    gone = rows.gone_by_guid(box, after, upto, most)
    # Behind the end of a list that is full there may be more of its kind.
    ends = [full[-1].guid for full in (messages, gone) if len(full) == most]
    rows_of = {row.guid: row for row in messages}
    gone_of = {row.guid: row for row in gone}
    guids = sorted(guid for guid in rows_of.keys() | gone_of.keys() if not ends or guid <= min(ends))
    found = [Known(guid, rows_of.get(guid), gone_of.get(guid)) for guid in guids[:most]]
    return found, found[-1].guid if ends or len(guids) > most else ""


def digest(found: Iterable[Known]) -> str:
    """Of entries in their order."""
    hashed = hashlib.blake2b(digest_size=_RANGE_BYTES)
    for each in found:
        hashed.update(f"{each.guid} {each.digest()}\n".encode())
    return hashed.hexdigest()


def _of_row(user: str, row: MessageRow) -> Message:
    return Message(
        user=user,
        box=Box(row.box, True),
        guid=row.guid,
        uid=row.uid,
        token=row.token,
        dots=row.dots,
        stamps=row.flags,
        modseq=row.modseq,
        size=row.size,
        received=row.received,
        sum=row.sums,
    )


def _of_gone(user: str, row: GoneRow) -> Message:
    return Message(
        user=user,
        box=Box(row.box, True),
        guid=row.guid,
        uid=row.uid,
        dots=row.dots,
        stamps=row.flags,
        modseq=row.modseq,
        gone=True,
    )


def known_of(guid: str, messages: Iterable[Message]) -> Known:
    """The entry that was told: what is said of one GUID."""
    found = Known(guid, None, None)
    for each in messages:
        box, dots = each.box.text, each.dots
        if each.gone:
            found = found._replace(gone=GoneRow(box, each.uid, guid, dots, each.modseq, each.stamps))
        else:
            token = each.token or Token(0, 0)
            row = MessageRow(box, guid, each.uid, token, dots, each.size, each.received, each.stamps, each.modseq)
            found = found._replace(row=row._replace(sums=each.sum))
    return found
