"""Answers MAILBOX: what the machine of mailboxes knows, asked in one of its rounds, as its rows may only be read there.

Not here: the commands (commands/node/mailboxes.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from itertools import islice
from typing import Final, final

from pyrepl.commands.engine.call import Call
from pyrepl.commands.engine.effects import AskMailboxes, MailboxQuestion
from pyrepl.daemon.clients.clients import Clients
from pyrepl.daemon.mailbox.configured import Configured
from pyrepl.daemon.mailbox.conns import Conns
from pyrepl.daemon.mailbox.figures import Figures
from pyrepl.daemon.performer import Deeds
from pyrepl.errors import CommandError, PeerError
from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.excluded import WHY
from pyrepl.mailbox.kinds import KINDS
from pyrepl.mailbox.node import Node
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.troubled import troubled
from pyrepl.mailbox.verbs import Check, Command
from pyrepl.mailbox.words import box_name, escape
from pyrepl.node.mailboxes import MailboxMember
from pyrepl.node.waits import WorkWait
from pyrepl.resp.reply import OK, Reply, Simple

ALL_USERS: Final = "*"
_HAS_LEFT: Final = CommandError(
    "ERR this node has left: take mailbox-port out of its configuration, or start it again to have it come back"
)
_RENEW_REFUSED: Final[dict[str, str]] = {
    Reason.APART: "no majority of the members can be reached: see MAILBOX STATUS",
    Reason.TIMEOUT: "the mailbox is in use, or its master does not give it: try again, and see MAILBOX MASTER",
}
_RESYNC_REFUSED: Final[dict[str, str]] = {
    Reason.APART: "no other member that keeps mail can be reached: see MAILBOX STATUS",
    Reason.BUSY: "mailboxes are being compared with another member's already: ask again",
    Reason.FAILED: "the connection with the other member is over: ask again",
}
ALLOW_S: Final = 10.0
"""So long MAILBOX ALLOW waits until what it allows is done."""
_ALLOWED_LATER: Final = CommandError(
    "ERR it is allowed, but not done yet: the mailbox is in use elsewhere, no majority is there, or the disk refuses:"
    " see MAILBOX STATUS"
)
_NOT_READY: Final = CommandError(
    "ERR mailboxes are not ready: ask again, and see in the log whether something keeps them so (begun_again)"
)


@final
class MailboxDeeds:
    """The answers of one node."""

    def __init__(
        self,
        conf: Configured,
        conns: Conns,
        clients: Clients,
        figures: Figures,
        leave: Callable[[Callable[[], None]], None],
    ) -> None:
        """`leave` ends all that the node does with mailboxes, after this turn, and then calls what it was given."""
        self._conf: Final = conf
        self._conns: Final = conns
        self._clients: Final = clients
        self._figures: Final = figures
        self._leave: Final = leave

    @property
    def deeds(self) -> Deeds:
        """MAILBOX"""
        return {AskMailboxes: self._perform}

    def _perform(self, call: Call, effect: AskMailboxes) -> Reply:
        waits, client_id, question = self._clients.waits, call.client.id, effect.question
        if self._conns.has_left:
            raise _HAS_LEFT
        if self._conns.keeping is None:
            reply = self._unasked(question)
            if isinstance(reply, CommandError):
                raise reply
            return reply
        if client_id not in self._clients.conns:
            raise CommandError("ERR MAILBOX needs a connection of its own")
        if question is MailboxQuestion.CHECK:
            if effect.user and not _is_user(effect.user):
                # Members could not read the line, and would close their links.
                raise CommandError(f"ERR no user can be called {effect.user!r}")
            self._check(client_id, effect.user)
        elif question is MailboxQuestion.RENEW:
            name = f"renew {client_id}"
            self._conns.ask_by(
                name,
                lambda node, now: _renew(node, name, effect, now),
                lambda answer: waits.finish(client_id, _renewed(answer)),
            )
        elif effect.question is MailboxQuestion.JOIN and effect.user == ALL_USERS:
            self._join_all(client_id)
        elif effect.question is MailboxQuestion.JOIN:
            name = f"join {client_id}"
            self._conns.ask_by(
                name,
                lambda node, now: _join(node, name, effect.user, now, self._stands_still(effect.user)),
                lambda answer: waits.finish(client_id, _renewed(answer)),
            )
        elif effect.question is MailboxQuestion.RESYNC:
            name = f"resync {client_id}"
            self._conns.ask_by(
                name,
                lambda node, now: _resync(node, name, effect, now),
                lambda answer: waits.finish(client_id, self._resynced(answer)),
            )
        else:
            self._ask(
                effect, lambda answer: waits.finish(client_id, self._unasked(question) if answer is None else answer)
            )
        return waits.hold(WorkWait(call.client))

    def _unasked(self, question: MailboxQuestion) -> Reply:
        """Nothing is open that could be asked."""
        why = self._conns.trouble.why
        if not why:
            return _NOT_READY
        if question is MailboxQuestion.STATUS:
            return self._status(None)
        return CommandError(f"ERR nothing is done to mailboxes here at the moment: {why}")

    def _ask(self, effect: AskMailboxes, finish: Callable[[Reply], None]) -> None:
        """Ask in a round; the answer is finished when what it says is on disk."""
        question, until = effect.question, self._conns.now() + ALLOW_S

        def then(answer: Reply) -> None:
            if answer is OK and question in (MailboxQuestion.LEAVE, MailboxQuestion.LEAVE_FORCE):
                self._leave(lambda: finish(OK))
            elif answer is OK and question is MailboxQuestion.ALLOW and self._is_allowing(effect.user):
                finish(_ALLOWED_LATER)
            else:
                finish(answer)

        def is_done(node: Node, now: float) -> bool:
            return question is not MailboxQuestion.ALLOW or now >= until or not self._is_allowing(effect.user)

        self._conns.in_round(lambda node, now: self._answer(node, effect, now), then, is_done)

    def _check(self, client_id: int, user: str) -> None:
        before = self._unlinked()
        self._conns.ask(
            f"check {client_id}",
            Check(user=user),
            lambda answer: self._clients.waits.finish(client_id, _checked(answer, before | self._unlinked())),
        )

    def _unlinked(self) -> set[str]:
        """The members that keep mail and cannot be asked now."""
        members = [each for each in self._figures.members if not self._conf.addresses[each.name].is_witness]
        return {each.name for each in members if each.link == "down"}

    def _stands_still(self, user: str) -> str:
        """Why nothing is listed of this user's folders; "" if that can be done."""
        standing = self._conns.keeping.driver.standing if self._conns.keeping is not None else {}
        return f"{user}: {standing[user].reason}: see MAILBOX STATUS" if user in standing else ""

    def _is_allowing(self, user: str) -> bool:
        """Is anything of a user allowed that is not done yet?"""
        node = None if self._conns.keeping is None else self._conns.keeping.driver.node
        if node is None or node.gates is None or node.folders is None:
            return False
        boxes = (node.core.rows.box(guid) for guid in node.gates.allowed | node.folders.allowed)
        return any(box is not None and box.user == user for box in boxes)

    def _answer(self, node: Node, effect: AskMailboxes, now: float) -> Reply:
        """In a round. What goes wrong is the reply."""
        question = effect.question
        try:
            if question is MailboxQuestion.USERS:
                return [user.encode() for user in node.core.rows.users() if view(node.core.rows, user)]
            if question is MailboxQuestion.MESSAGES:
                return _messages(node, effect)
            if question is MailboxQuestion.ALLOW:
                return _allow(node, effect, now)
            if question is MailboxQuestion.DENY:
                return _deny(node, effect, now)
            if question is MailboxQuestion.SCRUB:
                return _scrub(node, by_doveadm=self._conf.is_kept_by_doveadm)
            if question in (MailboxQuestion.LEAVE, MailboxQuestion.LEAVE_FORCE):
                return self._may_leave(node, is_forced=question is MailboxQuestion.LEAVE_FORCE)
            if question is MailboxQuestion.STATUS:
                return self._status(node)
            if question is MailboxQuestion.INFO:
                return [_shown(node, box, name) for name, box in sorted(_boxes(node, effect).items())]
            if question is MailboxQuestion.MASTER:
                return _master(node, _one(node, effect)).encode()
        except (CommandError, PeerError) as error:
            return error if isinstance(error, CommandError) else CommandError(f"ERR {error}")
        node.mastering.root.force(now)
        node.mastering.follow_up(now)
        return OK

    def _join_all(self, client_id: int) -> None:
        """All users who have a Maildir here. Answered when they are known; how far it is, STATUS says."""
        assert self._conns.keeping is not None
        workers = self._conns.keeping.workers
        if workers is None:
            raise CommandError("ERR a witness keeps no mail")
        loop = asyncio.get_running_loop()
        workers.run(ALL_USERS, lambda store: store.users()).add_done_callback(
            lambda found: loop.call_soon_threadsafe(self._join_found, client_id, found)
        )

    def _join_found(self, client_id: int, found: Future[list[str]]) -> None:
        waits = self._clients.waits
        if found.cancelled() or self._conns.keeping is None:
            waits.finish(client_id, _NOT_READY)
            return
        error = found.exception()
        if error is not None:
            waits.finish(client_id, CommandError(f"ERR the Maildirs cannot be listed: {error}"))
            return
        self._conns.in_round(
            lambda node, now: _join_users(node, found.result(), now),
            lambda answer: waits.finish(client_id, _NOT_READY if answer is None else answer),
        )

    def _resynced(self, answer: Command) -> Reply:
        keeping = self._conns.keeping
        last = None if keeping is None else keeping.driver.node.resync.pulling.last
        if isinstance(answer, No):
            return CommandError(f"ERR {answer.why or _RESYNC_REFUSED.get(answer.reason, answer.reason)}")
        if not isinstance(answer, Ok) or last is None:
            return _NOT_READY
        return {
            b"member": last.member.encode(),
            b"mailboxes": last.boxes,
            b"messages": last.messages,
            b"texts": last.texts,
        }

    def _may_leave(self, node: Node, *, is_forced: bool) -> Reply:
        why = None if is_forced else self._why_stay(node)
        if why is not None:
            raise CommandError(f"ERR {why}; MAILBOX LEAVE FORCE leaves all the same")
        return OK

    def _why_stay(self, node: Node) -> str | None:
        """What would be lost, or be nowhere else, if this node left now."""
        standing = self._conns.keeping.driver.standing if self._conns.keeping is not None else {}
        if standing:
            return f"the disk has not taken all mail of {', '.join(sorted(standing))}: see MAILBOX STATUS"
        if self._works_owed():
            return "the store has not done all that other members did yet: ask MAILBOX STATUS for works-owed"
        if node.core.unsettled:
            return "messages wait for a UID, which needs the other members: see MAILBOX STATUS"
        for peer in node.core.peers.values():
            own = node.core.causal.held.get(node.core.origin, 0) - peer.held.get(node.core.origin, 0)
            if own > 0:
                wait = "ask again in a moment" if peer.is_up else f"start {peer.name} and wait until it is linked"
                return f"of the changes that were made here {own} are not at {peer.name} yet: {wait}"
        return None

    def _status(self, node: Node | None) -> Reply:
        """Of no node, while nothing is open and so nothing can be asked: what is known without, and why."""
        root = None if node is None else node.mastering.root
        return {
            b"node": self._conf.name.encode(),
            b"root": b"" if root is None else root.root.encode(),
            b"epoch": 0 if root is None else root.epoch,
            b"state": b"closed" if root is None else root.state.value.encode(),
            b"closed": self._closed(),
            b"apart": int(node is not None and node.mastering.tracker.is_apart),
            b"apart-seconds": 0 if node is None else int(self._conns.tally.apart_for_s(self._conns.now())),
            b"ops": 0 if node is None else sum(node.core.causal.held.values()),
            b"ops-waiting": 0 if node is None else node.core.causal.count,
            b"works-owed": self._works_owed(),
            b"mail-processes": 0 if node is None else len(self._conns.clients),
            b"stopped": self._stopped(),
            b"troubled": [] if node is None else [_map_of_trouble(*each) for each in troubled(node)],
            b"scrub": _scrubbed(node),
            b"join": _joined(node),
            b"members": [self._member(node, one) for one in self._figures.members],
        }

    def _closed(self) -> Reply:
        """Why nothing is open, and for how long; nothing while it is."""
        trouble = self._conns.trouble
        return {b"why": trouble.why.encode(), b"seconds": int(trouble.for_s)}

    def _works_owed(self) -> int:
        """What the stores of users have not done, and will: of a disk that refuses, and of one that is slow."""
        driver = None if self._conns.keeping is None else self._conns.keeping.driver
        return 0 if driver is None else sum(driver.owed().values())

    def _stopped(self) -> Reply:
        """Users whose mailboxes stand still, as the disk refuses."""
        driver = None if self._conns.keeping is None else self._conns.keeping.driver
        standing, owed = ({}, {}) if driver is None else (driver.standing, driver.owed())
        return [
            {b"user": user.encode(), b"why": each.reason.encode(), b"works-owed": owed.get(user, 0)}
            for user, each in sorted(standing.items())
        ]

    def _member(self, node: Node | None, one: MailboxMember) -> Reply:
        shown: dict[Reply, Reply] = {
            b"name": one.name.encode(),
            b"address": one.address.encode(),
            b"link": one.link.encode(),
            b"witness": int(self._conf.addresses[one.name].is_witness),
        }
        if node is not None and one.name in node.core.peers:
            shown |= {b"lag-ops": one.lag_ops, b"lag-ms": one.lag_ms}
        return shown


