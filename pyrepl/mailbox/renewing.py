"""MAILBOX RENEW: a mailbox gets a new UIDVALIDITY, and its messages UIDs from 1 on, as no UIDs are left.

It is put together of ops that every node knows: a mailbox of the same name is made, all messages are copied there in
their order and get their flags, and the old one is deleted, which leaves the name to the new one. All but the first is
one transaction, under the masterships of both, so no other node gives out a UID in the old one meanwhile.

Not here: who may have masterships (tasks.py), and what becomes of the Maildir (the store).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.uids import next_uidvalidity
from pyrepl.mailbox.verbs import Copy, Create, Delete, Op, Store, Subscribe
from pyrepl.mailbox.words import APART, Box, Token


@final
class Renewing:
    """Answers as a mail process is answered."""

    def __init__(self, core: Core, saving: Saving, unix_s: float) -> None:
        """`unix_s`: Unix time when `now` was 0, for UIDVALIDITY."""
        self._core: Final = core
        self._saving: Final = saving
        self._unix_s: Final = unix_s

    def renew(self, client: str, tag: str, old: BoxRow, now: float) -> None:
        """OK when another node has it as well, or none can be reached; NO if the masterships cannot be had."""
        newest = max(box.uidvalidity for box in self._core.rows.boxes(old.user))
        create = Create(
            user=old.user,
            box=Box(old.name),
            id=self._core.journal.new_box_guid(old.user, old.name),
            uidvalidity=next_uidvalidity(newest, int(self._unix_s + now)),
            stamp=self._core.journal.next_stamp(old.user),
        )
        self._core.do([create])

        def run(tokens: dict[str, Token], now: float) -> None:
            if any(token.term == APART for token in tokens.values()):
                fail(Reason.APART, now)
            else:
                self._move(client, tag, old.guid, create.id, tokens[create.id], now)

        def fail(reason: Reason, now: float) -> None:
            self._core.do([self._delete(old.user, create.id)])
            self._core.reply(client, tag, No(reason=reason))

        self._saving.tasks.add({old.guid, create.id}, run, fail, now)

    def _move(self, client: str, tag: str, old: str, new: str, token: Token, now: float) -> None:
        box = self._core.rows.box(old)
        assert box is not None
        rows = sorted(self._core.rows.messages(old), key=lambda row: (not row.uid, row.uid))
        ops: list[Op] = [*_copies(box, Box(new, True), rows, token), *_flags(box.user, Box(new, True), rows)]
        if box.subscribed:
            ops.append(Subscribe(user=box.user, box=Box(new, True), stamp=self._core.journal.next_stamp(box.user)))
        ops.append(self._delete(box.user, old))
        done = self._core.do(ops, tag=self._saving.acks.ask_tag(tag))
        self._saving.order(new).passed(len(rows))
        self._saving.acks.wait(client, tag, done[-1].at, Ok(at=done[-1].at), now)

    def _delete(self, user: str, box: str) -> Delete:
        journal = self._core.journal
        return Delete(user=user, box=Box(box, True), stamp=journal.next_stamp(user), known=journal.vector())


def _copies(box: BoxRow, to: Box, rows: list[MessageRow], token: Token) -> Iterator[Copy]:
    """All with UIDs from 1 on. Without flags: messages with other flags stand between those that have the same."""
    last = 0
    for part in portions(rows):
        guids = tuple(row.guid for row in part)
        first, last = last + 1, last + len(guids)
        uids = ((first, last),)
        yield Copy(user=box.user, box=by_guid(box), to=to, touids=uids, guids=guids, token=token)


def _flags(user: str, to: Box, rows: list[MessageRow]) -> Iterator[Store]:
    """What flags the messages had."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        groups.setdefault(row.set_flags(), []).append(row.guid)
    for flags, guids in sorted(groups.items()):
        for part in portions(guids) if flags else ():
            yield Store(user=user, box=to, guids=tuple(part), add=flags)
