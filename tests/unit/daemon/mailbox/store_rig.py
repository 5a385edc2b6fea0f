"""A Maildir store on the disk in memory, and what its tests say to it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.maildir.text_sums import sums_of
from pyrepl.mailbox.store import AddMessage, MakeBox, MendMessage, Outcome, Result, Work
from pyrepl.mailbox.words import Dot
from tests.unit.daemon.mailbox.model_disk import OWNER, ModelDisk

PATTERN: Final = "/mail/%u"
USER: Final = "alice"
HOME: Final = b"/mail/alice"
INBOX_ID: Final = f"{1:032x}"
WORK_ID: Final = f"{2:032x}"
ORIGIN: Final = "a"


def new_disk() -> ModelDisk:
    """With the root of the Maildirs."""
    disk = ModelDisk()
    disk.make_folders(b"/mail")
    return disk


def new_store(disk: ModelDisk, layout: str = "maildir++", is_new: bool = False) -> MaildirStore:
    """The store of a process that has just started."""
    place = MaildirsPlace(disk, PATTERN, OWNER)
    lock = UidlistLock(disk, b"host", lambda _: None, wait_s=2)
    store = MaildirStore(disk, place, LAYOUTS[layout], lock, ORIGIN, lambda _: None)
    store.prepare(is_new)
    return store


def make_box(box: str = INBOX_ID, name: str = "INBOX", uidvalidity: int = 7, uidnext: int = 1) -> MakeBox:
    return MakeBox(USER, box, name, uidvalidity, uidnext)


def dropped(store: MaildirStore, guid: str, text: bytes, seq: int = 1) -> str:
    """A text that has come from elsewhere; its name in the drop folder."""
    coming = store.drop.begin(Dot("b", seq), guid)
    coming.write(text)
    coming.finish(1_700_000_000, len(text), sums_of(text))
    return coming.name


def add(
    store: MaildirStore, guid: str, uid: int, text: bytes, flags: Sequence[str] = (), box: str = INBOX_ID
) -> AddMessage:
    """The work that puts a message into a mailbox; its text is dropped."""
    name = dropped(store, guid, text)
    return AddMessage(USER, box, guid, uid, tuple(flags), 1_700_000_000, len(text), name)


def mend(store: MaildirStore, guid: str, text: bytes, box: str = INBOX_ID) -> MendMessage:
    """The work that gives a message its text anew, which is dropped."""
    return MendMessage(USER, box, guid, len(text), dropped(store, guid, text))


def tell(store: MaildirStore, *works: Work) -> None:
    """Works that have to be done."""
    results = store.perform(works)
    assert [result.outcome for result in results] == [Outcome.DONE] * len(works), results


def outcomes(results: Sequence[Result]) -> list[Outcome]:
    return [result.outcome for result in results]


def content(disk: ModelDisk, store: MaildirStore, box: str = INBOX_ID) -> dict[int, tuple[str, Set[str], bytes]]:
    """UID -> GUID, flags, text of each message."""
    listing = store.listing(USER, box)
    assert listing.unlisted == frozenset()
    return {each.uid: (each.guid.decode(), each.flags, disk.read(each.path)) for each in listing.messages}
