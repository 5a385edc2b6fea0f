"""The store of a node's messages in Maildirs, beside a Dovecot that needs to know nothing of it.

It is a MessageStore (pyrepl.mailbox.store). At a start: `prepare`, `stored` of each user, the works that follow from
that, a commit, then `clear`. Nothing is done, and
nothing is told as gone, while the Maildirs, the user's folder or a mailbox's own folders are not there.

Not here: rows, and who decides what is to be done. Every method waits for the disk: workers call them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar, final

from pyrepl.daemon.mailbox.box_gone import without_box
from pyrepl.daemon.mailbox.box_plan import BoxWork, FindText
from pyrepl.daemon.mailbox.drop_folder import BY_ALIGNING, DropFolder, is_of, shown_guid
from pyrepl.daemon.mailbox.files import Files
from pyrepl.daemon.mailbox.folder_listing import check_inbox, found_folders
from pyrepl.daemon.mailbox.fresh_texts import FreshTexts
from pyrepl.daemon.mailbox.keeper_link import NoKeeper
from pyrepl.daemon.mailbox.listing import Listing
from pyrepl.daemon.mailbox.look import Look
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace, NotThere
from pyrepl.daemon.mailbox.message_files import Change
from pyrepl.daemon.mailbox.one_folder import OtherBox
from pyrepl.daemon.mailbox.open_box import OpenBox
from pyrepl.daemon.mailbox.results import failed, storable, told_of_name
from pyrepl.daemon.mailbox.text_reading import read_text
from pyrepl.daemon.mailbox.uidlist_lock import LockBusy, UidlistLock
from pyrepl.daemon.mailbox.user_boxes import BoxGone, UserBoxes
from pyrepl.daemon.mailbox.user_folders import Place, SeenPlaces, TwoFolders, UserFolders
from pyrepl.daemon.mailbox.work_batches import begin_flags, perform_in_batches, settle
from pyrepl.errors import CorruptData
from pyrepl.mailbox.aligning import DRAFT, AlignOrder
from pyrepl.mailbox.folders import FolderOrder, FolderResult
from pyrepl.mailbox.gate_states import GateOrder, GateResult, GateWork
from pyrepl.mailbox.maildir.layout import Layout
from pyrepl.mailbox.rows import UNPLACED
from pyrepl.mailbox.scrubbing import NOT_THERE, ScrubOrder, TextRead
from pyrepl.mailbox.store import (
    BRINGING,
    DONE,
    AddMessage,
    MakeBox,
    MendMessage,
    Outcome,
    RemoveBox,
    RenameBox,
    Result,
    Stored,
    StoredBox,
    SubscribeBox,
    Work,
)
from pyrepl.mailbox.uids import UidBlocks
from pyrepl.mailbox.words import INBOX
from pyrepl.words import to_text

MOST_OPEN: Final = 100
"""Mailboxes, and users, that are remembered at once."""
TROUBLE: Final = (OSError, CorruptData, LockBusy, NotThere, OtherBox)
"""What a disk, or somebody else who writes there, makes impossible."""

T = TypeVar("T")


class GateKeeper(Protocol):
    """Who is told of gates."""

    def follow(self, box: str, folder: bytes) -> None:
        """A mailbox is to be watched: from before its gate is shut."""

    def follow_user(self, user: str, folder: bytes) -> None:
        """A folder in which mailboxes of a user come and go is to be watched."""

    def gone(self, box: str) -> None:
        """A mailbox is not here any more."""

    def open(self, box: str, gate: bytes) -> None:
        """The gate in this mailbox's folder is about to be opened: who reads the lock file is no news from now on."""

    def shut(self, gate: bytes) -> None:
        """It is shut."""

    def changes(self, gate: bytes) -> Sequence[Change] | None:
        """What came and went behind a gate since it was opened, or asked for last; None if that is not known."""


