"""A user's mailboxes as a Dovecot makes, renames, deletes and subscribes them: the difference between folders and rows.

The folders are right about what a mail program did, so they are only compared while every work that follows from the
rows is done, and with the list of mailboxes that the rows had when they were listed: where it is another one by then,
they are listed again. A mailbox is known by its GUID, whatever its folder is called.

| folders | rows | then |
|---|---|---|
| a mailbox | none | CREATE, unless it is left out (excluded.py) |
| another name | so | RENAME |
| none, looked for twice | a mailbox | DELETE, of the messages that were shown there; others bring it back |
| none, as most of the user's mail is missing | so | an accident, perhaps: told, and none is deleted |
| none, as INBOX is missing | so | the same, and nothing at all is done |
| a mailbox with mail | deleted | its mail is compared: what nobody knew of is saved, and brings it back |
| a mailbox whose name cannot be said, as `.INBOX` | none | told, and left alone |
| a GUID twice, as of a folder that was copied | one, perhaps another user's | told, and the copy is left alone |
| an empty one whose name an older one has | so | DELETE: it becomes the older one |
| other subscriptions | so | SUBSCRIBE, UNSUBSCRIBE |

Not here: messages (gates.py, compare.py), and listing the folders (the daemon's).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.mailbox.boxes import is_visible, view
from pyrepl.mailbox.core import Core
from pyrepl.mailbox.excluded import EVERYTHING, Excluded
from pyrepl.mailbox.gates import Gates
from pyrepl.mailbox.journal_ops import by_guid
from pyrepl.mailbox.maildir.fitting import fitted, mark
from pyrepl.mailbox.maildir.layout import INBOX, Layout
from pyrepl.mailbox.rows import BoxRow
from pyrepl.mailbox.sayable import sayable
from pyrepl.mailbox.store import Ended, MakeBox, Outcome, RemoveBox
from pyrepl.mailbox.verbs import Create, Delete, Op, Rename, Subscribe, Unsubscribe
from pyrepl.mailbox.words import Box, Dot, Vector

LOOK_AGAIN_S: Final = 0.05
"""After so long folders are listed again before one that is missing counts as deleted: a rename may hide one."""
RETRY_S: Final = 1.0
"""After so long what failed is tried again."""
_NEVER: Final = float("inf")

Listed: TypeAlias = Callable[[str], None]
"""Told when a user's folders were listed, with "", or why they cannot be."""


class FolderOrder(NamedTuple):
    """List a user's folders; of the mailboxes `known` nothing but their names is wanted. `names`: GUIDs of all that the
    user has, and what clients see them as."""

    user: str
    known: frozenset[str]
    names: tuple[tuple[str, str], ...] = ()


class FoundFolder(NamedTuple):
    """A mailbox that was found. `uidvalidity` and `has_mail` are told of mailboxes that are not among `known`.
    `is_aside`: its name was taken from it by a mailbox that a work of ours made; `name` is what it wanted."""

    name: str
    box: str
    uidvalidity: int = 0
    has_mail: bool = False
    is_aside: bool = False


class FoundFolders(NamedTuple):
    """All mailboxes of a user, and the names that are subscribed. `unnamed`: what is there besides, as people are told
    of it: mailboxes whose names the protocol cannot say; `copied`: folders with the GUID of one of `boxes`."""

    boxes: tuple[FoundFolder, ...]
    subscribed: frozenset[str]
    unnamed: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


class FolderResult(NamedTuple):
    """How an order ended; `why`: it failed, and nothing is to be concluded; nor if it `is_busy`, as works on the user's
    mailboxes were under way."""

    found: FoundFolders | None = None
    why: str = ""
    is_busy: bool = False


class _User:
    """`missing`: mailboxes without a folder, as listed last. `is_due_later`: to be listed again at `at`, not before, as
    some are missing, or it failed; `why` is what was told of that."""

    def __init__(self) -> None:
        self.at = float("-inf")
        self.is_asked = False
        self.is_due_later = False
        self.shown: dict[str, tuple[str, bool]] = {}
        """What the rows showed when they were to be listed."""
        self.missing: frozenset[str] = frozenset()
        self.news = 0
        """The number of the last thing that the file system told, as gates count them."""
        self.why = ""
        self.odd: Final[dict[str, frozenset[str]]] = {}
        """Event -> folders of which it was told."""
        self.waiting: list[Listed] = []


