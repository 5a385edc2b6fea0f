"""The files of one mailbox's messages, in cur/ and new/: found by their base, linked, renamed, removed.

Not here: which UID a base has (uidlist_file.py). Who changes anything holds the mailbox's lock.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files, exchange
from pyrepl.mailbox.maildir.filename import Name, base_of, parse, render

CUR: Final = b"cur"
NEW: Final = b"new"


@final
class MessageFiles:
    """What a listing found, kept true for our own changes; others' are seen by `load`.

    Invariant: `_places` has base -> (folder within the mailbox, file's name), as listed and as we changed it since.
    """

    def __init__(self, files: Files, folder: bytes) -> None:
        self._files: Final = files
        self._folder: Final = folder
        self._places: dict[bytes, tuple[bytes, bytes]] = {}
        self._listed_ns: dict[bytes, int] = {}
        self._is_changed = False

    def load(self, force: bool = False) -> None:
        """List the folders again whose time changed since. Raises FileNotFoundError if one is missing, other OSErrors.

        Two changes within one tick of the clock leave one time: who misses a message lists with `force` before it
        counts as gone.
        """
        for subfolder in (NEW, CUR):
            found = self._files.stat(self._path(subfolder))
            if found is None:
                raise FileNotFoundError(2, "a folder of the mailbox is missing", self._path(subfolder))
            if force or self._listed_ns.get(subfolder) != found.mtime_ns:
                self._list(subfolder, found.mtime_ns)

    def bases(self) -> set[bytes]:
        """Of all messages that are there."""
        return set(self._places)

    @property
    def places(self) -> dict[bytes, tuple[bytes, bytes]]:
        """Base -> where it is, of all messages; a copy."""
        return dict(self._places)

    def find(self, base: bytes) -> Name | None:
        """The name of a message; None if it is not there."""
        place = self._places.get(base)
        return None if place is None else parse(place[1])

    def path(self, base: bytes) -> bytes:
        """Of a message that is there."""
        return self._path(*self._places[base])

    def add(self, source: bytes, name: Name) -> None:
        """Link a text into cur/; one that is there already is this one. Raises OSError."""
        with suppress(FileExistsError):
            self._files.link(source, self._path(CUR, render(name)))
        self._note(name.base, CUR, render(name))

    def rename(self, base: bytes, to: Name) -> None:
        """Give a message another name, in cur/. Raises FileNotFoundError if it is gone, other OSErrors."""
        subfolder, old = self._places[base]
        if (subfolder, old) != (CUR, render(to)):
            self._files.rename(self._path(subfolder, old), self._path(CUR, render(to)))
            del self._places[base]
            self._note(to.base, CUR, render(to))

    def exchange(self, base: bytes, source: bytes, temporary: bytes) -> None:
        """Let a message that is there have the text `source`, under the name that it has. Raises OSError."""
        exchange(self._files, self.path(base), source, temporary)
        self._is_changed = True

    def remove(self, base: bytes) -> None:
        """Raises OSError; what is gone already is well."""
        place = self._places.pop(base, None)
        if place is not None:
            with suppress(FileNotFoundError):
                self._files.unlink(self._path(*place))
            self._is_changed = True

    def sync(self) -> None:
        """What we changed is on disk when this returns. Raises OSError."""
        if self._is_changed:
            for subfolder in (CUR, NEW):
                self._files.sync(self._path(subfolder))
                found = self._files.stat(self._path(subfolder))
                self._listed_ns[subfolder] = found.mtime_ns if found else -1
            self._is_changed = False

    def _note(self, base: bytes, subfolder: bytes, name: bytes) -> None:
        self._places[base] = (subfolder, name)
        self._is_changed = True

    def _list(self, subfolder: bytes, mtime_ns: int) -> None:
        names = self._files.names(self._path(subfolder))
        self._places = {base: place for base, place in self._places.items() if place[0] != subfolder}
        for name in names:
            if not name.startswith(b"."):
                self._places[base_of(name)] = (subfolder, name)
        self._listed_ns[subfolder] = mtime_ns

    def _path(self, *parts: bytes) -> bytes:
        return b"/".join((self._folder, *parts))
