"""Modseqs of Dovecots, for clients with a cache (CONDSTORE, QRESYNC) that come from another node.

Each Dovecot numbers the changes of its own files by itself, and nobody can tell it which number a change gets. What can
be done from outside: its highest modseq can be raised, and a message whose flags are changed, and changed back, has the
next one. So before a user logs in (CHECK login=1, of Dovecot's post-login script):

    LOOKING   what Dovecot did here until now is in the rows
    CHECKING  what was done anywhere is here, and what is here is everywhere
    ALIGNING  in each mailbox that changed here since this was done last, what changed gets a modseq above the clock
              (modseqs.py), and of expunged messages Dovecot forgets when they went, so that it tells clients of all
              that are gone

What a client does not know, which was elsewhere until a moment ago and saw a highest modseq H there:

- what changes from now on in a mailbox that was raised: its modseq is above the clock, and H is below it. (One in which
  nothing has changed here since the last time is not raised: a change that comes to it before the client looks may be
  missed until the next login, as it is rare and each mailbox costs a tenth of a second);
- what changed here since this was done last: the same;
- what changed before that: it was everywhere then, so the client was elsewhere before then, and H is below the clock of
  that time, which this change is above.

No node is asked which modseqs it has, so it may be dead. `aligned` of the rows is the mailbox's modseq, as nodes count
them, when this was done last while all members were there. While one is missing, what it lacks is done again each time:
it may be cut off, and its clients may come from there. If that is more than MOST_AGAIN, it is done once.

Not here: files and doveadm (the daemon's).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.mailbox.answers import No, Ok, Reason
from pyrepl.mailbox.boxes import view
from pyrepl.mailbox.checks import CHECK_S, Checks
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.modseqs import Clock
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import SetFlags

LOOK_S: Final = 1.0
"""So long it is waited until what Dovecot did is in the rows."""
ALIGN_S: Final = 60.0
"""So long for mailboxes; who logs in waits as long as the one who asks wants to."""
MOST_AGAIN: Final = 1000
"""Messages of a mailbox that are done again because a member is missing."""
DRAFT: Final = "\\Draft"
"""The flag that is changed and changed back: rarely one that clients show."""


class Aligned(NamedTuple):
    """A message of an order. `is_draft`: it has the flag."""

    guid: str
    uid: int
    is_draft: bool


class AlignOrder(NamedTuple):
    """Raise the mailbox `name` to `modseq`, then let these messages get the next ones. `forget`: Dovecot is to forget
    when messages were expunged. `upto` is the mailbox's modseq, as nodes count, up to which this is."""

    user: str
    box: str
    name: str
    modseq: int
    messages: tuple[Aligned, ...]
    forget: bool
    upto: int


class _Login:
    """One that waits."""

    def __init__(self, client: str, tag: str, user: str, until: float) -> None:
        self.client: Final = client
        self.tag: Final = tag
        self.user: Final = user
        self.until = until
        self.looks: dict[str, int] = {}
        """Mailbox -> what has to be in the rows."""
        self.boxes: set[str] = set()
        """Mailboxes that are not aligned yet."""
        self.is_whole = False
        """Has every member all that this node had?"""
        self.why = ""