def _map_of_trouble(user: str, why: str) -> Reply:
    return {b"user": user.encode(), b"why": why.encode()}


def _boxes(node: Node, effect: AskMailboxes) -> dict[str, BoxRow]:
    """The user's mailboxes by name, or the one that was named. Raises CommandError, and PeerError for no name."""
    found = {}
    for guid, (name, _) in view(node.core.rows, effect.user).items():
        box = node.core.rows.box(guid)
        if box is not None and (not effect.box or name == box_name(effect.box)):
            found[name] = box
    if not found:
        raise CommandError(f"ERR {effect.user} has no mailbox {effect.box}".rstrip())
    return found


def _one(node: Node, effect: AskMailboxes) -> BoxRow:
    if not effect.box:
        raise CommandError("ERR no mailbox is named: its name is empty")
    [box] = _boxes(node, effect).values()
    return box


def _messages(node: Node, effect: AskMailboxes) -> Reply:
    """In the order of UIDs; those without one are shown by none."""
    found = node.core.rows.messages(_one(node, effect).guid, effect.after)
    return [
        {
            b"uid": row.uid,
            b"guid": row.guid.encode(),
            b"flags": [flag.encode() for flag in row.set_flags()],
            b"modseq": row.modseq,
            b"size": row.size,
        }
        for row in islice(found, effect.count)
    ]


