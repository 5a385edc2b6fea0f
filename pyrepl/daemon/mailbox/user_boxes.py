"""The mailboxes of one user: made, renamed, removed, subscribed.

A mailbox is made whole beside the Maildirs and then renamed into its place, so that Dovecot never sees half of one; it
goes the other way round. INBOX is the user's folder itself and cannot be renamed: a copy of hard links is made in the
new place, then INBOX is emptied of what the copy has. A name that another mailbox has is taken from it: that one is
shown as `name (GUID)` until its own rename is told.

A lock that is kept (uidlist_lock.py) stays so wherever its mailbox goes.

Every step may be told again after a crash. Not here: messages (open_box.py), and what is subscribed
(subscription_file.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from functools import partial
from typing import Final, final

from pyrepl.daemon.mailbox import box_keywords, uidlist_file
from pyrepl.daemon.mailbox.box_move import bases_in, link_over, move_over
from pyrepl.daemon.mailbox.drop_folder import DropFolder
from pyrepl.daemon.mailbox.files import Files, folder_of, remove_tree, replace
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.message_files import CUR, NEW
from pyrepl.daemon.mailbox.open_box import OpenBox
from pyrepl.daemon.mailbox.subscription_file import SubscriptionFile
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.daemon.mailbox.user_folders import SUBFOLDERS, Place, UserFolders
from pyrepl.mailbox.maildir import fitting
from pyrepl.mailbox.maildir.filename import base_of
from pyrepl.mailbox.maildir.fitting import fitted
from pyrepl.mailbox.maildir.layout import Layout
from pyrepl.mailbox.store import MakeBox, Outcome, RaiseNext
from pyrepl.mailbox.uids import UidBlocks

_MAILDIRFOLDER: Final = b"maildirfolder"


class BoxGone(NotThere):
    """A mailbox has no folder."""


@final
class UserBoxes:
    """One user's. Its methods raise OSError, CorruptData, LockBusy, NotThere."""

    def __init__(
        self,
        files: Files,
        folders: UserFolders,
        layout: Layout,
        drop: DropFolder,
        lock: UidlistLock,
        sleep: Callable[[float], None],
        blocks: UidBlocks | None = None,
    ) -> None:
        """`blocks`: which UIDs are whose, None without gates."""
        self._files: Final = files
        self._folders: Final = folders
        self._layout: Final = layout
        self._drop: Final = drop
        self._lock: Final = lock
        self._subscriptions: Final = SubscriptionFile(files, folders.root, layout.separator, sleep)
        self._blocks: Final = blocks

    def open(self, guid: bytes) -> OpenBox:
        """The mailbox with this GUID. BoxGone if it has no folder."""
        place = self._folders.find(guid)
        if place is None:
            where = os.fsdecode(self._folders.root)
            raise BoxGone(f"no folder in {where} holds the mailbox {guid.decode()}: was it removed by hand?")
        what = self._lock, self._drop.aside(guid), self._blocks
        return OpenBox(self._files, self._folders.path(place.folder), guid, *what)

    def has(self, guid: bytes) -> bool:
        """Has the mailbox a folder?"""
        return self._folders.find(guid) is not None

    def make(self, work: MakeBox, moved: Callable[[bytes], None]) -> None:
        """What MakeBox says: if it is there already, what differs is changed. `moved` is told of each mailbox that has
        another folder now, before anything else can fail, and of this one."""
        guid = work.box.encode()
        place = self._folders.find_own(guid)
        if place is None:
            self._make_new(guid, work, self._wanted(work.name), moved)
            moved(guid)
        elif place.folder != self._wanted(work.name):
            self.rename(guid, work.name, moved)
        else:
            moved(guid)
        box = self.open(guid)
        box.load()
        if box.uidvalidity != work.uidvalidity:
            box.set_uidvalidity(work.uidvalidity)
        if box.next_uid < work.uidnext:
            [result] = box.perform([RaiseNext(work.user, work.box, work.uidnext)], lambda _: None)
            if result.outcome is Outcome.FAILED:
                raise OSError(result.reason)

    def rename(self, guid: bytes, name: str, moved: Callable[[bytes], None]) -> None:
        """Give the mailbox another name. `moved` as `make` has it."""
        place, target = self._folders.find(guid), self._wanted(name)
        if place is None:
            raise BoxGone(f"the mailbox {guid.decode()} has no folder that could be renamed to {name}")
        if place.folder != target:
            self._displace(target, guid, moved)
        if place.folder not in (b"", target):
            self._folders.make_parents(target)
            self._move_locked(place.folder, target)
        elif target and uidlist_file.guid_in(self._files, self._folders.path(target)) != guid:
            self._copy_out(guid, target)
        if target and uidlist_file.guid_in(self._files, self._folders.root) == guid:
            # Its copy is there, be it one that was made before a crash.
            self._empty_inbox(bases_in(self._files, self._folders.path(target)))
        self._folders.lies(Place(name, guid, target))
        moved(guid)

    def free_inbox(self) -> None:
        """A lock that was kept in INBOX's folder is kept no longer if no mailbox is there any more: nobody would open
        it, and no Dovecot could make one."""
        if self._files.stat(self._folders.path(uidlist_file.NAME)) is None:
            self._lock.open(self._folders.root)

    def remove_unless_mail(self, guid: bytes) -> bool:
        """As `remove`, but one that holds mail stays, as beside a Dovecot nobody may know of it yet. Is it gone?"""
        place = self._folders.find_own(guid)
        if place is None:
            self.remove(guid)
            return True
        path = self.path(place)
        self._lock.take(path)
        try:
            is_gone = not self.has_mail(path) and self._remove_empty(place)
        finally:
            self._lock.release(path)
        if not place.folder:
            self.free_inbox()
        return is_gone

    def _remove_empty(self, place: Place) -> bool:
        """Remove a mailbox that was seen without mail. A delivery needs no lock, so one may have come since: it stays
        in INBOX's folder for whose INBOX it is next; another mailbox is looked at again where nobody delivers any more,
        and stays with its mail."""
        if not place.folder:
            self._clear_inbox(frozenset())
        else:
            away = self._move_away(place)
            if self.has_mail(away):
                self._move_back(away, self.path(place))
                self._folders.lies(place)
                return False
            remove_tree(self._files, away)
        self._drop.aside(place.guid).remove_all()
        self._folders.forget(place.guid)
        return True

    def remove(self, guid: bytes) -> None:
        """The mailbox goes with all that it holds; what is gone already is well."""
        self._drop.aside(guid).remove_all()
        place = self._folders.find_own(guid)
        if place is None:
            self._folders.forget(guid)
            return
        if not place.folder:
            self._empty_inbox(None)
        else:
            remove_tree(self._files, self._move_away(place))
        self._folders.forget(guid)

    def _move_away(self, place: Place) -> bytes:
        """A mailbox is in no user's folder any more: where it lies instead."""
        away = self._drop.folder_path(b"gone", place.guid)
        remove_tree(self._files, away)
        self._move(place.folder, away)
        return away

    def _move_back(self, away: bytes, path: bytes) -> None:
        with suppress(FileExistsError):
            self._files.make_folder(path)
        move_over(self._files, away, path)
        self._files.sync(folder_of(path))

    def subscribe(self, name: str, is_subscribed: bool) -> None:
        """Put a name into the list of subscriptions, or take it out."""
        self._subscriptions.change(name, is_subscribed)

    def subscribed(self) -> tuple[str, ...]:
        """The names that are subscribed."""
        return self._subscriptions.names()

    @property
    def root(self) -> bytes:
        """The user's folder, which is INBOX's."""
        return self._folders.root

    def path(self, place: Place) -> bytes:
        """The folder of a mailbox."""
        return self._folders.path(place.folder)

    def folders(self) -> list[bytes]:
        """Where mailboxes appear and go."""
        return [self._folders.path(folder) for folder in self._folders.watched()]

    def has_mail(self, path: bytes) -> bool:
        """Does the mailbox in this folder hold any?"""
        return self._folders.has_mail(path)

    def places(self) -> list[Place]:
        """All mailboxes, by name, whose lists can be read. Raises OSError."""
        return self._folders.scan()

    def check_missing(self, guids: Iterable[str]) -> None:
        """Raises OSError, CorruptData, NotThere where `places` did not find one of these, and it is not gone."""
        self._folders.check_missing({guid.encode() for guid in guids})

    def unnamed(self) -> tuple[bytes, ...]:
        """Folders with mail that are no mailbox of ours, as `places` found them last."""
        return self._folders.unnamed

    def copied(self) -> tuple[bytes, ...]:
        """Folders with the GUID of a mailbox that lies elsewhere, as `places` found them last."""
        return self._folders.copied

    def _wanted(self, name: str) -> bytes:
        why_not = self._layout.why_not(name)
        if why_not is not None:
            raise NotThere(f"the mailbox {name!r} cannot have a folder: {why_not}")
        return self._layout.folder(name)

    def _make_new(self, guid: bytes, work: MakeBox, target: bytes, moved: Callable[[bytes], None]) -> None:
        self._displace(target, guid, moved)
        self._drop.begin_box(guid)
        if not target or self._folders.is_there(target):
            self._complete(self._folders.path(target), guid, work.uidvalidity, work.uidnext)
        else:
            made = self._drop.folder_path(b"box", guid)
            remove_tree(self._files, made)
            self._files.make_folder(made)
            self._complete(made, guid, work.uidvalidity, work.uidnext)
            self._folders.make_parents(target)
            self._put(made, target)
        self._folders.lies(Place(work.name, guid, target))

    def _complete(self, path: bytes, guid: bytes, uidvalidity: int, uidnext: int) -> None:
        """Make a folder that is there a mailbox; uidlist comes last, as it is what makes it one. Until the node has the
        mastership no Dovecot may give out a UID there, be it the first."""
        for name in SUBFOLDERS:
            with suppress(FileExistsError):
                self._files.make_folder(path + b"/" + name)
        if path != self._folders.root:
            with suppress(FileExistsError):
                self._files.write_new(path + b"/" + _MAILDIRFOLDER, b"")
        self._lock.shut_new(path)
        self._files.sync(path)
        uidlist_file.create(self._files, path, uidvalidity, guid, uidnext)

    def _displace(self, target: bytes, guid: bytes, moved: Callable[[bytes], None]) -> None:
        """Free a folder for the mailbox `guid`: another one that lies there is shown under another name."""
        other = uidlist_file.guid_in(self._files, self._folders.path(target))
        if other is None or other == guid:
            return
        found = self._folders.find(other)
        if not target and not self.has_mail(self._folders.root):
            self._empty_inbox(frozenset())
        elif found is not None and found.folder == target:
            name = fitted(self._layout, found.name + mark(other), other.decode())
            if self._wanted(name) == target:
                raise NotThere(f"two mailboxes would be called {name}: rename one of them")
            self.rename(other, name, moved)
        elif not target:
            self._empty_inbox(frozenset() if found is None else bases_in(self._files, self.path(found)))

    def _move_locked(self, folder: bytes, target: bytes) -> None:
        """A Dovecot that is about to change something finishes first: it would not find its lock any more."""
        old, new = self._folders.path(folder), self._folders.path(target)
        self._lock.take(old)
        try:
            self._move(folder, new)
        finally:
            self._lock.release(old, moved_to=new)

    def _move(self, folder: bytes, new: bytes) -> None:
        """A mailbox's folder to the path `new`; where that is there, or others lie within, its own files alone. An
        empty folder that would be left goes: Dovecot shows it to clients as a mailbox."""
        old = self._folders.path(folder)
        is_within = new.startswith(old + b"/")
        if self._files.stat(new) is None and not is_within and not self._folders.has_children(folder):
            self._files.rename(old, new)
        else:
            with suppress(FileExistsError):
                self._files.make_folder(new)
            if new == self._folders.root:
                # It says that a folder is not a user's own.
                with suppress(FileNotFoundError):
                    self._files.unlink(old + b"/" + _MAILDIRFOLDER)
            move_over(self._files, old, new, partial(self._folders.has_mailbox, folder))
        for path in {folder_of(old), folder_of(new)}:
            self._files.sync(path)

    def _put(self, made: bytes, target: bytes) -> None:
        self._files.sync(made)
        self._files.rename(made, self._folders.path(target))
        self._files.sync(folder_of(self._folders.path(target)))

    def _copy_out(self, guid: bytes, target: bytes) -> None:
        """Make a mailbox in another place that holds what INBOX does: by hard links, and copies of its lists. Where
        something is there already, as mail or other mailboxes below, it is made within that, and has all of it."""
        inbox, is_there = self._folders.root, self._folders.is_there(target)
        made = self._folders.path(target) if is_there else self._drop.folder_path(b"box", guid)
        self._lock.take(inbox)
        try:
            if not is_there:
                remove_tree(self._files, made)
                self._files.make_folder(made)
            for name in SUBFOLDERS:
                with suppress(FileExistsError):
                    self._files.make_folder(made + b"/" + name)
            link_over(self._files, inbox, made)
            if self._lock.is_shut(inbox):
                self._lock.shut_new(made)
            for name in (_MAILDIRFOLDER, box_keywords.NAME, uidlist_file.NAME):
                found = self._files.stat(inbox + b"/" + name)
                data = self._files.read(inbox + b"/" + name) if found else b""
                replace(self._files, made + b"/" + name, data, made + b"/" + name + b".tmp")
            if not is_there:
                self._folders.make_parents(target)
                self._put(made, target)
        finally:
            self._lock.release(inbox)

    def _empty_inbox(self, gone: Set[bytes] | None) -> None:
        """INBOX is no mailbox any more, until one is made there. Of its messages those go with it whose bases are
        `gone`, None for all: others have just come, and are whose INBOX it is next."""
        inbox = self._folders.root
        self._lock.take(inbox)
        try:
            self._clear_inbox(gone)
        finally:
            self._lock.release(inbox)

    def _clear_inbox(self, gone: Set[bytes] | None) -> None:
        """As `_empty_inbox`, by who has its lock."""
        inbox = self._folders.root
        for name in (CUR, NEW):
            for file in self._files.names(inbox + b"/" + name):
                if gone is None or base_of(file) in gone:
                    self._files.unlink(inbox + b"/" + name + b"/" + file)
        for file in (box_keywords.NAME, uidlist_file.NAME):
            with suppress(FileNotFoundError):
                self._files.unlink(inbox + b"/" + file)
        self._files.sync(inbox)


def name_before(place: Place) -> str | None:
    """What a mailbox was called whose name was taken from it; None if it has its own."""
    return unmarked(place.name, place.guid)


def unmarked(name: str, guid: bytes) -> str | None:
    """As `name_before`, of the mailbox with this name and GUID."""
    return name.removesuffix(mark(guid)) if name.endswith(mark(guid)) else None


def mark(guid: bytes) -> str:
    """What is put behind the name of a mailbox whose name is taken from it."""
    return fitting.mark(guid.decode())