@final
class MaildirStore:
    """The Maildirs below one root. Used by one worker for all of a user's works."""

    def __init__(
        self,
        files: Files,
        place: MaildirsPlace,
        layout: Layout,
        lock: UidlistLock,
        origin: str,
        sleep: Callable[[float], None],
        keeper: GateKeeper | None = None,
        blocks: UidBlocks | None = None,
        seen: SeenPlaces | None = None,
    ) -> None:
        """`origin`: the node's name, as the marker at the root names it. With gates: `keeper`, and `blocks`, which say
        whose a UID is. `seen`: what all stores of the node have seen; None if this is the only one."""
        self._files: Final = files
        self._place: Final = place
        self._layout: Final = layout
        self._lock: Final = lock
        self._origin: Final = origin
        self._sleep: Final = sleep
        self._keeper: Final = keeper
        self._blocks: Final = blocks
        self._seen: Final = seen or SeenPlaces()
        self.fresh: Final = FreshTexts()
        """Texts that gates had read."""
        self.drop: Final = DropFolder(files, place.root)
        self._closing: Final[set[str]] = set()
        """Mailboxes whose gates are to be shut, and could not be yet."""
        self._users: OrderedDict[str, UserBoxes] = OrderedDict()
        self._inboxes: Final[dict[str, str]] = {}
        """User who is expected to have a folder -> the GUID of INBOX, "" if none is known."""
        self._open: OrderedDict[tuple[str, bytes], OpenBox] = OrderedDict()

    def prepare(self, is_new: bool) -> None:
        """At a start, before any work. `is_new`: the node has no data yet, so that its Maildirs are marked as here.
        Raises NotThere, OSError."""
        if is_new:
            self._place.prepare(self._origin)
        self._place.check(self._origin)
        self.drop.prepare()

    def clear(self, held: Mapping[str, int], owed: Set[str], own: str = "", uncompared: Set[str] | None = None) -> None:
        """What a crash left is dealt with, and its rows are committed. `held`: the vector; `owed`: texts that works
        need which are not done yet; `own` and `uncompared`: as DropFolder has them."""
        self.drop.clear(held, owed, own, uncompared)

    def expect(self, inboxes: Mapping[str, str]) -> None:
        """Users who have mailboxes: where a folder of theirs is missing, none is made. Each with the GUID of INBOX, ""
        for none."""
        self._inboxes.update(inboxes)

    def perform(self, works: Sequence[Work]) -> list[Result]:
        try:
            self.keep(works)
        except (NotThere, OSError) as error:
            return [failed(error, Outcome.NOT_THERE)] * len(works)
        return perform_in_batches(works, self._perform)

    def check(self, *, writes: bool) -> None:
        """The Maildirs of this node are there, and if `writes` their disk takes something. Raises NotThere, OSError."""
        self._place.check(self._origin)
        if writes:
            self.drop.probe()

    def keep(self, works: Sequence[Work]) -> None:
        """The texts that came for these works are on disk when this returns. Raises NotThere, OSError."""
        self._place.check(self._origin)
        self.drop.sync(work.text for work in works if isinstance(work, BRINGING) and work.text)

    def try_again(self, works: Sequence[Work]) -> list[Result]:
        """As `perform`, but no lock is waited for: others have works to do. A gate that could not be shut before is
        shut from now on: a Dovecot that sees what is written may not go on from there."""
        with self._lock.without_waiting(), self._lock.keeping():
            return self.perform(works)

    def stored(self, user: str) -> dict[str, StoredBox]:
        """Raises NotThere, OSError, CorruptData."""
        names, brought = set(self.subscribed(user)), self.drop.ops()
        boxes, found = self._asked(user), {}
        for place in boxes.places():
            listing, aside = self._with_box(user, boxes, place.guid, lambda box: (box.listing(), box.aside()))
            messages = {guid: Stored(UNPLACED, (), brought.get(shown_guid(guid))) for guid in aside}
            for each in listing.messages:
                guid = to_text(each.guid)
                messages[guid] = Stored(each.uid, tuple(sorted(each.flags)), brought.get(shown_guid(guid)))
            is_new, unsure = self.drop.is_new_box(place.guid), self.drop.new_flags(place.guid)
            what = (messages, is_new, unsure, listing.carried, listing.next_uid)
            found[place.guid.decode()] = StoredBox(place.name, place.name in names, *what)
        return found

    def remember(self, user: str, names: Mapping[str, str]) -> None:
        self._seen.remember(user, names, self._layout)

    def check_missing(self, user: str, boxes: Iterable[str]) -> None:
        """Raises NotThere, OSError, CorruptData."""
        self._boxes(user).check_missing(boxes)

    def has_text(self, user: str, guid: str) -> bool:
        """Raises NotThere, OSError, CorruptData."""
        return self.text(user, guid) is not None

    def gate(self, order: GateOrder) -> GateResult:
        """Do what a mailbox's gate needs. Its folder is watched before it is looked at, so nothing is missed. One that
        is to be shut is so at the latest when something is written there: Dovecot may not go on behind that."""
        (self._closing.add if order.work is GateWork.SHUT else self._closing.discard)(order.box)
        try:
            boxes = self._asked(order.user)
            with self._lock.briefly():
                return self._with_box(order.user, boxes, order.box.encode(), lambda box: self._gate(box, order))
        except LockBusy:
            return GateResult(is_busy=True)
        except BoxGone as error:
            return GateResult(why=str(error), is_gone=True, is_shut=True)
        except (*TROUBLE, NoKeeper) as error:
            # One that may lie in each of two folders has a gate in both, of which none was shut.
            is_nowhere = isinstance(error, NotThere | FileNotFoundError) and not isinstance(error, TwoFolders)
            return GateResult(why=failed(error).reason, is_shut=is_nowhere)

    def _gate(self, box: OpenBox, order: GateOrder) -> GateResult:
        assert self._keeper is not None, "a store without gates"
        keep = partial(self.fresh.put, order.user)
        look = Look(order.since, order.may_list, order.is_whole, order.wanted, keep)
        if order.work is GateWork.GLANCE:
            return GateResult(box.glance(look, partial(self._keeper.changes, box.folder)))
        if order.work is GateWork.LOOK:
            return GateResult(box.look(look))
        if order.work is GateWork.OPEN:
            self._keeper.open(order.box, box.folder)
            box.open_gate(order.uidnext)
            return GateResult()
        self._keeper.follow(order.box, box.folder)
        was_open = box.shut_gate()
        self._keeper.shut(box.folder)
        self._closing.discard(order.box)
        try:
            return GateResult(box.found(look), was_open=was_open)
        except (OtherBox, FileNotFoundError):
            raise
        except TROUBLE as error:
            return GateResult(why=failed(error).reason, was_open=was_open, is_shut=True)

    def folders(self, order: FolderOrder) -> FolderResult:
        """Which mailboxes a user has, and what is subscribed."""
        assert self._keeper is not None, "a store without gates"
        try:
            boxes = self._asked(order.user)
            self.remember(order.user, dict(order.names))
            found = found_folders(self._files, boxes, order, self._keeper.follow_user)
            for each in found.boxes:
                if each.name == INBOX and each.box in order.known:
                    self._inboxes[order.user] = each.box
            if order.known <= {each.box for each in found.boxes}:
                # All works are done, so nobody is about to make an INBOX; and it is not missing by accident.
                boxes.free_inbox()
            return FolderResult(found)
        except TROUBLE as error:
            return FolderResult(why=failed(error).reason)

    def begin_align(self, order: AlignOrder) -> None:
        """A flag of messages is about to be changed, and changed back, by Dovecot. Raises OSError."""
        changing = [(each.guid, frozenset({DRAFT.lower()})) for each in order.messages]
        self.drop.begin_flags(order.box.encode(), changing, BY_ALIGNING)

    def end_align(self, order: AlignOrder) -> None:
        """It was changed back, and all rows are committed. Raises OSError."""
        self.drop.remove_flags(order.box.encode(), BY_ALIGNING)

    def settle(self, works: Sequence[Work]) -> None:
        """Raises OSError."""
        settle(self.drop, works)

    def users(self) -> list[str]:
        """Who has a folder here. Raises NotThere, OSError."""
        self._place.check(self._origin)
        return self._place.users()

    def boxes(self, user: str) -> list[Place]:
        """The user's mailboxes, by name, whose lists can be read. Raises NotThere, OSError."""
        return self._asked(user).places()

    def subscribed(self, user: str) -> tuple[str, ...]:
        """The names that the user has subscribed. Raises NotThere, OSError."""
        return self._asked(user).subscribed()

    def listing(self, user: str, guid: str) -> Listing:
        """What one mailbox holds. Raises NotThere, OSError, CorruptData: never an empty one for what is missing."""
        boxes = self._asked(user)
        return self._with_box(user, boxes, guid.encode(), lambda box: box.listing())

    def scrub(self, order: ScrubOrder) -> tuple[TextRead, ...]:
        """Read texts and compare them with their checksums. What cannot be looked for now counts as not there."""
        guids = [piece.guid for piece in order.pieces]
        try:
            boxes = self._asked(order.user)
            paths = self._with_box(order.user, boxes, order.box.encode(), lambda box: box.texts(guids))
        except TROUBLE:
            return (NOT_THERE,) * len(guids)
        return tuple(read_text(self._files, path, piece) for path, piece in zip(paths, order.pieces, strict=True))

    def text(self, user: str, guid: str, but: bytes = b"") -> bytes | None:
        """As `texts`, of one message; None if it is nowhere."""
        return self.texts(user, [guid], but).get(guid)

    def texts(self, user: str, guids: Iterable[str], but: bytes = b"", first: bytes = b"") -> dict[str, bytes]:
        """The paths of messages' texts, from any mailbox of the user but the one with the GUID `but`; where they are
        most likely, in `first`, if that is said. Raises NotThere, OSError, CorruptData."""
        boxes, wanted, passed = self._asked(user), list(guids), {but}
        found: dict[str, bytes] = {}

        def look(box: bytes) -> None:
            nonlocal wanted
            paths = self._with_box(user, boxes, box, partial(OpenBox.texts, guids=wanted))
            found.update({guid: path for guid, path in zip(wanted, paths, strict=True) if path is not None})
            wanted = [guid for guid in wanted if guid not in found]

        if not first:
            # Who asks for many texts asks for those of one mailbox after the other.
            first = next((box for name, box in reversed(self._open) if name == user and box != but), b"")
        if first and wanted:
            with suppress(*TROUBLE):
                look(first)
                passed.add(first)
        for place in boxes.places() if wanted else ():
            if wanted and place.guid not in passed:
                look(place.guid)
        return found

    def readable_text(self, user: str, guid: str, box: str) -> bytes | None:
        """As `text`, and `box` is looked at first; where that cannot be read, or its mailbox was not written yet, as it
        came. Raises OSError, CorruptData, LockBusy, NotThere."""
        try:
            found = self.texts(user, [guid], first=box.encode()).get(guid)
        except TROUBLE:
            found = self.drop.find(guid)
            if found is None:
                raise
        return found or self.drop.find(guid)

    def _perform(self, user: str, box: str, works: list[Work]) -> list[Result]:
        try:
            if user not in self._inboxes and any(isinstance(work, MakeBox) for work in works):
                self._place.make(user)
                self._inboxes[user] = ""
            boxes = self._boxes(user)
            own = [work for work in works if not isinstance(work, MakeBox | RenameBox | RemoveBox | SubscribeBox)]
            if own:
                results = self._perform_in(user, boxes, box.encode(), own)
                is_gone = results[-1].outcome is Outcome.FAILED and not boxes.has(box.encode())
                return self._perform_without(user, boxes, box.encode(), own) if is_gone else results
            return [self._change_boxes(user, boxes, work) for work in works]
        except (*TROUBLE, NoKeeper) as error:
            return [failed(error)] * len(works)

    def _perform_in(self, user: str, boxes: UserBoxes, guid: bytes, works: list[BoxWork]) -> list[Result]:
        without = (work.guid for work in works if isinstance(work, AddMessage) and not work.text)
        elsewhere = self.texts(user, without, but=guid)

        def find_text(work: AddMessage | MendMessage) -> bytes | None:
            return self._find_text(user, guid, work) if work.text else elsewhere.get(work.guid)

        copies = [
            (work.at, work.guid, path)
            for work in works
            if isinstance(work, AddMessage) and work.at is not None and not is_of(work.text, work.guid)
            if (path := find_text(work)) is not None
        ]
        if copies:
            self.drop.keep(copies)

        begin_flags(self.drop, guid.decode(), works)
        try:
            with self._lock.keeping(guid.decode() in self._closing):
                results = self._with_box(user, boxes, guid, lambda box: self._perform_gated(box, works, find_text))
        except BoxGone as error:
            results = [failed(error)] * len(works)
        if any(result.outcome is Outcome.FAILED for result in results):
            self._open.pop((user, guid), None)
        return results

    def _perform_gated(self, box: OpenBox, works: list[BoxWork], find_text: FindText) -> list[Result]:
        """What came may have shut the gate."""
        was_shut = self._keeper is None or self._lock.is_shut(box.folder)
        results = box.perform(works, find_text)
        if self._keeper is not None and not was_shut and self._lock.is_shut(box.folder):
            self._keeper.shut(box.folder)
        return results

    def _find_text(self, user: str, guid: bytes, work: AddMessage | MendMessage) -> bytes | None:
        """Where it was dropped; or another mailbox than `guid` has it, which may be the damaged one."""
        dropped = self.drop.path(work.text) if work.text else b""
        found = self._files.stat(dropped) if work.text else None
        if found and found.size == work.size:
            return dropped
        return self.text(user, work.guid, but=guid) if isinstance(work, AddMessage) else None

    def _perform_without(self, user: str, boxes: UserBoxes, guid: bytes, works: Sequence[BoxWork]) -> list[Result]:
        """A mailbox has no folder. Beside a Dovecot its client has deleted it, as will be seen: what comes there
        meanwhile is kept aside, since the client did not know of it. But nobody can delete INBOX. Raises NotThere,
        OSError, CorruptData."""
        if self._keeper is None:
            boxes.open(guid)
        check_inbox(self._files, boxes.root)
        if self._inboxes.get(user) == guid.decode():
            raise NotThere(
                f"another INBOX is in the place of that of {user}: a client of Dovecot has made it while the mail was"
                " away. Put the mail back in its place"
            )
        aside = self.drop.aside(guid)
        aside.load()
        return [without_box(work, aside, lambda add: self._find_text(user, guid, add)) for work in works]

    def _follow_moved(self, user: str, boxes: UserBoxes, guid: bytes) -> None:
        """A mailbox was made, or has another folder: from now on it is opened and watched there, and the keeper knows
        its gate there, shut or open as its lock is. A lock of ours that a client's rename took along goes. Raises
        OSError, NotThere, NoKeeper, LockBusy."""
        self._open.pop((user, guid), None)
        if self._keeper is not None:
            folder = boxes.open(guid).folder
            self._lock.take(folder)
            self._lock.release(folder)
            self._keeper.follow(guid.decode(), folder)
            if self._lock.is_shut(folder):
                self._keeper.shut(folder)
            else:
                self._keeper.open(guid.decode(), folder)

    def _change_boxes(self, user: str, boxes: UserBoxes, work: Work) -> Result:
        self._open.pop((user, work.box.encode()), None)
        done = storable(work, self._layout)
        result = told_of_name(self._change_list(user, boxes, done), work, done)
        if isinstance(work, MakeBox | RenameBox) and work.name == INBOX:
            self._inboxes[user] = work.box
        elif isinstance(work, RemoveBox | RenameBox) and self._inboxes.get(user) == work.box:
            self._inboxes[user] = ""
        return result

    def _change_list(self, user: str, boxes: UserBoxes, work: Work) -> Result:
        moved = partial(self._follow_moved, user, boxes)
        match work:
            case MakeBox():
                boxes.make(work, moved)
            case RenameBox() if self._keeper is None or boxes.has(work.box.encode()):
                boxes.rename(work.box.encode(), work.name, moved)
            case RemoveBox() if self._keeper is not None:
                if not boxes.remove_unless_mail(work.box.encode()):
                    return Result(Outcome.HAS_MAIL)
                self._keeper.gone(work.box)
            case RemoveBox():
                boxes.remove(work.box.encode())
            case SubscribeBox():
                boxes.subscribe(work.name, work.is_subscribed)
        return DONE

    def _with_box(self, user: str, boxes: UserBoxes, guid: bytes, use: Callable[[OpenBox], T]) -> T:
        """Use an open mailbox; where its folder is another's by now, look for it once more."""
        key = (user, guid)
        try:
            found = _remembered(self._open, key, lambda: boxes.open(guid))
            return use(found)
        except (OtherBox, FileNotFoundError):
            self._open.pop(key, None)
            return use(_remembered(self._open, key, lambda: boxes.open(guid)))

    def _asked(self, user: str) -> UserBoxes:
        self._place.check(self._origin)
        return self._boxes(user)

    def _boxes(self, user: str) -> UserBoxes:
        root = self._place.present(user)
        return _remembered(self._users, user, lambda: self._new_boxes(user, root))

    def _new_boxes(self, user: str, root: bytes) -> UserBoxes:
        folders = UserFolders(self._files, root, self._layout, self._seen.of(user))
        return UserBoxes(self._files, folders, self._layout, self.drop, self._lock, self._sleep, self._blocks)


K = TypeVar("K")


def _remembered(known: OrderedDict[K, T], key: K, make: Callable[[], T]) -> T:
    """What is remembered under a key, or is made now; the one that was not used for longest is forgotten."""
    if key not in known:
        known[key] = make()
        if len(known) > MOST_OPEN:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]