def _allow(node: Node, effect: AskMailboxes, now: float) -> Reply:
    box = _one(node, effect)
    if node.gates is None and not node.core.doubts.of(box.guid):
        raise CommandError("ERR without mailbox-gate on no missing message is taken for expunged: put its file back")
    node.allow(box, now)
    return OK


def _deny(node: Node, effect: AskMailboxes, now: float) -> Reply:
    box = _one(node, effect)
    if not node.core.doubts.of(box.guid):
        raise CommandError("ERR no flags are in doubt there: where they are, the log says flags_differ at the start")
    node.deny_flags(box, now)
    return OK


def _scrub(node: Node, *, by_doveadm: bool) -> Reply:
    if node.is_witness:
        raise CommandError("ERR a witness keeps no mail")
    if by_doveadm:
        raise CommandError("ERR with mailbox-store doveadm a damaged text cannot be mended, so none is looked for")
    node.scrubbing.begin()
    return OK


def _scrubbed(node: Node | None) -> Reply:
    """The pass that is under way, or was last since the start; of no node, none."""
    last = None if node is None else node.scrubbing.last
    return {
        b"under-way": int(node is not None and node.scrubbing.is_under_way),
        b"texts": 0 if last is None else last.texts,
        b"bytes": 0 if last is None else last.bytes,
        b"damaged": 0 if last is None else last.damaged,
        b"not-mended": 0 if node is None else len(node.core.missing),
    }