@final
class Folders:
    """All users'."""

    def __init__(
        self, core: Core, gates: Gates, guard: int, excluded: Excluded = EVERYTHING, layout: Layout | None = None
    ) -> None:
        """`guard`: `mailbox-expunge-guard`; `excluded`: `mailbox-exclude`; `layout`: of the store, None if it can store
        any name."""
        self._layout: Final = layout
        self._excluded: Final = excluded
        self._core: Final = core
        self._gates: Final = gates
        self._guard: Final = guard
        self.allowed: Final[set[str]] = set()
        """What an operator allowed, and was not done yet."""
        self._users: Final = {user: _User() for user in core.rows.users()}
        self._unlisted: Final = set(self._users)
        """Those of before the start whose folders were not compared with the rows yet."""

    def is_all_listed(self) -> bool:
        """Is known which mailboxes of before the start have mail, be they deleted?"""
        return not self._unlisted

    def seen(self, user: str, now: float) -> None:
        """The file system told something of a user's folders."""
        known = self._users.get(user)
        if known is None:
            return
        known.news = self._gates.count_news()
        if not known.is_due_later:
            known.at = min(known.at, now)

    def unlisted(self, mark: int) -> set[str]:
        """Users of whose folders something was told after the number `mark`, and the gates do not have all of it."""
        return {user for user, state in self._users.items() if state.news > mark and self._is_behind(user)}

    def _is_behind(self, user: str) -> bool:
        return self.is_busy(user) or self._gates.count_unlooked(user) > 0

    def join(self, user: str, now: float, then: Listed | None = None) -> None:
        """An operator says that a user's mailboxes, which are on the disk, are kept from now on. A user whose folders
        cannot be listed is forgotten again."""
        state = self._users.setdefault(user, _User())
        state.at = now
        if then is not None:
            state.waiting.append(then)

    def allow(self, box: str, now: float) -> None:
        """An operator says that a mailbox which is missing was deleted, whatever it held."""
        row = self._core.rows.box(box)
        if row is not None and self.is_missing(box):
            self.allowed.add(box)
            self.seen(row.user, now)

    def worked(self, ended: Sequence[Ended], now: float) -> None:
        """Works were done: a user may be new, and a mailbox that was to go may be there still, as it holds mail."""
        for work, result in ended:
            if isinstance(work, MakeBox) and work.user not in self._users:
                self._users[work.user] = _User()
            elif result.outcome is Outcome.HAS_MAIL:
                self.seen(work.user, now)

    def orders(self, standing: Container[str], now: float) -> list[FolderOrder]:
        """What is to be listed now; each is to be told as done. `standing`: users whose files lag behind the rows."""
        found = []
        for user, state in self._users.items():
            if state.is_asked or state.at > now:
                continue
            if user in standing:
                state.at = now + RETRY_S
            else:
                state.is_asked, state.is_due_later, state.at = True, False, _NEVER
                state.shown = view(self._core.rows, user)
                names = tuple((guid, name) for guid, (name, _) in state.shown.items())
                found.append(FolderOrder(user, self._plain(user, state.shown), names))
        return found

    def is_missing(self, box: str) -> bool:
        """Had a mailbox no folder when its user's were listed last?"""
        row = self._core.rows.box(box)
        state = None if row is None else self._users.get(row.user)
        return state is not None and box in state.missing

    def troubled(self) -> Iterator[tuple[str, str]]:
        """Users with mailboxes whose folders could not be listed, or are missing and do not count as deleted, and why,
        with the word first."""
        return ((user, state.why) for user, state in self._users.items() if state.why and state.shown)

    def is_known(self, user: str) -> bool:
        """Are this user's folders looked after?"""
        return user in self._users

    def is_busy(self, user: str) -> bool:
        """Are they to be listed now, or again?"""
        state = self._users[user]
        return state.is_asked or state.at != _NEVER

    def next_deadline(self) -> float:
        return min((state.at for state in self._users.values()), default=_NEVER)

    def done(self, order: FolderOrder, result: FolderResult, now: float) -> None:
        """How an order ended."""
        user, state = order.user, self._users[order.user]
        state.is_asked = False
        if result.is_busy:
            state.is_due_later, state.at = True, now + RETRY_S
            return
        if result.found is not None and view(self._core.rows, user) != state.shown:
            state.at = now
            return
        waiting, state.waiting = state.waiting, []
        if result.found is None:
            self._failed(user, state, result.why, now)
        else:
            self._listed(user, state, result.found, now)
        for then in waiting:
            then(result.why)

    def _failed(self, user: str, state: _User, why: str, now: float) -> None:
        if self._core.rows.boxes(user):
            state.is_due_later, state.at = True, now + RETRY_S
            self._tell(state, "folders_failed", f"{user}: {why}")
        else:
            self._core.note("join_failed", f"{user}: {why}")
            del self._users[user]

    def _listed(self, user: str, state: _User, found: FoundFolders, now: float) -> None:
        boxes, subscribed = self._as_meant(user, found)
        self._tell_odd(user, state, "folder_unnamed", found.unnamed)
        self._tell_odd(user, state, "folder_copied", found.copied)
        self._tell_odd(user, state, "folder_of_other", self._of_others(user, boxes))
        there = {each.box: each for each in boxes}
        self.allowed.difference_update(there)
        before, state.missing = state.missing, frozenset(view(self._core.rows, user).keys() - there.keys())
        if state.missing - before:
            state.is_due_later, state.at = True, now + LOOK_AGAIN_S
        elif state.missing and self._is_accident(user, state.missing):
            self._tell(state, "folders_guard", f"{user} {len(state.missing)}")
            if not self._lacks_inbox(user, state.missing):
                self._adopt(user, there, subscribed, gone=frozenset())
        else:
            state.why = ""
            self._adopt(user, there, subscribed, gone=state.missing)

    # What follows

    def _as_meant(self, user: str, found: FoundFolders) -> tuple[list[FoundFolder], frozenset[str]]:
        """What was found, with the own names of mailboxes that the store has under others as it cannot store these."""
        if self._layout is None:
            return list(found.boxes), found.subscribed
        boxes, subscribed = {each.box: each for each in found.boxes}, found.subscribed
        for guid, (name, _) in view(self._core.rows, user).items():
            stored = fitted(self._layout, name, guid)
            if stored != name and guid in boxes and boxes[guid].name in (stored, stored.removesuffix(mark(guid))):
                boxes[guid] = boxes[guid]._replace(name=name)
                subscribed |= {name} if stored in subscribed else set()
        return list(boxes.values()), subscribed

    def _tell(self, state: _User, name: str, about: str) -> None:
        """Once, as it may be found again and again."""
        if state.why != f"{name} {about}":
            self._core.note(name, about)
        state.why = f"{name} {about}"

    def _tell_odd(self, user: str, state: _User, event: str, folders: Iterable[str]) -> None:
        """Once, when one is found; and again if it was not there meanwhile."""
        found = frozenset(folders)
        for each in sorted(found - state.odd.get(event, frozenset())):
            self._core.note(event, f"{user} {each}")
        state.odd[event] = found

    def _of_others(self, user: str, boxes: Iterable[FoundFolder]) -> Iterator[str]:
        """The names of those whose GUID is that of another user's mailbox, and whose."""
        for each in boxes:
            row = self._core.rows.box(each.box)
            if row is not None and row.user != user and not self._excluded.has(user, each.name):
                yield f"{each.name} of {row.user}"

    def _plain(self, user: str, shown: dict[str, tuple[str, bool]]) -> frozenset[str]:
        """The mailboxes that have the name that they want."""
        boxes = self._core.rows.boxes(user)
        return frozenset(box.guid for box in boxes if box.guid in shown and shown[box.guid][0] == box.name)

    def _is_accident(self, user: str, missing: frozenset[str]) -> bool:
        """Nobody can delete INBOX; and not much mail at once without an operator who says so."""
        if self._lacks_inbox(user, missing):
            return True
        rows, shown = self._core.rows, view(self._core.rows, user)
        counts = {guid: sum(1 for _ in rows.messages(guid)) for guid in shown}
        lost = sum(counts[guid] for guid in missing - self.allowed)
        return lost > self._guard and 2 * lost > sum(counts.values())

    def _lacks_inbox(self, user: str, missing: frozenset[str]) -> bool:
        shown = view(self._core.rows, user)
        return any(shown[guid][0] == INBOX for guid in missing)

    def _adopt(
        self, user: str, there: dict[str, FoundFolder], subscribed: frozenset[str], gone: frozenset[str]
    ) -> None:
        """What is there is so in the rows. `gone`: mailboxes that were deleted."""
        for guid in sorted(gone):
            self._delete(guid)
        for box in self._gates.boxes():
            # One that was deleted, and stayed for its mail, has gone with it.
            if box.user == user and box.guid not in there and not is_visible(self._core.rows, box):
                self._core.want(RemoveBox(user, box.guid))
        renamed = self._rename(user, there)
        for each in there.values():
            self._adopt_unshown(user, each)
        self._delete_doubles(user, there)
        self._subscribe(user, there, subscribed, renamed)
        self._unlisted.discard(user)

    def _delete(self, guid: str) -> None:
        """One whose messages were not all shown to its deleter lives on, and gets its folder again."""
        box = self._row(guid)
        self.allowed.discard(guid)
        stamp = self._core.journal.next_stamp(box.user)
        self._do(Delete(user=box.user, box=by_guid(box), stamp=stamp, known=self._shown_ops(box)))
        if guid in (shown := view(self._core.rows, box.user)):
            now = self._row(guid)
            self._core.want(MakeBox(box.user, guid, shown[guid][0], now.uidvalidity, now.uidnext))

    def _shown_ops(self, box: BoxRow) -> Vector:
        """All that is applied here, but for messages of this mailbox that its clients did not see yet."""
        known = dict(self._core.causal.held)
        for row in self._core.rows.unplaced(box.guid):
            for dot in row.dots:
                known[dot.origin] = min(known.get(dot.origin, 0), dot.seq - 1)
        return tuple(Dot(origin, seq) for origin, seq in sorted(known.items()) if seq)

    def _rename(self, user: str, there: dict[str, FoundFolder]) -> set[str]:
        """Which ones have another name now."""
        renamed = set()
        for guid, (name, _) in view(self._core.rows, user).items():
            found = there.get(guid)
            if found is not None and found.name != name:
                stamp = self._core.journal.next_stamp(user)
                self._do(Rename(user=user, box=Box(guid, True), to=Box(found.name), stamp=stamp))
                renamed.add(guid)
        return renamed

    def _adopt_unshown(self, user: str, found: FoundFolder) -> None:
        row = self._core.rows.box(found.box)
        if row is None and self._excluded.has(user, found.name):
            return
        if row is None and found.is_aside and not found.has_mail:
            self._core.want(RemoveBox(user, found.box))
        elif row is None:
            stamp = self._core.journal.next_stamp(user)
            box = Box(found.name)
            self._do(Create(user=user, box=box, id=found.box, uidvalidity=found.uidvalidity, stamp=stamp))
        elif row.user == user and found.box not in view(self._core.rows, user):
            if found.has_mail:
                self._gates.follow(found.box)
            else:
                self._core.want(RemoveBox(user, found.box))

    def _delete_doubles(self, user: str, there: dict[str, FoundFolder]) -> None:
        """Each node's Dovecot may have made a mailbox that every user is to have."""
        for guid, (name, _) in view(self._core.rows, user).items():
            box, found = self._row(guid), there.get(guid)
            is_double = box.name != name and not box.deleted and found is not None and not found.has_mail
            if is_double and next(self._core.rows.messages(guid), None) is None:
                self._delete(guid)

    def _subscribe(
        self, user: str, there: dict[str, FoundFolder], subscribed: frozenset[str], renamed: set[str]
    ) -> None:
        """The subscription goes along with a rename."""
        for guid, (_, is_subscribed) in view(self._core.rows, user).items():
            found = there.get(guid)
            if found is not None and guid not in renamed and (found.name in subscribed) != is_subscribed:
                stamp = self._core.journal.next_stamp(user)
                kind = Unsubscribe if is_subscribed else Subscribe
                self._do(kind(user=user, box=Box(guid, True), stamp=stamp))

    def _row(self, guid: str) -> BoxRow:
        box = self._core.rows.box(guid)
        assert box is not None
        return box

    def _do(self, op: Op) -> None:
        """An op that nobody could read is told of, and not made: else listing would fail again and again."""
        self._core.do(sayable([op], lambda why: self._core.refused(op.user, op.VERB, why)))
