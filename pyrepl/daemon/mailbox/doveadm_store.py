"""The store of a node's messages in mailboxes of a Dovecot 2.4, whatever their format is (sdbox, mdbox), by its
program doveadm.

It is a MessageStore (pyrepl.mailbox.store). Dovecot is not kept from giving out UIDs, as with Maildirs: what it gave
out is like what is given out apart. What it did is seen when it is asked (doveadm_watch.py).

| kept beside mailbox.db | what |
|---|---|
| `.pyrepl-drop` | texts that came, until their rows are committed |
| `.pyrepl-aside` | texts of messages that have no UID |
| `.pyrepl-texts` | texts that were asked for a moment ago |

A text gets the line ends that Dovecot stores: LF. Not here: works on messages (doveadm_box.py), what doveadm is asked
(doveadm_mail.py), and rows. Every method waits for the program: workers call them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final, final

from pyrepl.daemon.mailbox.aside import Aside
from pyrepl.daemon.mailbox.box_gone import without_box
from pyrepl.daemon.mailbox.box_plan import BoxWork
from pyrepl.daemon.mailbox.doveadm_box import DoveadmBoxWorks
from pyrepl.daemon.mailbox.doveadm_mail import DoveadmBox, DoveadmMail, DoveadmMessage
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError, DoveadmProgram
from pyrepl.daemon.mailbox.drop_folder import DropFolder, is_of, shown_guid, text_name
from pyrepl.daemon.mailbox.fetched_texts import FetchedTexts
from pyrepl.daemon.mailbox.files import Files
from pyrepl.daemon.mailbox.fresh_texts import FreshTexts
from pyrepl.daemon.mailbox.results import failed, storable, told_of_name
from pyrepl.daemon.mailbox.user_boxes import mark, unmarked
from pyrepl.daemon.mailbox.work_batches import are_of_boxes, begin_flags, perform_in_batches, settle
from pyrepl.mailbox.compare import Found, FoundBox, Text
from pyrepl.mailbox.copies import guid_of_copy
from pyrepl.mailbox.folders import FolderOrder, FolderResult, FoundFolder, FoundFolders
from pyrepl.mailbox.gate_states import GateOrder, GateResult
from pyrepl.mailbox.maildir.fitting import fitted
from pyrepl.mailbox.maildir.layout import INBOX, Layout
from pyrepl.mailbox.maildir.text_sums import sums_of
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.store import (
    BRINGING,
    DONE,
    AddMessage,
    MakeBox,
    MendMessage,
    MoveMessage,
    Outcome,
    RaiseNext,
    RemoveBox,
    RemoveMessage,
    RenameBox,
    Result,
    SetFlags,
    Stored,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.words import is_guid
from pyrepl.words import from_text

MOST_LOOKED_BYTES: Final = 4 * 1024 * 1024
"""Of texts that are read in one look; fresh_texts.py keeps that much until they have gone out."""
_LEAST_TEXT_BYTES: Final = 1024
"""As which the smallest text counts."""
_TROUBLE: Final = (DoveadmError, OSError)
_OF_MESSAGES: Final = (AddMessage, SetFlags, MoveMessage, MendMessage, RemoveMessage, RaiseNext)


@final
class DoveadmStore:
    """All users' mailboxes. Used by one worker for all of a user's works."""

    def __init__(
        self, files: Files, root: bytes, program: DoveadmProgram, layout: Layout, follow: Callable[[str], None]
    ) -> None:
        """`root`: the folder of mailbox.db. `follow` is told of users whose mailboxes are to be watched."""
        self._files: Final = files
        self._program: Final = program
        self._layout: Final = layout
        self._follow: Final = follow
        self._undone: Final[set[tuple[str, str]]] = set()
        """User and mailbox -> works there failed in the middle: what lies there twice may be a move's."""
        self._texts: Final = FetchedTexts(files, root)
        self.fresh: Final = FreshTexts()
        self.drop: Final = DropFolder(files, root)

    def prepare(self) -> None:
        """At a start, before any work. Raises OSError."""
        self.drop.prepare()
        self._texts.prepare()

    def clear(self, held: Mapping[str, int], owed: Set[str], own: str = "", uncompared: Set[str] | None = None) -> None:
        """Raises OSError."""
        self.drop.clear(held, owed, own, uncompared)

    def expect(self, inboxes: Mapping[str, str]) -> None:
        """Nothing is made for a user that Dovecot does not know, so nobody needs to be expected."""

    def perform(self, works: Sequence[Work]) -> list[Result]:
        try:
            self.keep(works)
        except OSError as error:
            return [failed(error, Outcome.NOT_THERE)] * len(works)
        return perform_in_batches(works, self._perform)

    def check(self, *, writes: bool) -> None:
        """Of mail that Dovecot keeps, only the disk of the drop folder can be asked. Raises OSError."""
        if writes:
            self.drop.probe()

    def keep(self, works: Sequence[Work]) -> None:
        """Raises OSError."""
        self.drop.sync(work.text for work in works if isinstance(work, BRINGING) and work.text)

    def try_again(self, works: Sequence[Work]) -> list[Result]:
        return self.perform(works)

    def settle(self, works: Sequence[Work]) -> None:
        """Raises OSError."""
        settle(self.drop, works)

    def stored(self, user: str) -> dict[str, StoredBox]:
        """Raises DoveadmError, OSError."""
        mail, brought = self._mail(user), self.drop.ops()
        boxes, messages, names = mail.boxes(), mail.all_messages(), mail.subscribed()
        found = {}
        for box in boxes:
            listed = messages.get(box.guid, [])
            if box.messages and not listed:
                raise DoveadmError(f"what the mailbox {box.name} of {user} holds changed while it was read")
            there = {
                guid: Stored(UNPLACED, (), brought.get(shown_guid(guid))) for guid in self._aside(box.guid).guids()
            }
            for each in reversed(listed):
                there[each.guid] = Stored(each.uid, tuple(sorted(each.flags)), brought.get(shown_guid(each.guid)))
            is_new, unsure = self.drop.is_new_box(box.guid.encode()), self.drop.new_flags(box.guid.encode())
            found[box.guid] = StoredBox(box.name, box.name in names, there, is_new, unsure)
        return found

    def has_text(self, user: str, guid: str) -> bool:
        """Raises DoveadmError, OSError."""
        return self._text(self._mail(user), user, guid) is not None

    def readable_text(self, user: str, guid: str, box: str) -> bytes | None:
        """Dovecot finds it in whatever mailbox. Where it cannot be asked, or has not got it yet, as it came. Raises
        OSError, DoveadmError."""
        try:
            found = self._text(self._mail(user), user, guid)
        except DoveadmError:
            found = self.drop.find(guid)
            if found is None:
                raise
        return found or self.drop.find(guid)

    def remember(self, user: str, names: Mapping[str, str]) -> None:
        """Dovecot knows them."""

    def check_missing(self, user: str, boxes: Iterable[str]) -> None:
        """Dovecot tells of all mailboxes, or fails."""

    def users(self) -> list[str]:
        """Raises DoveadmError: not every Dovecot can list its users."""
        return sorted(self._program.run("user", "*").decode("utf-8", "replace").split())

    # What gates and folders ask

    def gate(self, order: GateOrder) -> GateResult:
        """Whatever the order's work is, as there are no lock files: tell what is there."""
        try:
            found = self._look(order)
        except _TROUBLE as error:
            return GateResult(why=failed(error).reason)
        return GateResult(found, is_busy=found is None)

    def folders(self, order: FolderOrder) -> FolderResult:
        """A user who is asked for is watched from now on, so nothing is missed."""
        try:
            mail = self._mail(order.user)
            self._follow(order.user)
            boxes, unnamed = mail.listed()
            found = tuple(_folder(box, order.known) for box in boxes)
            return FolderResult(FoundFolders(found, mail.subscribed(), unnamed))
        except DoveadmError as error:
            return FolderResult(why=str(error))

    def _look(self, order: GateOrder) -> FoundBox | None:
        """What a mailbox holds; None if it is changing, so that it is to be asked again."""
        if (order.user, order.box) in self._undone:
            return None
        mail = self._mail(order.user)
        box = _present(mail, order.box)
        listed = mail.messages(box)
        if listed is None or self._split_copies(mail, box, listed):
            return None
        new = list(_of_one_look(each for each in listed if each.uid >= order.since or each.guid in order.wanted))
        texts = {}
        for message, text in mail.texts(box.guid, new):
            self.fresh.put(order.user, message.guid, text)
            texts[message.uid] = Text(len(text), message.received, sums_of(text))
        if any(each.uid not in texts for each in new):
            return None
        found = [Found(each.uid, each.guid, each.flags, texts.get(each.uid)) for each in listed]
        return FoundBox(tuple(found), keywords=None)

    def _split_copies(self, mail: DoveadmMail, box: DoveadmBox, listed: list[DoveadmMessage]) -> bool:
        """A mail program's COPY into the mailbox itself leaves two messages of one GUID, where the nodes know one: each
        copy is saved again with a GUID of its own, and expunged. So is a message with a GUID that nodes cannot tell
        each other. Were there any?"""
        guids = {each.guid for each in listed}
        first: dict[str, int] = {}
        again = [each for each in listed if first.setdefault(each.guid, each.uid) != each.uid]
        copies = again + [each for each in listed if not is_guid(each.guid) and each not in again]
        uid = box.uidnext
        for each, text in mail.texts(box.guid, copies):
            guid = _guid_of_copy(box, each)
            if guid not in guids:
                mail.save(box, uid, guid, each.received, text)
                uid += 1
        saved = {each.guid: each.uid for each in mail.messages(box) or ()} if copies else {}
        for each in copies:
            now = saved.get(_guid_of_copy(box, each))
            if now is not None:
                mail.change_flags("add", box.guid, [now], each.flags)
                mail.expunge(box.guid, [each.uid])
        return bool(copies)

    # Works

    def _perform(self, user: str, box: str, works: list[Work]) -> list[Result]:
        try:
            mail = self._mail(user)
            if are_of_boxes(works):
                return [self._change_boxes(mail, work) for work in works]
            self._undone.add((user, box))
            results = self._perform_in(mail, user, box, [work for work in works if isinstance(work, _OF_MESSAGES)])
            self._undone.discard((user, box))
            return results
        except _TROUBLE as error:
            return [failed(error)] * len(works)

    def _perform_in(self, mail: DoveadmMail, user: str, guid: str, works: list[BoxWork]) -> list[Result]:
        box, aside = mail.box(guid), self._aside(guid)
        texts = {work.guid: work.text for work in works if isinstance(work, AddMessage) and work.text}

        def find_text(message: str) -> bytes | None:
            return self._dropped(texts.get(message, "")) or self._text(mail, user, message)

        if box is None:
            return [without_box(work, aside, lambda add: find_text(add.guid)) for work in works]
        self._keep_copies(works, find_text)
        begin_flags(self.drop, guid, works)
        return DoveadmBoxWorks(mail, box, self._files, aside, find_text).perform(works)

    def _keep_copies(self, works: Sequence[BoxWork], find_text: Callable[[str], bytes | None]) -> None:
        """Which ops brought messages whose texts are here already, is known until their rows are committed."""
        copies = []
        for work in works:
            if isinstance(work, AddMessage) and work.at is not None and not is_of(work.text, work.guid):
                path = self._dropped(text_name(work.at, work.guid)) or find_text(work.guid)
                if path is not None:
                    copies.append((work.at, work.guid, path))
        if copies:
            self.drop.keep(copies)

    def _change_boxes(self, mail: DoveadmMail, work: Work) -> Result:
        if isinstance(work, RemoveBox):
            self._undone.discard((work.user, work.box))
        done = storable(work, self._layout)
        return told_of_name(self._change_list(mail, done), work, done)

    def _change_list(self, mail: DoveadmMail, work: Work) -> Result:
        match work:
            case MakeBox():
                self._make(mail, work)
            case RenameBox():
                box = mail.box(work.box)
                if box is not None:
                    _rename(mail, box, work.name)
            case RemoveBox():
                return DONE if self._remove(mail, work.box) else Result(Outcome.HAS_MAIL)
            case SubscribeBox():
                mail.subscribe(work.name, work.is_subscribed)
        return DONE

    def _make(self, mail: DoveadmMail, work: MakeBox) -> None:
        boxes = {box.guid: box for box in mail.boxes_or_none()}
        named = next((box for box in boxes.values() if box.name == work.name), None)
        mine = boxes.get(work.box)
        if mine is None:
            self.drop.begin_box(work.box.encode())
            if named is not None and named.name == INBOX and not named.messages:
                mail.update(INBOX, guid=work.box)
            else:
                _displace(mail, work.name)
                mail.create(work.box, work.name)
        else:
            _rename(mail, mine, work.name)
        made = _present(mail, work.box)
        if made.uidvalidity != work.uidvalidity or made.uidnext < work.uidnext:
            mail.update(made.name, uidvalidity=work.uidvalidity, uidnext=work.uidnext)

    def _remove(self, mail: DoveadmMail, guid: str) -> bool:
        """One that holds mail stays: nobody may know of it yet. INBOX has to be called otherwise first. Is it gone?"""
        box = mail.box(guid)
        if box is not None and box.messages:
            return False
        if box is not None and box.name == INBOX:
            mail.rename(INBOX, INBOX + mark(guid.encode()))
            box = box._replace(name=INBOX + mark(guid.encode()))
        is_gone = box is None or mail.delete_unless_mail(box)
        if is_gone:
            self._aside(guid).remove_all()
        return is_gone

    # Texts

    def _dropped(self, name: str) -> bytes | None:
        """The path of a text that came; None if it is not there."""
        path = self.drop.path(name) if name else b""
        return path if path and self._files.stat(path) is not None else None

    def _text(self, mail: DoveadmMail, user: str, guid: str) -> bytes | None:
        """The path of a message's text, from any mailbox, or from aside; None if it is nowhere."""
        path = self._texts.find(user, guid)
        if path is not None:
            return path
        for box, messages in mail.holding(guid).items():
            for message, text in mail.texts(box, messages[:1]):
                return self._texts.put(user, guid, text, message.received)
        asides = (self._aside(box.guid).path(guid) for box in mail.boxes())
        return next((path for path in asides if path is not None), None)

    def _aside(self, box: str) -> Aside:
        aside = self.drop.aside(box.encode())
        aside.load()
        return aside

    def _mail(self, user: str) -> DoveadmMail:
        return DoveadmMail(self._program, user, self._layout)