def _join(node: Node, name: str, user: str, now: float, stands_still: str) -> None:
    """In a round: it answers `name`, as soon as the user's folders were listed. `stands_still`: why they cannot be."""

    def listed(why: str) -> None:
        if not why and not view(node.core.rows, user):
            why = "no Dovecot has opened INBOX yet. It joins as soon as one does, while this node runs"
        told = No(reason=Reason.NOBOX, why=f"no Maildir of {user} can be joined here: {why}")
        node.core.reply(name, "1", told if why else Ok())

    why = stands_still
    try:
        _check_user(user)
    except PeerError as error:
        why = str(error)
    if not why and node.excluded.has_user(user):
        why = f"{user}: {WHY}"
    if not why and node.uniting.doubles(user):
        node.unite(name, "1", user, now)
        return
    if not why and view(node.core.rows, user):
        why = f"{user} has mailboxes here already, and no two of one name: see MAILBOX INFO"
    elif not why and node.folders is None:
        why = "JOIN needs mailbox-gate on, as a Dovecot may be writing to the Maildir"
    if why or node.folders is None:
        node.core.reply(name, "1", No(reason=Reason.EXISTS, why=why))
    else:
        node.folders.join(user, now, listed)


def _join_users(node: Node, users: list[str], now: float) -> Reply:
    """In a round."""
    if node.joins is None:
        return CommandError("ERR JOIN needs mailbox-gate on, as Dovecots may be writing to the Maildirs")
    node.join_all(filter(_is_user, users), now)
    return OK


