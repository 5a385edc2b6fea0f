"""The core of a node: ops are made, applied, kept, and told to the other members.

Not here: who may make which (mastering.py, mail_side.py), and how a member gets what it missed (resync.py).

What is asked of the shell, in this order: do `works`, tell how they `ended`, commit the rows, do `removals`, let go the
texts that are `unneeded`, then let `sends` and `replies` go. So whatever another node or a mail process was told,
survives a crash. Each text that came ends in a work, or is unneeded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final, TypeVar, final

from pyrepl.mailbox.answers import Ok
from pyrepl.mailbox.bounds import with_room
from pyrepl.mailbox.causal import Causal, Waiting
from pyrepl.mailbox.clashes import are_two, ops_apart
from pyrepl.mailbox.codec import UNTAGGED
from pyrepl.mailbox.doubts import Doubts
from pyrepl.mailbox.journal_ops import Journal, by_guid
from pyrepl.mailbox.merging import NO_TEXT, Effects, Merger, Text, Texts, guids_of_texts
from pyrepl.mailbox.modseqs import Crossed
from pyrepl.mailbox.peers import Missing, Peer
from pyrepl.mailbox.pending_works import PendingWorks
from pyrepl.mailbox.recovery import moved, works_at_start
from pyrepl.mailbox.rows import UNPLACED, BoxRow, MessageRow, Rows
from pyrepl.mailbox.sayable import sayable
from pyrepl.mailbox.sending import Counted, Notice, Reply, Send
from pyrepl.mailbox.store import (
    NAMING,
    AddMessage,
    Ended,
    MakeBox,
    MendMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    SetFlags,
    StoredBox,
    Work,
)
from pyrepl.mailbox.verbs import Command, FlagsOf, Op, Renumber, Save, Store
from pyrepl.mailbox.words import LAST_UID, Dot, Token, Vector

AnyOp = TypeVar("AnyOp", bound=Op)
NO_TOKEN: Final = Token(0, 0)
"""Below that of every mastership."""


@final
class Core:
    """Rows and what follows from them. `name` is the node's, `origin` its name in dots."""

    def __init__(self, name: str, rows: Rows, peers: tuple[str, ...], *, has_gates: bool = False) -> None:
        """`has_gates`: mail programs that know nothing of us may have changed folders while the node was away."""
        cluster = rows.cluster()
        if not cluster.origin:
            rows.put_cluster(cluster._replace(origin=name, is_fresh=True))
        self.name: Final = name
        self.origin: Final = cluster.origin or name
        self._has_gates: Final = has_gates
        self.rows: Final = rows
        self.causal: Final = Causal(rows.held())
        self.journal: Final = Journal(rows, self.causal, self.origin)
        self.merger: Final = Merger(rows, self.origin)
        self.doubts: Final = Doubts(rows)
        self.peers: Final = {peer: Peer(peer) for peer in peers}
        self.unsettled: Final[set[str]] = set()
        """Mailboxes with messages that need another UID."""
        self.behind: Final[set[str]] = set()
        """Users whose store is still doing what follows from the rows, beside the rounds; the shell keeps this."""
        self.texts: Final[dict[tuple[Dot, str], Text]] = {}
        """(op that waits, GUID) -> text that was fetched for it."""
        self.textless: Final[set[tuple[Dot, str]]] = set()
        """Op that waits, and a GUID whose text nobody has any more that has applied it."""
        self.lacking: Final[dict[Dot, tuple[str, str]]] = {}
        """Op that is due -> the text that it needs first."""
        self.missing: Final[dict[tuple[str, str], Missing]] = {}
        """(mailbox, GUID) of a message of whose text the store has none, or a damaged one. The former are kept as rows:
        beside a gate a message that is not there counts as expunged, unless it is known that it never came."""
        for where in rows.missing():
            box = rows.box(where[0])
            if box is not None:
                self.missing[where] = Missing(box.user)
        self._told_keywords: Final[set[str]] = set()
        """Mailboxes whose store cannot keep a keyword, which was told."""
        self._told_once: Final[set[tuple[str, str]]] = set()
        """Mailboxes and the names under which the store has them; and events of what was refused."""
        self._told: dict[Dot, dict[str, str]] = {}
        """Op that waits and was sent to us with a tag -> whom to answer when it is applied, and with which."""
        self.late: Final[list[tuple[str, Crossed]]] = []
        """Origin of a STORE that came behind changes numbered higher, and what it was about."""
        self.relisted: Final[set[str]] = set()
        """Users of whom mailboxes came or have other names, until somebody has looked whether two have one."""
        self._works: Final = PendingWorks()
        self._sends: list[Send] = []
        self._replies: list[Reply] = []
        self._notices: list[Notice] = []
        self._counted: Counter[Counted] = Counter()
        self.listened: list[Op] | None = None
        """Ops that were applied since they were taken; None while nobody listens."""
        self._unneeded: list[str] = []
        self._apart: list[tuple[MessageRow, Text]] = []
        """Mails that came, and need a GUID of their own."""
        self._behind: list[tuple[MessageRow, int]] = []
        """Messages that came again, and the higher UIDs under which clients have seen them."""
        self._answered: Final[set[tuple[str, str]]] = set()
        """(member, kind of question) whose answer, of many lines, goes out with what is taken next by `sends`."""

    # What goes out

    def send(self, peer: str, command: Command, tag: str = UNTAGGED, text_of: tuple[str, str] | None = None) -> None:
        self._sends.append(Send(peer, command, tag, text_of))

    def answers_now(self, peer: str, kind: str) -> bool:
        """May a question be answered whose answer is many lines? A member asks one of a kind at a time, and the next
        when it has heard the answer; one that asks without end would have all answers made before any goes out."""
        is_first = (peer, kind) not in self._answered
        self._answered.add((peer, kind))
        return is_first

    def asks_anew(self, peer: str) -> None:
        """A member has another connection, and waits for no answer."""
        self._answered.difference_update([each for each in self._answered if each[0] == peer])

    def reply(self, client: str, tag: str, answer: Command, text_of: tuple[str, str] | None = None) -> None:
        if tag != UNTAGGED:
            self._replies.append(Reply(client, tag, answer, text_of))

    def note(self, name: str, about: str) -> None:
        self._notices.append(Notice(name, about))

    def count(self, what: Counted, times: int = 1) -> None:
        self._counted[what] += times

    def works(self) -> list[Work]:
        """What is to be done before the commit."""
        return self._works.keep()

    def ended(self, ended: Sequence[Ended]) -> None:
        """How works ended; none has failed. A message whose UID somebody else gave out meanwhile gets another one."""
        for work, result in ended:
            if result.outcome is Outcome.NO_TEXT and isinstance(work, AddMessage):
                self.missing[work.box, work.guid] = Missing(work.user)
                self.rows.put_missing(work.box, work.guid)
                self.note("text_missing", f"{work.user} {work.guid}")
            if result.outcome is Outcome.DONE and isinstance(work, MendMessage):
                self.count(Counted.TEXT_MENDED)
                self.note("text_mended", f"{work.user} {work.guid}")
            if result.unkept_keywords:
                self.note_keywords(work.user, work.box)
            if result.stored_as and (work.box, result.stored_as) not in self._told_once:
                self._told_once.add((work.box, result.stored_as))
                self.note("name_not_storable", f"{work.user} {self._named(work.box)}: {result.stored_as}")
            if result.outcome is Outcome.TOO_LOW and isinstance(work, AddMessage | MoveMessage):
                self._set_aside(work, result.next_uid)

    def note_keywords(self, user: str, box: str) -> None:
        """A mailbox has keywords that are not the same on all nodes; it is told once."""
        if box not in self._told_keywords:
            self._told_keywords.add(box)
            self.note("keywords_not_replicated", f"{user} {self._named(box)}")

    def refused(self, user: str, box: str, why: str) -> None:
        """What a mail program did, and no op can say; it is told once."""
        told = ("change_unsayable", f"{user} {box}: {why}")
        if told not in self._told_once:
            self._told_once.add(told)
            self.note(*told)

    def _named(self, box: str) -> str:
        row = self.rows.box(box)
        return box if row is None else row.name

    def _set_aside(self, work: AddMessage | MoveMessage, next_uid: int) -> None:
        box, row = self.rows.box(work.box), self.rows.message(work.box, work.guid)
        if box is not None and box.uidnext < next_uid:
            self.rows.put_box(box._replace(uidnext=next_uid))
        if row is not None and row.uid == work.uid:
            self.rows.put_message(row._replace(uid=UNPLACED))
            self.unsettled.add(work.box)

    def want(self, work: MakeBox | RemoveBox | SetFlags | RaiseNext) -> None:
        """A work that makes the store what the rows are already."""
        self._add_works([work])

    def damaged(self, user: str, box: str, guid: str, how: str) -> None:
        """A text was read, and is not what its checksums say; `how` is for people."""
        if (box, guid) not in self.missing:
            self.missing[box, guid] = Missing(user, is_damaged=True)
            self.count(Counted.TEXT_DAMAGED)
            self.note("text_damaged", f"{user} {guid}: {how}")

    def wrong_text(self, peer: str, why: str) -> None:
        """A member sent a text that is not what its line said; its line comes without."""
        self.note("text_wrong", f"from {peer}: {why}")

    def mend(self, box: str, guid: str, text: str) -> None:
        """The text of a message that is missing has come."""
        missing, row = self.not_missing(box, guid), self.rows.message(box, guid)
        if missing is None or row is None:
            self.let_go(text)
        elif missing.is_damaged:
            self._works.add(MendMessage(missing.user, box, guid, row.size, text))
        else:
            what = (guid, row.uid, row.set_flags(), row.received, row.size, text, row.dots[0])
            self._works.add(AddMessage(missing.user, box, *what))

    def not_missing(self, box: str, guid: str) -> Missing | None:
        """The text of a message need not be fetched any more; what was to be fetched, None for nothing."""
        missing = self.missing.pop((box, guid), None)
        if missing is not None and not missing.is_damaged:
            self.rows.drop_missing(box, guid)
        return missing

    def removals(self) -> list[Work]:
        """What is to be done after the commit."""
        self.merger.going.clear()
        return self._works.take_away()

    def recover(self, stored: dict[str, dict[str, StoredBox]]) -> None:
        """What the store has, by user and GUID, when the node starts: a crash may have come between store and rows. A
        user whose Maildir cannot be read then is none of `stored`, and is told when it can."""
        for user in sorted(stored):
            there = stored[user]
            for at, guid in [each for each in self.missing if each[0] in there and each[1] in there[each[0]].messages]:
                self.not_missing(at, guid)
            recovery = works_at_start(self.rows, user, self.origin, there, has_gates=self._has_gates)
            self._works.extend(recovery.works)
            self.merger.kept.update(recovery.kept)
            self.merger.floors.update(recovery.floors)
            self._notices.extend(recovery.notices)
            for row in recovery.aside:
                self.rows.put_message(row._replace(uid=UNPLACED))
                self.unsettled.add(row.box)
            for move in recovery.moves:
                self.do([move])
            for guid, uid in recovery.passed.items():
                box = self.rows.box(guid)
                assert box is not None
                self.pass_uids(box, uid)
            self.adopt_flags(sayable(recovery.stores, partial(self.refused, user, "")))
            for guid, changes in recovery.doubts.items():
                self.doubts.add(guid, changes)

    def sends(self) -> list[Send]:
        out, self._sends = self._sends, []
        self._answered.clear()
        return out

    def replies(self) -> list[Reply]:
        out, self._replies = self._replies, []
        return out

    def notices(self) -> list[Notice]:
        out, self._notices = self._notices, []
        return out

    def counted(self) -> Counter[Counted]:
        """What was counted since it was asked last."""
        out, self._counted = self._counted, Counter()
        return out

    def take_listened(self) -> list[Op]:
        """Ops that were applied since it was asked last, in their order."""
        if not self.listened:
            return []
        out, self.listened = self.listened, []
        return out

    def let_go(self, text: str) -> None:
        """A text in the drop folder, "" for none, that no work will take."""
        if text:
            self._unneeded.append(text)

    def unneeded(self) -> list[str]:
        """Texts that may be removed when the rows are committed."""
        out, self._unneeded = self._unneeded, []
        return out

    # Ops

    def do(self, ops: list[AnyOp], text: str = "", tag: str = UNTAGGED, *, is_tx: bool = True) -> list[AnyOp]:
        """Ops of our own, as one transaction or each by itself: applied, kept, told to all live. They get dots."""
        made = self._do_all(ops, text, tag, is_tx=is_tx)
        self._follow_up([])
        self.drain()
        return made

    def pass_uids(self, box: BoxRow, last: int, token: Token = NO_TOKEN) -> None:
        """From now on nobody gives out a UID of the mailbox up to `last`, inclusive."""
        last = min(last, LAST_UID)
        self.do([Renumber(user=box.user, box=by_guid(box), to=((last, last),), token=token)])

    def sums_of(self, box: str, guid: str) -> tuple[int, ...]:
        """The checksums of the message that has this GUID in a mailbox, or had it until now; () for none."""
        known = self.rows.message(box, guid)
        return self.merger.going.get((box, guid), ()) if known is None else known.sums

    def adopt(self, save: Save) -> None:
        """A message that a mail program has put into the store: nothing is to be done there for it, and what its flags
        are may have changed again."""
        box, guid = save.box.text, save.guid
        self.merger.going.pop((box, guid), None)
        known = self.rows.message(box, guid)
        made = self._do(save, "", UNTAGGED)
        if known is not None and are_two(known.sums, save.sum):
            # What came for that one was not put there, as this one was.
            self.damaged(save.user, box, guid, "another mail has its GUID")
        self._works.was_added(made.box.text, made.guid)
        self.drain()

    def adopt_flags(self, stores: list[Store]) -> None:
        """What a mail program did to flags in the store: nothing is to be done there for it.

        A work that sets them again would undo what the mail program did since it was looked; and after a crash before
        the commit it would be taken for a work of ours whose op never was, so that the flags would be taken back.
        """
        before = len(self._works)
        self._do_all(with_room(self.rows, stores, self.refused), "", UNTAGGED, is_tx=False)
        self._works.forget_flags(before)
        self.drain()

    def _do_all(self, ops: list[AnyOp], text: str, tag: str, *, is_tx: bool = True) -> list[AnyOp]:
        last = len(ops) - 1
        return [self._do(op.replaced(left=last - at if is_tx else 0), text, tag) for at, op in enumerate(ops)]

    def _do(self, op: AnyOp, text: str, tag: str) -> AnyOp:
        made = self.journal.made(op, op.modseq or 0)
        is_copy = isinstance(made, Save) and self._is_elsewhere(made)
        self._merge(made, {made.guid: Text(text)} if isinstance(made, Save) and text else {})
        for peer in self.peers.values():
            if peer.is_live:
                self.tell(peer.name, made, tag, with_text=not is_copy)
        return made

    def _is_elsewhere(self, save: Save) -> bool:
        """Is the mail in another mailbox of its user, as where a Dovecot copies it? Whoever is told of the SAVE has
        applied what brought it there, and needs no second text (I16); where it is gone by then, it is asked for."""
        home = self.rows.home(save.user, save.guid)
        return home is not None and home.box != save.box.text and bool(save.sum) and home.sums == save.sum

    def tell(self, peer: str, op: Op, tag: str = UNTAGGED, *, with_text: bool = True) -> None:
        """An op for a member, with its text if we have it and the member may lack it."""
        has_text = isinstance(op, Save) and with_text and self.rows.home(op.user, op.guid) is not None
        self.send(peer, op, tag, (op.user, op.guid) if isinstance(op, Save) and has_text else None)

    def hear(self, peer: str, tag: str, op: Op, text: str) -> None:
        """An op of a member, made by it or by another."""
        assert op.at is not None
        if self.causal.has(op.at):
            self._answer(op.at, peer, tag)
            self.let_go(text)
            return
        is_new = self.causal.add(op, text)
        if not is_new:
            self.let_go(text)
        if (is_new or self.causal.waits(op.at)) and tag != UNTAGGED:
            self._told.setdefault(op.at, {})[peer] = tag
        self.drain()

    def drain(self) -> None:
        """Apply all that is due, and what follows from that.

        An op that lacks its text holds up its own origin, and who knew of it: the text may never come, if its origin is
        dead or lies.
        """
        lacking: set[str] = set()
        while due := self.causal.due(lacking):
            if not self._has_texts(due):
                at = due[0].op.at
                assert at is not None
                lacking.add(at.origin)
                continue
            lacking.clear()
            crossed: list[Crossed] = []
            for each in due:
                crossed += self._apply(each)
            self._follow_up(crossed)

    def _follow_up(self, crossed: list[Crossed]) -> None:
        """What follows from rows by ops of our own, of which all are told."""
        for found in crossed:
            for told in found.told():
                self._do(told, "", UNTAGGED)
        apart, self._apart = self._apart, []
        for row, text in apart:
            self._set_apart(row, text)
        behind, self._behind = self._behind, []
        for row, uid in behind if not self._has_gates else ():
            # An op of ours moved it, which a crash forgot; or another's, which comes again and says the same.
            box = self.rows.box(row.box)
            assert box is not None
            self._do(moved(box, row, uid), "", UNTAGGED)

    def _set_apart(self, row: MessageRow, text: Text) -> None:
        ops = ops_apart(self.rows, row)
        self.note("guid_clash", f"{ops[0].user} {self._named(row.box)} {row.guid}")
        self._do_all(list(ops), text.name, UNTAGGED)
        if len(ops) == 1:
            self.let_go(text.name)

    def take(self, effects: Effects) -> None:
        """What follows from rows of another member."""
        self._follow(effects)
        self._follow_up(effects.crossed)

    def jump(self, to: Vector) -> None:
        """All that these ops did came by state."""
        for dot in to:
            if self.causal.has(dot):
                continue
            for passed in self.causal.jump(*dot):
                assert passed.op.at is not None
                self.let_go(passed.text)
                self._answer_told(passed.op.at)
            self.rows.skip_to(dot)
        for at in [at for at in self.lacking if self.causal.has(at)]:
            del self.lacking[at]
        for each in [each for each in self.texts if self.causal.has(each[0])]:
            self.let_go(self.texts.pop(each).name)
        self.textless.difference_update([each for each in self.textless if self.causal.has(each[0])])
        self._works.extend(self.merger.let_go_passed(self.causal.has))
        self.drain()

    def _apply(self, each: Waiting) -> list[Crossed]:
        op = each.op
        assert op.at is not None
        self.lacking.pop(op.at, None)
        texts = {guid: self._take_text(op.at, guid) for guid in guids_of_texts(op)}
        if isinstance(op, Save) and each.text:
            self.let_go((texts[op.guid] or NO_TEXT).name)
            texts[op.guid] = Text(each.text)
        home = self.rows.home(op.user, op.guid) if isinstance(op, Save) and texts[op.guid] == NO_TEXT else None
        effects = self._merge(op, texts)
        if isinstance(op, Save) and home is not None and are_two(home.sums, op.sum):
            self.damaged(op.user, op.box.text, op.guid, "another mail has its GUID in another mailbox")
        self.count(Counted.OP_APPLIED)
        self._answer_told(op.at)
        if isinstance(op, Store):
            self.late.extend((op.at.origin, crossed) for crossed in effects.crossed)
        return effects.crossed

    def _merge(self, op: Op, texts: Texts) -> Effects:
        """Apply and keep an op; texts that came with it and are not needed go."""
        effects = Effects()
        self.merger.apply(op, texts, effects)
        self._keep(op, effects)
        taken = effects.taken()
        for text in texts.values():
            if text is not None and text.name not in taken:
                self.let_go(text.name)
        return effects

    def take_flags(self, flags: FlagsOf) -> None:
        """FLAGS: what the master knows of a message that a STORE of ours was about."""
        row, box = self.rows.message(flags.box.text, flags.guid), self.rows.box(flags.box.text)
        if row is not None and box is not None and box.user == flags.user:
            effects = Effects()
            self.merger.take_flags(flags.user, row, flags.stamps, flags.modseq, effects)
            self._add_works(effects.works)

    def _keep(self, op: Op, effects: Effects) -> None:
        assert op.at is not None
        self.causal.applied(op)
        self.rows.put_op(op)
        self.rows.put_held(op.at)
        if self.listened is not None:
            self.listened.append(op)
        self._follow(effects)

    def _follow(self, effects: Effects) -> None:
        self._add_works(effects.works)
        self.unsettled.update(effects.unplaced)
        for box, uid in effects.burned:
            row = self.rows.box(box)
            assert row is not None
            self.note("uid_burned", f"{row.user} {row.name} {uid}")
        self._apart.extend(effects.apart)
        self._behind.extend(effects.behind)

    def _add_works(self, works: list[Work]) -> None:
        for work in works:
            if isinstance(work, NAMING):
                self.relisted.add(work.user)
            elif isinstance(work, MoveMessage) and work.uid != UNPLACED:
                self.count(Counted.RENUMBERED)
            self._works.add(work)

    def _answer_told(self, at: Dot) -> None:
        """It is applied, or what it did is here otherwise."""
        for peer, tag in self._told.pop(at, {}).items():
            self._answer(at, peer, tag)

    def _answer(self, at: Dot, peer: str, tag: str) -> None:
        if tag != UNTAGGED:
            self.send(peer, Ok(at=at), tag)

    def _has_texts(self, due: list[Waiting]) -> bool:
        """Is the text of each op here, or known to be gone? Only the first that lacks is looked for."""
        for each in due:
            op = each.op
            for guid in guids_of_texts(op) if not each.text else ():
                assert op.at is not None
                is_known = (op.at, guid) in self.texts or (op.at, guid) in self.textless
                if not is_known and not self._is_here(op, guid):
                    if isinstance(op, Save) and self.merger.is_kept(op):
                        continue
                    self.lacking[op.at] = (op.user, guid)
                    return False
        return True

    def _is_here(self, op: Op, guid: str) -> bool:
        """Has the user the text? Not if another mail has its GUID in this mailbox."""
        there = self.rows.message(op.box.text, guid) if isinstance(op, Save) else None
        is_other = isinstance(op, Save) and there is not None and are_two(there.sums, op.sum)
        return self.rows.home(op.user, guid) is not None and not is_other

    def no_text(self, at: Dot, guid: str) -> None:
        """An op lacks this text, which nobody has any more: its message was expunged."""
        self.textless.add((at, guid))
        self.lacking.pop(at, None)

    def _take_text(self, at: Dot, guid: str) -> Text | None:
        is_textless = (at, guid) in self.textless
        self.textless.discard((at, guid))
        return self.texts.pop((at, guid), None if is_textless else NO_TEXT)