@final
class Aligning:
    """All users who are about to log in.

    Invariant: a mailbox is under way once at most.
    """

    def __init__(self, core: Core, checks: Checks, gates: Gates, clock: Clock) -> None:
        self._core: Final = core
        self._checks: Final = checks
        self._gates: Final = gates
        self._clock: Final = clock
        self._looking: list[_Login] = []
        self._checking: list[_Login] = []
        self._aligning: list[_Login] = []
        self._under_way: Final[dict[str, _Login]] = {}
        self._partly: Final[dict[str, int]] = {}
        """Mailbox -> as `aligned`, while a member was missing."""

    def ask(self, client: str, tag: str, user: str, now: float) -> None:
        """A user is about to log in; answered when all is done, or cannot be."""
        login = _Login(client, tag, user, now + LOOK_S)
        rows = self._core.rows
        for guid, number in self._gates.unlooked(0).items():
            box = rows.box(guid)
            if box is not None and box.user == user:
                login.looks[guid] = number
        self._looking.append(login)

    def client_gone(self, client: str) -> None:
        """What is under way is done all the same. It comes too late for the session, which begins as it is."""
        for waiting in (self._looking, self._checking, self._aligning):
            for login in [login for login in waiting if login.client == client]:
                waiting.remove(login)
                self._core.note("not_aligned", f"{login.user}: who asked waited no longer")

    def tick(self, now: float) -> None:
        """Go on with those that can."""
        for login in list(self._looking):
            if now >= login.until or all(self._gates.has_looked(*look) for look in login.looks.items()):
                self._looking.remove(login)
                self._check(login, now)
        for login in list(self._aligning):
            if not login.boxes:
                self._end(login, No(reason=Reason.FAILED, why=login.why) if login.why else Ok())
            elif now >= login.until:
                self._core.note("not_aligned", f"{login.user}: it is not done after {ALIGN_S:.0f} s")
                self._end(login, No(reason=Reason.TIMEOUT))

    def next_deadline(self) -> float:
        if any(not login.boxes for login in self._aligning):
            return 0.0
        return min((login.until for login in (*self._looking, *self._aligning)), default=float("inf"))

    def _check(self, login: _Login, now: float) -> None:
        def checked(is_whole: bool, now: float) -> None:
            if login not in self._checking:
                return
            self._checking.remove(login)
            login.boxes = set(view(self._core.rows, login.user))
            login.is_whole = is_whole
            login.until = now + ALIGN_S
            self._aligning.append(login)

        self._checking.append(login)
        self._checks.ask_then(login.user, now + CHECK_S, checked)

    def _end(self, login: _Login, answer: Ok | No) -> None:
        self._aligning.remove(login)
        self._core.reply(login.client, login.tag, answer)

    # What the shell does

    def orders(self, now: float) -> list[AlignOrder]:
        """What is to be done now, beside the rounds, while all works that follow from the rows are done; each is to be
        told as done."""
        found = []
        for login in self._aligning:
            for guid in sorted(login.boxes - self._under_way.keys()):
                order = self._order(guid, now)
                if order is None:
                    login.boxes.discard(guid)
                else:
                    self._under_way[guid] = login
                    self._gates.uncompared.add(guid)
                    found.append(order)
        return found

    def _order(self, guid: str, now: float) -> AlignOrder | None:
        """None for a mailbox in which nothing has changed, or that is gone."""
        rows = self._core.rows
        box, since = rows.box(guid), rows.aligned(guid)
        name = None if box is None else view(rows, box.user).get(guid)
        if box is None or name is None or box.highest <= since:
            return None
        changed = rows.messages_since(guid, since)
        if len(changed) > MOST_AGAIN and guid in self._partly:
            changed = rows.messages_since(guid, self._partly[guid])
        forget = bool(rows.gone_since(guid, since))
        if forget and not changed:
            # Dovecot begins a new log only where something changes.
            changed = [row for row in rows.messages(guid) if row.uid != UNPLACED][:1]
        messages = tuple(Aligned(row.guid, row.uid, DRAFT in row.set_flags()) for row in changed if row.uid != UNPLACED)
        return AlignOrder(box.user, guid, name[0], self._clock.read(now), messages, forget, box.highest)

    def done(self, order: AlignOrder, why: str) -> None:
        """How an order ended; `why` it failed, "" if it did not."""
        login = self._under_way.pop(order.box)
        self._gates.uncompared.discard(order.box)
        login.boxes.discard(order.box)
        self._restore(order, was_changed_back=not why)
        if why:
            login.why = why
            self._core.note("not_aligned", f"{order.user} {order.name}: {why}")
        elif login.is_whole:
            self._core.rows.put_aligned(order.box, order.upto)
            self._partly.pop(order.box, None)
        else:
            self._partly[order.box] = order.upto

    def _restore(self, order: AlignOrder, *, was_changed_back: bool) -> None:
        """The flag is what the rows say: it may have been changed and not changed back, or back to what it was before
        another node changed it."""
        for each in order.messages:
            row = self._core.rows.message(order.box, each.guid)
            if row is None or (was_changed_back and (DRAFT in row.set_flags()) is each.is_draft):
                continue
            flags = row.set_flags()
            before = {*flags} ^ {DRAFT}
            self._core.want(SetFlags(order.user, order.box, each.guid, flags, tuple(sorted(before))))