def _of_one_look(new: Iterable[DoveadmMessage]) -> Iterator[DoveadmMessage]:
    """The first new messages, by UID, whose texts are read now, at least one: the others have to wait for the next
    look, as works do for this one."""
    left = MOST_LOOKED_BYTES
    for each in new:
        if left <= 0:
            return
        left -= each.size + _LEAST_TEXT_BYTES
        yield each


def _present(mail: DoveadmMail, guid: str) -> DoveadmBox:
    box = mail.box(guid)
    if box is None:
        raise DoveadmError(f"Dovecot shows no mailbox with the GUID {guid}")
    return box


def _rename(mail: DoveadmMail, box: DoveadmBox, name: str) -> None:
    if box.name != name:
        _displace(mail, name)
        mail.rename(box.name, name)


def _displace(mail: DoveadmMail, name: str) -> None:
    """Free a name: a mailbox that has it is shown under another one, until its own rename is told."""
    other = next((box for box in mail.boxes_or_none() if box.name == name), None)
    if other is not None:
        mail.rename(name, fitted(mail.layout, name + mark(other.guid.encode()), other.guid))


def _folder(box: DoveadmBox, known: frozenset[str]) -> FoundFolder:
    if box.guid in known:
        return FoundFolder(box.name, box.guid)
    name = unmarked(box.name, box.guid.encode())
    return FoundFolder(name or box.name, box.guid, box.uidvalidity, box.messages > 0, is_aside=name is not None)


def _guid_of_copy(box: DoveadmBox, copy: DoveadmMessage) -> str:
    return guid_of_copy(box.guid.encode(), box.uidvalidity, copy.uid, from_text(copy.guid)).decode()
