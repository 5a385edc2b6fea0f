"""The folders of one user's mailboxes: which mailbox, by its GUID, lies where.

Not here: making and moving them (user_boxes.py), and the layouts (pyrepl.mailbox.maildir.layout).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.files import Files, folder_of
from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.message_files import CUR, NEW
from pyrepl.daemon.mailbox.uidlist_file import NAME, WRITE_ANEW, guid_in
from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir.layout import MOST_PARTS, Layout

TMP: Final = b"tmp"
SUBFOLDERS: Final = (CUR, NEW, TMP)
_TRASH: Final = b"..DOVECOT-TRASHED"
"""Where a Dovecot puts a folder that it is about to remove (Dovecot 2.3, maildir-storage.c): no mail may come there."""


class Place(NamedTuple):
    """A mailbox that was found: its name, GUID, and folder relative to the user's, b"" for INBOX."""

    name: str
    guid: bytes
    folder: bytes


@final
class UserFolders:
    """What lies below one user's folder. What was found is remembered, and looked for again when it is not there."""

    def __init__(self, files: Files, root: bytes, layout: Layout) -> None:
        """`root`: the user's folder, which is there."""
        self._files: Final = files
        self._layout: Final = layout
        self.root: Final = root
        self._known: dict[bytes, Place] = {}
        self._seen: Final[dict[bytes, Place]] = {}
        """Where each was found last, be it gone now."""
        self._unread: OSError | CorruptData | None = None
        """Why a folder is none of `_known`, as its list could not be read when all were looked for."""
        self._own_unread: OSError | CorruptData | None = None
        """So of one that belongs to whom the user's folder belongs to."""
        self.unnamed: tuple[bytes, ...] = ()
        """Folders with mail that no mailbox can have, as they were found last: their names cannot be said."""
        self.copied: tuple[bytes, ...] = ()
        """Folders with the GUID of a mailbox that lies elsewhere, as they were found last."""

    def path(self, folder: bytes) -> bytes:
        """The whole path of a folder that is relative to the user's."""
        return self.root + b"/" + folder if folder else self.root

    def find(self, guid: bytes) -> Place | None:
        """Where a mailbox lies; None if it is nowhere. Raises OSError, CorruptData, NotThere, as `check_missing`."""
        if not self._is_where_known(guid):
            self.scan()
            self.check_missing({guid})
        return self._known.get(guid)

    def find_own(self, guid: bytes) -> Place | None:
        """As `find`, but none is expected in a folder of another owner that cannot be read: something else lies there,
        as beside the mailboxes of a user whose home it is."""
        if not self._is_where_known(guid):
            self.scan()
            if self._own_unread is not None and guid not in self._known:
                raise self._own_unread.with_traceback(None)
        return self._known.get(guid)

    def _is_where_known(self, guid: bytes) -> bool:
        place = self._known.get(guid)
        return place is not None and guid_in(self._files, self.path(place.folder)) == guid

    def remember(self, names: Iterable[tuple[bytes, str]]) -> None:
        """What mailboxes are called, as the rows have it: where one lies that was not seen yet."""
        for guid, name in names:
            if guid not in self._seen and self._layout.why_not(name) is None:
                self._seen[guid] = Place(name, guid, self._layout.folder(name))

    def check_missing(self, guids: Set[bytes]) -> None:
        """Raises OSError, CorruptData, NotThere where one of these was not found, and is not gone: it may lie in a
        folder whose list cannot be read, or something of it is where it was seen."""
        missing = guids - self._known.keys()
        if missing and self._unread is not None:
            raise self._unread.with_traceback(None)
        for guid in missing & self._seen.keys():
            self._check_gone(self._seen[guid].folder)

    def _check_gone(self, folder: bytes) -> None:
        """Of INBOX's folder others say what is there."""
        path = self.path(folder)
        found = self._files.stat(path) if folder else None
        if found is None:
            return
        where = os.fsdecode(path)
        if not found.is_folder:
            raise NotThere(f"{where} is no folder: a mailbox has to lie there itself, not behind a link")
        names = self._files.names(path)
        if not names:
            raise NotThere(f"{where} is empty: is its disk mounted? If the mailbox was removed, remove the folder too")
        if NAME not in names and self.has_mail(path):
            raise NotThere(f"{where} has mail and no {NAME.decode()}: put the list back, or {WRITE_ANEW}")

    def scan(self) -> list[Place]:
        """All mailboxes that have a GUID, by name, of folders whose list can be read: `check_missing` tells what the
        others may be. Raises OSError.

        A GUID that two folders claim is that one's where it was seen; where that is not known, the other one's and not
        INBOX's: INBOX is moved by making a copy first. A mailbox whose folder got a name that cannot be said is there,
        under the name that it had.
        """
        self._known, self._unread, self._own_unread = {}, None, None
        unnamed, copied = [], []
        for folder in [b"", *sorted(self._folders())]:
            name = self._layout.name(folder)
            if name is None:
                unnamed += [folder] if self._is_folder(folder + b"/" + CUR) else []
            try:
                guid = guid_in(self._files, self.path(folder))
            except (OSError, CorruptData) as error:
                self._unread = self._unread or error
                is_own = name is not None and self._is_own(folder)
                self._own_unread = self._own_unread or (error if is_own else None)
                continue
            if guid is not None:
                copied += self._take(guid, name, folder)
        self._seen.update(self._known)
        self.unnamed, self.copied = tuple(unnamed), tuple(copied)
        return sorted(self._known.values())

    def _take(self, guid: bytes, name: str | None, folder: bytes) -> list[bytes]:
        """Which folder has this GUID too, and is not the mailbox's."""
        seen, other = self._seen.get(guid), self._known.get(guid)
        if name is None and (seen is None or other is not None):
            return []
        if seen is not None and other is not None and other.folder == seen.folder:
            return [folder]
        self._known[guid] = Place(seen.name if name is None and seen is not None else name or "", guid, folder)
        return [] if other is None else [other.folder]

    def watched(self) -> list[bytes]:
        """The folders in which mailboxes appear and go, and those that are to become some, as they have no GUID yet,
        relative to the user's. Raises OSError."""
        is_nested = self._layout.separator == "/"
        return [b"", *(each for each in self._folders() if is_nested or not self._has_list(each))]

    def forget(self, guid: bytes) -> None:
        """The folder of a mailbox was made, moved or removed."""
        self._known = {}
        self._seen.pop(guid, None)

    def has_mail(self, path: bytes) -> bool:
        """Does the mailbox in this folder, by its whole path, hold any? No mail's file has a dot before its name.
        Raises OSError."""
        there = self._files.names(path)
        files = (self._files.names(path + b"/" + name) for name in (CUR, NEW) if name in there)
        return any(not file.startswith(b".") for names in files for file in names)

    def is_there(self, folder: bytes) -> bool:
        return self._files.stat(self.path(folder)) is not None

    def has_children(self, folder: bytes) -> bool:
        """Are there folders of other mailboxes within this one? (fs alone)"""
        names = self._files.names(self.path(folder))
        return self._layout.separator == "/" and any(self.has_mailbox(folder, name) for name in names)

    def has_mailbox(self, folder: bytes, name: bytes) -> bool:
        """Is `name` within a mailbox's folder that of another mailbox, or of one above others? (fs alone)"""
        return self._layout.separator == "/" and self._is_child(folder, name)

    def make_parents(self, folder: bytes) -> None:
        """The folders above one, on disk when this returns. Raises OSError."""
        parent = folder_of(folder)
        if parent and not self.is_there(parent):
            self.make_parents(parent)
            with suppress(FileExistsError):
                self._files.make_folder(self.path(parent))
            self._files.sync(folder_of(self.path(parent)))

    def _folders(self) -> Iterator[bytes]:
        """Every folder that may be a mailbox's, relative to the user's."""
        if self._layout.separator == "/":
            yield from self._below(b"", 1)
            return
        for name in self._files.names(self.root):
            if name.startswith(b".") and name != _TRASH and self._is_folder(name):
                yield name

    def _below(self, folder: bytes, depth: int) -> Iterator[bytes]:
        for name in self._files.names(self.path(folder)) if depth <= MOST_PARTS else ():
            if self._is_child(folder, name):
                child = folder + b"/" + name if folder else name
                yield child
                yield from self._below(child, depth + 1)

    def _is_child(self, folder: bytes, name: bytes) -> bool:
        child = folder + b"/" + name if folder else name
        return name not in SUBFOLDERS and self._is_folder(child)

    def _has_list(self, folder: bytes) -> bool:
        """Does the list of a mailbox lie there, be it one that cannot be read?"""
        try:
            return guid_in(self._files, self.path(folder)) is not None
        except (OSError, CorruptData):
            return True

    def _is_own(self, folder: bytes) -> bool:
        found, root = self._files.stat(self.path(folder)), self._files.stat(self.root)
        return found is None or root is None or found.owner == root.owner

    def _is_folder(self, folder: bytes) -> bool:
        found = self._files.stat(self.path(folder))
        return found is not None and found.is_folder
