"""The folders of one user's mailboxes: which mailbox, by its GUID, lies where.

Not here: making and moving them (user_boxes.py), and the layouts (pyrepl.mailbox.maildir.layout).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.files import Files, folder_of
from pyrepl.daemon.mailbox.message_files import CUR, NEW
from pyrepl.daemon.mailbox.uidlist_file import guid_in
from pyrepl.mailbox.maildir.layout import MOST_PARTS, Layout

TMP: Final = b"tmp"
SUBFOLDERS: Final = (CUR, NEW, TMP)


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
        self.unnamed: tuple[bytes, ...] = ()
        """Folders with mail that no mailbox can have, as they were found last: their names cannot be said."""

    def path(self, folder: bytes) -> bytes:
        """The whole path of a folder that is relative to the user's."""
        return self.root + b"/" + folder if folder else self.root

    def find(self, guid: bytes) -> Place | None:
        """Where a mailbox lies; None if it is nowhere. Raises OSError."""
        place = self._known.get(guid)
        if place is None or guid_in(self._files, self.path(place.folder)) != guid:
            self.scan()
        return self._known.get(guid)

    def scan(self) -> list[Place]:
        """All mailboxes that have a GUID, by name. Raises OSError.

        A GUID that two folders claim is the other one's, not INBOX's: INBOX is moved by making a copy first.
        """
        self._known = {}
        unnamed = []
        for folder in [b"", *sorted(self._folders())]:
            name, guid = self._layout.name(folder), guid_in(self._files, self.path(folder))
            if name is not None and guid is not None:
                self._known[guid] = Place(name, guid, folder)
            elif name is None and self._is_folder(folder + b"/" + CUR):
                unnamed.append(folder)
        self.unnamed = tuple(unnamed)
        return sorted(self._known.values())

    def watched(self) -> list[bytes]:
        """The folders in which mailboxes appear and go, and those that are to become some, as they have no GUID yet,
        relative to the user's. Raises OSError."""
        is_nested = self._layout.separator == "/"
        found = (each for each in self._folders() if is_nested or guid_in(self._files, self.path(each)) is None)
        return [b"", *found]

    def forget(self) -> None:
        """Folders were made, moved or removed."""
        self._known = {}

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
            if name.startswith(b".") and self._is_folder(name):
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

    def _is_folder(self, folder: bytes) -> bool:
        found = self._files.stat(self.path(folder))
        return found is not None and found.is_folder