def _check_user(name: str) -> None:
    """Raises PeerError for a name that no user can have. One may be made of bytes that are no UTF-8 (to_text)."""
    try:
        KINDS["User"].parse(escape(name))
    except UnicodeEncodeError:
        raise PeerError(f"expected the name of a user in UTF-8, got {name!r}") from None


def _is_user(name: str) -> bool:
    """Can the protocol name this user?"""
    try:
        _check_user(name)
    except PeerError:
        return False
    return True


def _joined(node: Node | None) -> Reply:
    """How far the last JOIN of all users is."""
    joins = None if node is None else node.joins
    return {
        b"left": 0 if joins is None else joins.left,
        b"done": 0 if joins is None else joins.done,
        b"failed": [] if joins is None else [user.encode() for user in joins.failed],
    }


def _renew(node: Node, name: str, effect: AskMailboxes, now: float) -> None:
    """In a round: it answers `name`."""
    try:
        node.renew(name, "1", _one(node, effect), now)
    except (CommandError, PeerError) as error:
        node.core.reply(name, "1", No(reason=Reason.NOBOX, why=str(error).removeprefix("ERR ")))


def _resync(node: Node, name: str, effect: AskMailboxes, now: float) -> None:
    """In a round: it answers `name`."""
    try:
        _check_user(effect.user)
        box = box_name(effect.box) if effect.box else ""
    except PeerError as error:
        node.core.reply(name, "1", No(reason=Reason.NOBOX, why=str(error)))
        return
    node.resync_by_state(name, "1", effect.user, box, now)


def _shown(node: Node, box: BoxRow, name: str) -> Reply:
    return {
        b"name": name.encode(),
        b"guid": box.guid.encode(),
        b"uidvalidity": box.uidvalidity,
        b"uidnext": box.uidnext,
        b"highest-modseq": box.highest,
        b"subscribed": int(box.subscribed),
        b"master": _master(node, box).encode(),
    }


def _master(node: Node, box: BoxRow) -> str:
    """Who gives out UIDs; the root of all mailboxes that it gave to nobody."""
    mine = node.mastering.tracker.boxes.get(box.guid)
    if mine is not None and mine.is_ours:
        return node.name
    is_of_epoch = box.token.epoch == node.mastering.root.epoch
    return box.holder if is_of_epoch and box.holder else node.mastering.root.root


def _checked(answer: Command, unlinked: set[str]) -> Reply:
    """`unlinked`: the members that were not asked, or not to the end."""
    if not isinstance(answer, Ok):
        why = answer.why if isinstance(answer, No) else ""
        return CommandError(f"ERR {why or 'not everything is everywhere yet: ask MAILBOX STATUS'}")
    who = ", ".join(sorted(unlinked))
    return Simple(f"OK without {who}: not linked, so not asked".encode()) if who else OK


def _renewed(answer: Command) -> Reply:
    if isinstance(answer, Ok):
        return OK
    if isinstance(answer, No):
        return CommandError(f"ERR {answer.why or _RENEW_REFUSED.get(answer.reason, answer.reason)}")
    return _NOT_READY
