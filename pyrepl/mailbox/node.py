"""One node: what comes from mail processes, from members and from the clock, on its way to the part that it concerns.

Not here: connections, files and the database, which the shell has. What is asked of it: do the works that `works()`
gives, commit the rows, then let `sends()` and `replies()` go.

A tag's first letter says whose answer comes back: r elections, g GIVE, s SYNC, p state, f m t FETCH, c CHECK, o ops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple, final

from pyrepl.mailbox.acks import AckOptions
from pyrepl.mailbox.aligning import Aligning
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.causal import MOST_TX_BYTES
from pyrepl.mailbox.checks import CHECK, Checks
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.deliveries import Deliveries
from pyrepl.mailbox.doubles import Doubles
from pyrepl.mailbox.entries import Pages
from pyrepl.mailbox.excluded import Excluded
from pyrepl.mailbox.fetching import FETCH
from pyrepl.mailbox.folders import Folders
from pyrepl.mailbox.freshness import Freshness
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.joins import Joins
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.mail_side import MailSide
from pyrepl.mailbox.maildir.layout import Layout
from pyrepl.mailbox.mastering import GIVE, Mastering, MasteringOptions
from pyrepl.mailbox.members import Members
from pyrepl.mailbox.mending import MEND, Mending
from pyrepl.mailbox.modseqs import Clock
from pyrepl.mailbox.portions import portions
from pyrepl.mailbox.pulling import PULL, TEXT
from pyrepl.mailbox.pulling_only import Only
from pyrepl.mailbox.put_back import PutBack
from pyrepl.mailbox.refusals import why_new_origin, why_not
from pyrepl.mailbox.renewing import Renewing
from pyrepl.mailbox.resync import MOST_BYTES_AT_ONCE, Resync
from pyrepl.mailbox.root import TAG as ROOT
from pyrepl.mailbox.rows import BoxRow, Rows
from pyrepl.mailbox.saving import Saving
from pyrepl.mailbox.sayable import why_unsayable
from pyrepl.mailbox.scrubbing import Scrubbing
from pyrepl.mailbox.tasks import Fail
from pyrepl.mailbox.telling import tell
from pyrepl.mailbox.uniting import Uniting
from pyrepl.mailbox.verbs import (
    Ack,
    Boxes,
    Check,
    Command,
    Entries,
    Entry,
    Fetch,
    FlagsOf,
    Give,
    InUse,
    Message,
    Messages,
    Op,
    Ping,
    Renumber,
    RootClaim,
    RootClear,
    RootPing,
    RootSet,
    State,
    Sync,
    Take,
)
from pyrepl.mailbox.words import APART, Token, node_of, ranges

SETTLE_S: Final = 0.1
"""So long a node gathers messages that need another UID."""
RETRY_S: Final = 1.0
WHY_NO_MAIL: Final = "a witness keeps no mail, and knows of none: ask another node"
WHY_NO_DOVEADM: Final = "modseqs are brought in line only with mailbox-doveadm and mailbox-gate on"
_ANSWERS: Final = (Ok, No, Bad)
_OF_MASTERSHIPS: Final = (Take, Give, InUse, RootPing, RootClaim, RootSet, RootClear)
_TOLD: Final = (State, Entry, Message)
_ASKED: Final = (Boxes, Entries, Messages)
"""Kinds as tuples: what is heard is looked at for each line, and a union would be built each time."""


def _has_place(user: str) -> str:
    return ""


class NodeOptions(NamedTuple):
    """`unix_s`: Unix time when `now` was 0. `expunge_guard`: `mailbox-expunge-guard`, of a node whose store has gates;
    None of one without. `exclude`: `mailbox-exclude`. `aligns`: with `mailbox-doveadm`, for which it needs gates.
    `has_lock_files`: can the gates keep a Dovecot from giving out UIDs? `layout`: of the store; None if it can store
    any name. `why_no_user`: why the store can have no mailbox of a user, "" if it can. `output_bytes`:
    `mailbox-output-buffer-limit`."""

    mastering: MasteringOptions = MasteringOptions()
    unix_s: float = 0.0
    expunge_guard: int | None = None
    acks: AckOptions = AckOptions()
    pages: Pages = Pages()
    exclude: tuple[str, ...] = ()
    aligns: bool = False
    has_lock_files: bool = True
    layout: Layout | None = None
    why_no_user: Callable[[str], str] = _has_place
    output_bytes: int = 16 * 1024 * 1024


@final
class Node:
    """One member. A witness has no mail: it only takes part in elections."""

    def __init__(self, name: str, members: Members, rows: Rows, now: float, options: NodeOptions) -> None:
        self.name: Final = name
        self.members: Final = members
        self.is_witness: Final = name in members.witnesses
        keepers = () if self.is_witness else tuple(peer for peer in members.keepers if peer != name)
        guard = options.expunge_guard
        self.core: Final = Core(name, rows, keepers, has_gates=guard is not None)
        self.core.journal.most_tx_bytes = min(MOST_TX_BYTES, options.output_bytes * 3 // 4)
        self.mastering: Final = Mastering(self.core, members, now, options.mastering)
        self.saving: Final = Saving(self.core, self.mastering, options.acks)
        place = 0 if self.is_witness else members.keepers.index(name)
        self.resync: Final = Resync(
            self.core, now, options.pages, place, min(MOST_BYTES_AT_ONCE, options.output_bytes // 4)
        )
        self.freshness: Final = Freshness(self.core, self.mastering)
        self.resync.on_synced = self.freshness.synced
        self.resync.pulling.on_box = self.freshness.box_came
        self.mastering.has_heard_all = self.freshness.has_heard_all
        self.mending: Final = Mending(self.core, now)
        self.put_back: Final = PutBack(self.core)
        self.scrubbing: Final = Scrubbing(self.core)
        clock = Clock(options.unix_s)
        self.checks: Final = Checks(self.core, clock)
        self.excluded: Final = Excluded(options.exclude)
        self.mail: Final = MailSide(
            *(self.core, self.mastering, self.saving, self.checks, options.unix_s, options.why_no_user),
            *(self.excluded, options.layout),
        )
        self.uniting: Final = Uniting(self.core, self.mastering, self.saving)
        self.doubles: Final = Doubles(self.core, self.mastering, self.uniting, now)
        self.renewing: Final = Renewing(self.core, self.saving, options.unix_s)
        self.gates: Final = (
            None
            if guard is None
            else Gates(self.core, self.mastering, self.saving, guard, has_lock_files=options.has_lock_files)
        )
        self.folders: Final = (
            None
            if guard is None or self.gates is None
            else Folders(self.core, self.gates, guard, self.excluded, options.layout)
        )
        self.mastering.may_clear = self._is_all_seen
        self.deliveries: Final = (
            None
            if self.gates is None or self.folders is None
            else Deliveries(self.core, self.saving.acks, self.checks, self.gates, self.folders)
        )
        self.aligning: Final = (
            Aligning(self.core, self.checks, self.gates, clock) if options.aligns and self.gates is not None else None
        )
        self.joins: Final = (
            None
            if self.gates is None or self.folders is None
            else Joins(self.core, self.folders, self.gates, self.uniting)
        )
        self._pages: Final = options.pages
        self._settle_at = float("inf")
        self._settling: set[str] = set()
        for user in rows.users():
            self.core.unsettled.update(box.guid for box in rows.boxes(user) if rows.unplaced(box.guid))
        self._finish(now)

    def hear_mail(self, client: str, tag: str, command: Command, text: str, now: float) -> None:
        """A command of a mail process; `text` names its text in the drop folder."""
        if self.is_witness and not isinstance(command, Ping):
            self.core.let_go(text)
            self.core.reply(client, tag, No(reason=Reason.FAILED, why=WHY_NO_MAIL))
        elif isinstance(command, Check) and command.login:
            self._hear_login(client, tag, command.user, now)
        else:
            self.mail.hear(client, tag, command, text, now)
        self._finish(now)

    def _is_all_seen(self) -> bool:
        """Do the rows have all that Dovecots did before the start?"""
        return (
            self.gates is None
            or self.folders is None
            or (not self.gates.count_all_unlooked() and self.folders.is_all_listed())
        )

    def may_read(self, client: str) -> bool:
        """May more be read of this mail process now?"""
        return self.saving.may_read(client)

    def _hear_login(self, client: str, tag: str, user: str, now: float) -> None:
        if self.aligning is None:
            self.core.reply(client, tag, No(reason=Reason.FAILED, why=WHY_NO_DOVEADM))
        else:
            self.aligning.ask(client, tag, user, now)

    def renew(self, client: str, tag: str, box: BoxRow, now: float) -> None:
        """A new UIDVALIDITY for a mailbox; answered as a command of a mail process is."""
        self.renewing.renew(client, tag, box, now)
        self._finish(now)

    def allow(self, box: BoxRow, now: float) -> None:
        """An operator says that a mail program did what may have been an accident: expunged messages, changed flags, or
        deleted the mailbox."""
        self.core.adopt_flags(self.core.doubts.allowed(box))
        if self.gates is not None and self.folders is not None:
            self.gates.allow(box.guid, now)
            self.folders.allow(box.guid, now)
        self._finish(now)

    def deny_flags(self, box: BoxRow, now: float) -> None:
        """An operator says that nobody changed the flags that are in doubt."""
        for work in self.core.doubts.denied(box):
            self.core.want(work)
        self._finish(now)

    def join_all(self, users: Iterable[str], now: float) -> None:
        """Have these users' mailboxes joined, some at a time; of a node whose store has gates."""
        assert self.joins is not None
        self.joins.add(user for user in users if not self.excluded.has_user(user))
        self._finish(now)

    def unite(self, client: str, tag: str, user: str, now: float) -> None:
        """Make one of a user's mailboxes that want one name; answered as a command of a mail process is."""
        self.uniting.unite(client, tag, user, now)
        self._finish(now)

    def resync_by_state(self, client: str, tag: str, user: str, box: str, now: float) -> None:
        """Compare a user's mailboxes, or the one of this name, with another member's; answered as `want_only` says."""
        self.resync.pulling.want_only(Only(user, box, client, tag))
        self._finish(now)

    def delivered(self, client: str, mark: int, recipients: Collection[str], now: float) -> None:
        """A mail program has stored what it was given for `recipients` after the number `mark` of the gates' news:
        answer by the tag 1 when other nodes have it. Of a node whose store has gates."""
        assert self.deliveries is not None
        self.deliveries.wait(client, "1", mark, recipients, now)
        self._finish(now)

    def client_gone(self, client: str, now: float) -> None:
        self.mail.client_gone(client, now)
        if self.aligning is not None:
            self.aligning.client_gone(client)
        self._finish(now)

    def link_up(self, peer: str, now: float, *, is_fresh: bool = False, epoch: int = 0) -> None:
        """A member can be talked to. `is_fresh`: it said that it has no data; `epoch`: the highest one it knows."""
        self.freshness.link_up(peer, now, is_fresh=is_fresh, epoch=epoch)
        if peer in self.core.peers:
            self.resync.link_up(self.core.peers[peer])
        self.mastering.link(peer, True, now, is_fresh=is_fresh)
        self._finish(now)

    def link_down(self, peer: str, now: float) -> None:
        self.freshness.link_down(peer)
        if peer in self.core.peers:
            self.resync.link_down(self.core.peers[peer])
            self.checks.link_down(peer)
            self.mending.link_down(peer)
        self.mastering.link(peer, False, now)
        self._finish(now)

    def why_not(self, peer: str, command: Command) -> str | None:
        """Why what a member says is not to be heard: its connection is to be closed then."""
        held, ahead = self.core.causal.held, self.core.journal.ahead
        return (
            why_not(command, self.mastering.root.epoch)
            or why_new_origin(command, held | ahead if ahead else held, self.members)
            or self.put_back.why_not(peer, command)
        )

    def hear(self, peer: str, tag: str, command: Command, text: str, now: float) -> None:
        """A command or an answer of a member; `text` names its text in the drop folder."""
        if peer in self.core.peers and isinstance(command, Op) and command.at is not None:
            self.core.hear(peer, tag, command, text)
        elif peer in self.core.peers and tag[0] == MEND and isinstance(command, _ANSWERS):
            self.mending.answered(peer, tag, command, text)
        elif peer in self.core.peers and tag[0] == FETCH and isinstance(command, _ANSWERS):
            self.resync.fetching.answered(self.core.peers[peer], tag, command, text)
        elif peer in self.core.peers and tag[0] == TEXT and isinstance(command, _ANSWERS):
            self.resync.pulling.text_came(peer, tag, command, text)
        else:
            self.core.let_go(text)
            self._hear_other(peer, tag, command, now)
        self._finish(now)

    def _hear_other(self, peer: str, tag: str, command: Command, now: float) -> None:
        """What has no use for a text."""
        if isinstance(command, _ANSWERS):
            self._hear_answer(peer, tag, command, now)
        elif isinstance(command, _OF_MASTERSHIPS):
            self.mastering.hear(peer, tag, command, now)
        elif peer in self.core.peers:
            self._hear_keeper(peer, tag, command)

    def _hear_answer(self, peer: str, tag: str, answer: Command, now: float) -> None:
        if tag[0] in (ROOT, GIVE):
            self.mastering.answered(peer, tag, answer, now)
        elif peer in self.core.peers:
            if isinstance(answer, Ok) and answer.at is not None:
                self.saving.acks.acked(peer, answer.at)
            elif tag[0] == PULL and isinstance(answer, _ANSWERS):
                self.resync.pulling.answered(peer, tag, answer)
            elif tag[0] == CHECK:
                self.checks.answered(self.core.peers[peer], tag, answer, now)
            else:
                self.resync.answered(self.core.peers[peer], tag, answer)

    def _hear_keeper(self, peer: str, tag: str, command: Command) -> None:
        if isinstance(command, Ack):
            self.resync.hear_ack(self.core.peers[peer], command)
        elif isinstance(command, Sync):
            self.resync.hear_sync(self.core.peers[peer], tag, command)
        elif isinstance(command, _TOLD):
            self.resync.pulling.hear(peer, tag, command)
        elif isinstance(command, _ASKED):
            if self.core.answers_now(peer, PULL):
                tell(self.core, peer, tag, command, self._pages)
            else:
                self.core.send(peer, No(reason=Reason.BUSY), tag)
        elif isinstance(command, Fetch):
            self.resync.fetching.hear_fetch(peer, tag, command)
        elif isinstance(command, Check):
            self.checks.hear(peer, tag, command)
        elif isinstance(command, FlagsOf) and all(map(self.core.causal.has, command.held)):
            # Others may be on the master's disk alone; what they show comes with the ops.
            self.core.take_flags(command)

    def _tell_flags(self) -> None:
        """The master tells the origin of a STORE that came late what its messages' flags are now."""
        held = self.core.journal.seen() if self.core.late else ()
        for origin, late in self.core.late:
            mine = self.mastering.tracker.boxes.get(late.box.guid)
            peer = self.core.peers.get(node_of(origin))
            if mine is None or not mine.is_ours or peer is None or not peer.is_live:
                continue
            for guid in late.guids:
                row = self.core.rows.message(late.box.guid, guid)
                if row is not None:
                    box, user = by_guid(late.box), late.box.user
                    told = FlagsOf(user=user, box=box, guid=guid, stamps=row.flags, modseq=row.modseq, held=held)
                    if why_unsayable(told) is None:
                        # Else the flags come with the ops alone, and some changes are seen later.
                        self.core.send(peer.name, told)
        self.core.late.clear()

    def tick(self, now: float) -> None:
        """The time has come for something, or may have."""
        self.mastering.tick(now)
        self.resync.tick(now)
        self.mending.tick(now)
        self.doubles.tick(now)
        if now >= self._settle_at:
            self._settle_at = float("inf")
            self._settle(now)
        self._finish(now)

    def next_deadline(self, now: float) -> float:
        """When tick() may have something to do. Asked after whatever came; compiled, `min` of two is a comparison."""
        at = min(self._settle_at, self.mastering.next_deadline(now))
        at = min(at, self.resync.next_deadline())
        at = min(at, self.mending.next_deadline())
        at = min(at, self.scrubbing.next_deadline())
        at = min(at, self.checks.next_deadline())
        at = min(at, self.saving.next_deadline())
        at = min(at, self.doubles.next_deadline())
        if self.gates is not None:
            at = min(at, self.gates.next_deadline(now))
        if self.folders is not None:
            at = min(at, self.folders.next_deadline())
        if self.deliveries is not None:
            at = min(at, self.deliveries.next_deadline())
        if self.aligning is not None:
            at = min(at, self.aligning.next_deadline())
        return at

    def _finish(self, now: float) -> None:
        if not self.freshness.has_heard_all():
            self.freshness.review()
        self.mastering.follow_up(now)
        if self.is_witness:
            return
        self.saving.tick(now)
        if self.gates is not None:
            self.gates.tick(now)
        if self.deliveries is not None:
            self.deliveries.tick(now)
        if self.joins is not None and self.joins.left:
            self.joins.tick(now)
        if self.core.late:
            self._tell_flags()
        if self.core.lacking:
            self.resync.fetching.ask()
        if self.aligning is not None:
            self.aligning.tick(now)
        self.checks.finish(now)
        self.doubles.finish(now)
        if self.core.unsettled and self._settle_at == float("inf"):
            self._settle_at = now + SETTLE_S

    # Messages that need another UID

    def _settle(self, now: float) -> None:
        """Take the mastership of mailboxes with such messages, and give them UIDs above all that clients have seen."""
        for guid in sorted(self.core.unsettled - self._settling):
            if self.folders is not None and self.folders.is_missing(guid):
                self._settle_at = now + RETRY_S
                continue
            if not self.mastering.tracker.has_lease:
                self._settle_at = now + RETRY_S
                return
            self._settling.add(guid)
            self.saving.tasks.add({guid}, self._renumber, self._not_settled(guid), now)

    def _not_settled(self, guid: str) -> Fail:
        return lambda reason, now: self._settling.discard(guid)

    def _renumber(self, tokens: dict[str, Token], now: float) -> None:
        [(guid, token)] = tokens.items()
        self._settling.discard(guid)
        self.core.unsettled.discard(guid)
        box = self.core.rows.box(guid)
        rows = next(portions(self.core.rows.unplaced(guid)), [])
        if token.term == APART:
            self.core.unsettled.add(guid)
            return
        if box is None or not rows:
            return
        uids = self.mastering.some_uids(box, token, len(rows))
        if not uids:
            return
        rows = rows[: len(uids)]
        op = Renumber(
            user=box.user, box=by_guid(box), to=ranges(uids), guids=tuple(row.guid for row in rows), token=token
        )
        self.core.do([op])
        self.saving.order(guid).passed(uids[-1])
        if self.core.rows.unplaced(guid):
            self.core.unsettled.add(guid)
