"""MAILBOX RENEW: a mailbox gets a new UIDVALIDITY, and its messages UIDs from 1 on, as no UIDs are left.

It is put together of ops that every node knows: a mailbox of the same name is made, all messages are copied there in
their order and get their flags, and the old one is deleted, which leaves the name to the new one. All but the first is
one transaction, under the masterships of both, so no other node gives out a UID in the old one meanwhile.

Not here: who may have masterships (tasks.py), and what becomes of the Maildir (the store).
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.rows import BoxRow, MessageRow
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.uids import WHY_NO_UID, next_uidvalidity
from pyrepl.mailbox.uniting import WHY_NOT_WHOLE, copies, is_whole, stores
from pyrepl.mailbox.verbs import Create, Delete, Op, Subscribe
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
                why = self._move(client, tag, old.guid, create.id, tokens[create.id], now)
                if why:
                    fail(Reason.FAILED, now, why)

        def fail(reason: Reason, now: float, why: str = "") -> None:
            if next(self._core.rows.messages(create.id), None) is None:
                self._core.do([self._delete(old.user, create.id)])
            # Else somebody has saved a message there: of two mailboxes of one name one is made (doubles.py).
            self._core.reply(client, tag, No(reason=reason, why=why))

        self._saving.tasks.add({old.guid, create.id}, run, fail, now)

    def _move(self, client: str, tag: str, old: str, new: str, token: Token, now: float) -> str:
        """Why it cannot be done, "" if it is."""
        box, to = self._core.rows.box(old), self._core.rows.box(new)
        assert box is not None and to is not None
        if not is_whole(self._core, box):
            return WHY_NOT_WHOLE
        # Where it was shown before the masterships came, somebody may have saved a message, and have copied one.
        lacking = (row for row in self._core.rows.messages(old) if self._core.rows.message(new, row.guid) is None)
        rows = sorted(lacking, key=lambda row: (not row.uid, row.uid))
        uids = self._saving.mastering.some_uids(to, token, len(rows))
        if len(uids) < len(rows):
            return WHY_NO_UID
        ops: list[Op] = [*copies(box, to, rows, uids, token), *stores(to, _flags(rows))]
        if box.subscribed:
            ops.append(Subscribe(user=box.user, box=Box(new, True), stamp=self._core.journal.next_stamp(box.user)))
        ops.append(self._delete(box.user, old))
        done = self._core.do(ops, tag=self._saving.acks.ask_tag(tag))
        if uids:
            self._saving.order(new).passed(uids[-1])
        self._saving.acks.wait(client, tag, done[-1].at, Ok(at=done[-1].at), now)
        return ""

    def _delete(self, user: str, box: str) -> Delete:
        journal = self._core.journal
        return Delete(user=user, box=Box(box, True), stamp=journal.next_stamp(user), known=journal.vector())


def _flags(rows: list[MessageRow]) -> dict[tuple[str, ...], list[str]]:
    """What flags messages have that have any."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if flags := row.set_flags():
            groups.setdefault(flags, []).append(row.guid)
    return groups
