"""The folders of one user's mailboxes: which mailbox, by its GUID, lies where.

Not here: making and moving them (user_boxes.py), and the layouts (pyrepl.mailbox.maildir.layout).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
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


class TwoFolders(NotThere):
    """Nothing tells which of some folders with one GUID is the mailbox's."""


class _Claim(NamedTuple):
    """A folder with a mailbox's GUID; no name if it cannot be said."""

    name: str | None
    folder: bytes


@final
class SeenPlaces:
    """Where each mailbox of each user was seen last, be it gone now; until it was seen, where it lies by what the rows
    call it. It tells a mailbox's folder from a copy, so it is kept until the mailbox is removed, and all stores of a
    node have one: a user is one store's alone, but for the start, when the first one sees all."""

    def __init__(self) -> None:
        self._of: Final[dict[str, dict[bytes, Place]]] = {}

    def of(self, user: str) -> dict[bytes, Place]:
        """The user's, by GUID; whoever looks or moves mailboxes changes it."""
        return self._of.setdefault(user, {})

    def remember(self, user: str, names: Mapping[str, str], layout: Layout) -> None:
        """What the user's mailboxes are called, by GUID, as the rows have it."""
        seen = self.of(user)
        for guid, name in names.items():
            if guid.encode() not in seen and layout.why_not(name) is None:
                seen[guid.encode()] = Place(name, guid.encode(), layout.folder(name))


@final
class UserFolders:
    """What lies below one user's folder. What was found is remembered, and looked for again when it is not there."""

    def __init__(self, files: Files, root: bytes, layout: Layout, seen: dict[bytes, Place]) -> None:
        """`root`: the user's folder, which is there. `seen`: the user's of SeenPlaces."""
        self._files: Final = files
        self._layout: Final = layout
        self.root: Final = root
        self._known: dict[bytes, Place] = {}
        self._seen: Final = seen
        self._unsure: dict[bytes, Exception] = {}
        """Mailbox that is none of `_known`, though folders have its GUID -> why none of them is its own."""
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
            self._check_sure(guid)
            if self._own_unread is not None and guid not in self._known:
                raise self._own_unread.with_traceback(None)
        return self._known.get(guid)

    def _is_where_known(self, guid: bytes) -> bool:
        place = self._known.get(guid)
        return place is not None and guid_in(self._files, self.path(place.folder)) == guid

    def check_missing(self, guids: Set[bytes]) -> None:
        """Raises OSError, CorruptData, NotThere where one of these was not found, and is not gone: it may lie in a
        folder whose list cannot be read, or something of it is where it was seen, or nothing tells its folder from a
        copy."""
        missing = guids - self._known.keys()
        for guid in missing:
            self._check_sure(guid)
        if missing and self._unread is not None:
            raise self._unread.with_traceback(None)
        for guid in missing & self._seen.keys():
            self._check_gone(self._seen[guid].folder)

    def _check_sure(self, guid: bytes) -> None:
        if guid in self._unsure:
            raise self._unsure[guid].with_traceback(None)

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

        Of folders that claim one GUID that one is the mailbox where it was seen. A mailbox has moved if the only one
        lies elsewhere, or the only one besides INBOX, which is moved by making a copy first; but not while something of
        it is where it was seen. Else nothing tells which it is, and it is none of them. A mailbox whose folder got a
        name that cannot be said is there, under the name that it had.
        """
        self._known, self._unsure, self._unread, self._own_unread = {}, {}, None, None
        unnamed = []
        claims: dict[bytes, list[_Claim]] = {}
        unread: dict[bytes, OSError | CorruptData] = {}
        for folder in [b"", *sorted(self._folders())]:
            name = self._layout.name(folder)
            if name is None:
                unnamed += [folder] if self._is_folder(folder + b"/" + CUR) else []
            try:
                guid = guid_in(self._files, self.path(folder))
            except (OSError, CorruptData) as error:
                unread[folder] = error
                self._unread = self._unread or error
                is_own = name is not None and self._is_own(folder)
                self._own_unread = self._own_unread or (error if is_own else None)
                continue
            if guid is not None:
                claims.setdefault(guid, []).append(_Claim(name, folder))
        copied = [folder for guid, those in claims.items() for folder in self._choose(guid, those, unread)]
        self._seen.update(self._known)
        self.unnamed, self.copied = tuple(unnamed), tuple(sorted(copied))
        return sorted(self._known.values())

    def _choose(self, guid: bytes, claims: Sequence[_Claim], unread: Mapping[bytes, Exception]) -> list[bytes]:
        """Which of these folders is the mailbox; those that are not, as they are told."""
        seen, named = self._seen.get(guid), [each for each in claims if each.name is not None]
        chosen = next((each for each in claims if seen is not None and each.folder == seen.folder), None)
        likely = named or (claims if seen is not None else [])
        if chosen is None and likely:
            try:
                chosen = self._moved_to(guid, likely, unread)
            except (OSError, CorruptData, NotThere) as error:
                self._unsure[guid] = error
        if chosen is not None:
            name = seen.name if chosen.name is None and seen is not None else chosen.name
            self._known[guid] = Place(name or "", guid, chosen.folder)
        return [each.folder for each in named if each is not chosen]

    def _moved_to(self, guid: bytes, likely: Sequence[_Claim], unread: Mapping[bytes, Exception]) -> _Claim:
        """Which folder a mailbox has that is not where it was seen, if it was. Raises TwoFolders, NotThere, OSError,
        CorruptData where that cannot be told."""
        seen = self._seen.get(guid)
        if seen is not None and seen.folder in unread:
            raise unread[seen.folder]
        if seen is not None:
            self._check_gone(seen.folder)
        others = [each for each in likely if each.folder or len(likely) == 1]
        if len(others) == 1:
            return others[0]
        where = " and ".join(os.fsdecode(self.path(each.folder)) for each in others)
        raise TwoFolders(
            f"{where} have the GUID of one mailbox, {guid.decode()}, and nothing tells which of them is its folder:"
            f" remove {NAME.decode()} and dovecot.index* from the copies, which are mailboxes of their own then, or"
            " remove them"
        )

    def watched(self) -> list[bytes]:
        """The folders in which mailboxes appear and go, and those that are to become some, as they have no GUID yet,
        relative to the user's. Raises OSError."""
        is_nested = self._layout.separator == "/"
        return [b"", *(each for each in self._folders() if is_nested or not self._has_list(each))]

    def lies(self, place: Place) -> None:
        """A mailbox was made, or moved, to this place."""
        self._known = {}
        self._seen[place.guid] = place

    def forget(self, guid: bytes) -> None:
        """A mailbox was removed."""
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
