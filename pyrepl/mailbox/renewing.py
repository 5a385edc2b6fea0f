"""MAILBOX RENEW: a mailbox gets a new UIDVALIDITY, and its messages UIDs from 1 on, as no UIDs are left.

It is put together of ops that every node knows: a mailbox of the same name is made, all messages are copied there in
their order and get their flags, and the old one is deleted, which leaves the name to the new one. All of it is one
transaction, under the mastership of the old one, so no other node gives out a UID there meanwhile; and nobody sees the
new one before it is whole: while two have a name, one that is empty counts as made by a Dovecot, and goes.

Not here: who may have masterships (tasks.py), and what becomes of the Maildir (the store).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.boxes import is_visible
from pyrepl.mailbox.core import NO_TOKEN, Core
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.sayable import why_any_unsayable
from pyrepl.mailbox.uniting import WHY_NOT_WHOLE, copies, is_whole, stores
from pyrepl.mailbox.verbs import Create, Delete, Op, Subscribe
from pyrepl.mailbox.words import APART, Box, Stamp, Token


@final
class Renewing:
    """Answers as a mail process is answered."""

    def __init__(self, core: Core, saving: Saving, unix_s: float) -> None:
        """`unix_s`: Unix time when `now` was 0, for UIDVALIDITY."""
        self._core: Final = core
        self._saving: Final = saving
        self._unix_s: Final = unix_s

    def renew(self, client: str, tag: str, old: BoxRow, now: float) -> None:
        """OK when another node has it as well, or none can be reached; NO if the mastership cannot be had."""

        def run(tokens: dict[str, Token], now: float) -> None:
            if tokens[old.guid].term == APART:
                fail(Reason.APART, now)
                return
            answer = self._renew(client, tag, old.guid, now)
            if answer is not None:
                self._core.reply(client, tag, answer)

        def fail(reason: Reason, now: float) -> None:
            self._core.reply(client, tag, No(reason=reason))

        self._saving.tasks.add({old.guid}, run, fail, now)

    def _renew(self, client: str, tag: str, old: str, now: float) -> No | None:
        """Why it cannot be done; None if it is, and the answer comes."""
        box = self._core.rows.box(old)
        if box is None or not is_visible(self._core.rows, box):
            return No(reason=Reason.NOBOX)
        if not is_whole(self._core, box):
            return No(reason=Reason.FAILED, why=WHY_NOT_WHOLE)
        create = self._core.journal.creation(box.user, box.name, int(self._unix_s + now))
        rows = list(self._core.rows.messages(old))
        ops = self._ops(box, create, rows)
        why = why_any_unsayable(ops) or self._core.journal.why_too_large(ops)
        if why is not None:
            return No(reason=Reason.FAILED, why=why)
        done = self._core.do(ops, tag=self._saving.acks.ask_tag(tag))
        self._saving.order(create.id).passed(len(rows))
        self._saving.acks.wait(client, tag, done[-1].at, Ok(at=done[-1].at), now)
        return None

    def _ops(self, box: BoxRow, create: Create, rows: list[MessageRow]) -> list[Op]:
        """The transaction. Nobody has had the mastership of the new mailbox: whoever gets it has a higher token."""
        user, stamp = box.user, create.stamp
        assert stamp is not None
        to = BoxRow(create.id, user, box.name, stamp, create.uidvalidity or 1, created_stamp=stamp)
        rows.sort(key=lambda row: (not row.uid, row.uid))
        uids = range(1, len(rows) + 1)
        ops: list[Op] = [create, *copies(box, to, rows, uids, NO_TOKEN), *stores(to, _flags(rows))]
        if box.subscribed:
            ops.append(Subscribe(user=user, box=Box(create.id, True), stamp=_above(stamp, 1)))
        known = self._core.journal.vector()
        ops.append(Delete(user=user, box=Box(box.guid, True), stamp=_above(stamp, 2), known=known))
        return ops


def _above(stamp: Stamp, count: int) -> Stamp:
    return stamp._replace(modseq=stamp.modseq + count)


def _flags(rows: list[MessageRow]) -> dict[tuple[str, ...], list[str]]:
    """What flags messages have that have any."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if flags := row.set_flags():
            groups.setdefault(flags, []).append(row.guid)
    return groups
