"""Two mails of one GUID in one mailbox, as two hosts of one name can make them: each gets a GUID of its own.

Nodes know one message of a GUID in a mailbox, so of two mails that nodes saved apart each node would keep the one that
came first. A mail is told from another by its checksums. Where a mail comes whose GUID another one has, it is saved
under a GUID that follows from both, and expunged under the one that it came with. This is done to each of the two where
the other is; if several nodes do it, all have done the same.

What was done to one of the two by its GUID meanwhile, is done to whichever a node has: so a mail may have the flags
again that it came with, and one that was expunged or moved before its node heard of the other may come back.

A COPY does not say of which of two mails it is, so where it comes to a GUID that is there, it counts as the same.

Not here: where a mail is found to be another one (merging.py, joining.py), and who makes the ops (core.py). Mails of
one GUID that were saved in two mailboxes are not told from copies.
"""

from __future__ import annotations

import hashlib

from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.rows import MessageRow, Rows
from pyrepl.mailbox.verbs import Expunge, Op, Save


def are_two(sums: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """Are messages with these checksums two mails? Of one that has none, nobody knows."""
    return bool(sums) and bool(others) and sums != others


def are_mails(one: MessageRow, other: MessageRow) -> bool:
    """Are rows of one GUID, of two nodes, of two mails? Not those that the same op brought, as a COPY of one of two."""
    return are_two(one.sums, other.sums) and not set(one.dots) & set(other.dots)


def guid_of_other(guid: str, sums: tuple[int, ...]) -> str:
    """The GUID, 32 hex digits, of the mail with these checksums (CRC32C of each 64 KiB), if another one has `guid`."""
    return hashlib.sha256(f"{guid} {sums}".encode()).hexdigest()[:32]


def ops_apart(rows: Rows, row: MessageRow) -> tuple[Op, ...]:
    """A mail that came is saved under a GUID of its own, unless it is there; and it is no longer under the GUID that it
    came with."""
    box, guid = rows.box(row.box), guid_of_other(row.guid, row.sums)
    assert box is not None
    user, place = box.user, by_guid(box)
    expunge = Expunge(user=user, box=place, guids=(row.guid,), kills=row.dots)
    if rows.message(row.box, guid) is not None:
        return (expunge,)
    flags, size, received = row.set_flags(), row.size, row.received
    return Save(user=user, box=place, guid=guid, size=size, received=received, flags=flags, sum=row.sums), expunge
