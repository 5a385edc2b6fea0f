"""The files of one mailbox's messages, in cur/ and new/: found by their base, linked, renamed, removed.

Not here: which UID a base has (uidlist_file.py). Who changes anything holds the mailbox's lock.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.files import Files, exchange
from pyrepl.mailbox.maildir.filename import Name, base_of, is_listable, parse, render

CUR: Final = b"cur"
NEW: Final = b"new"
MOST_TOUCHED: Final = 10_000
"""Bases that are remembered as touched."""
MOST_HEARD: Final = 100
"""So often in a row changes are believed that were heard of; then the folders are listed all the same."""


class Change(NamedTuple):
    """A file came, or went, in a folder of the mailbox."""

    subfolder: bytes
    name: bytes
    is_there: bool


@final
class MessageFiles:
    """What a listing found, kept true for our own changes; others' are seen by `load`.

    Invariants: `_places` has base -> (folder within the mailbox, file's name), as listed and as we changed it since;
    `_names` has all names of each folder, so too, but those that `_passed_over` has. Of a base with several names,
    which `_doubled` has all of, it is one of them, rather one in cur/.
    """

    def __init__(self, files: Files, folder: bytes) -> None:
        self._files: Final = files
        self._folder: Final = folder
        self._places: dict[bytes, tuple[bytes, bytes]] = {}
        self._names: Final[dict[bytes, set[bytes]]] = {NEW: set(), CUR: set()}
        self._doubled: Final[dict[bytes, set[tuple[bytes, bytes]]]] = {}
        self._passed_over: Final[dict[bytes, set[bytes]]] = {NEW: set(), CUR: set()}
        self._listed_ns: dict[bytes, int] = {}
        self._heard = 0
        """How often changes were believed since both folders were listed."""
        self._changed: Final[set[bytes]] = set()
        """Folders in which something was changed that may not be synced."""
        self.touched: set[bytes] | None = None
        """Bases whose files came, went or were renamed since `track` was called; None if it was not, or there are too
        many."""

    def load(self, force: bool = False) -> None:
        """List the folders again whose time changed since, or with `force` both: two changes within one tick of the
        clock leave one time. Raises FileNotFoundError if one is missing, other OSErrors."""
        if force:
            self._heard = 0
        for subfolder in (NEW, CUR):
            mtime_ns = self._mtime_ns(subfolder)
            if force or self._listed_ns.get(subfolder) != mtime_ns:
                self._list(subfolder, mtime_ns)

    def hear(self, changes: Sequence[Change] | None) -> None:
        """As `load` with `force`, by what others heard of all that happened since it was asked last, in order; None if
        that is not known. Raises as `load`."""
        if changes is None or self._heard >= MOST_HEARD:
            self.load(force=True)
            return
        self._heard += 1
        for subfolder in (NEW, CUR):
            self._mtime_ns(subfolder)
        for subfolder, name, is_there in changes:
            if is_listable(base_of(name)):
                (self._note if is_there else self._drop)(subfolder, name)
            else:
                (self._passed_over[subfolder].add if is_there else self._passed_over[subfolder].discard)(name)

    def _mtime_ns(self, subfolder: bytes) -> int:
        """Raises FileNotFoundError if the folder is missing, other OSErrors."""
        found = self._files.stat(self._path(subfolder))
        if found is None:
            raise FileNotFoundError(2, "a folder of the mailbox is missing", self._path(subfolder))
        return found.mtime_ns

    def seek(self, bases: Set[bytes]) -> None:
        """List the folders for these messages alone: a listing misses a file that gets another name meanwhile, and who
        misses a message seeks it before it counts as gone. Raises OSError."""
        found = {subfolder: self._listed(subfolder) for subfolder in (NEW, CUR)}
        for subfolder, names in self._names.items():
            for name in [name for name in names - found[subfolder] if base_of(name) in bases]:
                self._drop(subfolder, name)
            for name in found[subfolder] - names:
                if base_of(name) in bases:
                    self._note(subfolder, name)

    def has(self, base: bytes) -> bool:
        return base in self._places

    @property
    def passed_over(self) -> frozenset[bytes]:
        """The paths of files that cannot be messages, as no line can name them. As loaded."""
        return frozenset(self._path(folder, name) for folder, names in self._passed_over.items() for name in names)

    def bases(self) -> set[bytes]:
        """Of all messages that are there."""
        return set(self._places)

    def letters(self) -> set[int]:
        """All letters of flags that files have, as bytes."""
        return {letter for _, name in self._places.values() for letter in parse(name).letters}

    def track(self) -> None:
        """What is touched from now on is asked for later."""
        self.touched = set()

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
        self._note(CUR, render(name))
        self._changed.add(CUR)

    def rename(self, base: bytes, to: Name) -> None:
        """Give a message another name, its only one, in cur/. Raises FileNotFoundError if it is gone, and OSErrors."""
        self._remove_doubles(base)
        subfolder, old = self._places[base]
        self._changed.update((subfolder, CUR))
        if (subfolder, old) != (CUR, render(to)):
            self._files.rename(self._path(subfolder, old), self._path(CUR, render(to)))
            self._drop(subfolder, old)
            self._note(CUR, render(to))

    def exchange(self, base: bytes, source: bytes, temporary: bytes) -> None:
        """Let a message that is there have the text `source`, under the name that it has. Raises OSError."""
        exchange(self._files, self.path(base), source, temporary)
        self._changed.add(self._places[base][0])

    def reuse(self) -> None:
        """What is there, and what is gone, is told as done: who did it may have been killed before it was on disk."""
        self._changed.update((NEW, CUR))

    def remove(self, base: bytes) -> None:
        """Raises OSError; what is gone already is well, but not what somebody renamed without the lock."""
        try:
            self._unlink(base)
        except FileNotFoundError:
            self.seek({base})
            self._unlink(base)

    def _unlink(self, base: bytes) -> None:
        """All files of a message go: one that is left would be it, and come back everywhere."""
        for place in self._all_of(base):
            self._unlink_at(place)

    def _unlink_at(self, place: tuple[bytes, bytes]) -> None:
        self._files.unlink(self._path(*place))
        self._drop(*place)
        self._changed.add(place[0])

    def _remove_doubles(self, base: bytes) -> None:
        """Of the files of a message one is left, as one with older flags would be it later. Those of another size
        stay: they may be other texts, of which a Dovecot makes messages."""
        for place in self._all_of(base) if base in self._doubled else ():
            if place != self._places[base] and self._is_same(place, self._places[base]):
                self._unlink_at(place)

    def _is_same(self, place: tuple[bytes, bytes], kept: tuple[bytes, bytes]) -> bool:
        """The one that is kept is looked at last: somebody may give it the other's name without the lock."""
        found, own = self._files.stat(self._path(*place)), self._files.stat(self._path(*kept))
        return found is not None and own is not None and found.size == own.size

    def _all_of(self, base: bytes) -> list[tuple[bytes, bytes]]:
        place = self._places.get(base)
        return sorted(self._doubled.get(base, () if place is None else (place,)))

    def sync(self) -> None:
        """What we changed or reused is on disk when this returns. Raises OSError."""
        self._files.sync_all([self._path(subfolder) for subfolder in sorted(self._changed)])
        for subfolder in self._changed:
            found = self._files.stat(self._path(subfolder))
            self._listed_ns[subfolder] = found.mtime_ns if found else -1
        self._changed.clear()

    def _note(self, subfolder: bytes, name: bytes) -> None:
        """There is a file of this name."""
        base = base_of(name)
        self._names[subfolder].add(name)
        known = self._places.get(base, (subfolder, name))
        if known != (subfolder, name):
            self._doubled.setdefault(base, {known}).add((subfolder, name))
        if (known[0], subfolder) != (CUR, NEW):
            self._places[base] = (subfolder, name)
        self._touch(base)

    def _drop(self, subfolder: bytes, name: bytes) -> None:
        """There is no file of this name any more."""
        base = base_of(name)
        self._names[subfolder].discard(name)
        left = self._doubled.get(base, set())
        left.discard((subfolder, name))
        if len(left) < 2:
            self._doubled.pop(base, None)
        if self._places.get(base) == (subfolder, name):
            del self._places[base]
            if left:
                self._places[base] = max(left, key=lambda place: (place[0] == CUR, place[1]))
            self._touch(base)

    def _touch(self, base: bytes) -> None:
        if self.touched is not None:
            self.touched.add(base)
            if len(self.touched) > MOST_TOUCHED:
                self.touched = None

    def _list(self, subfolder: bytes, mtime_ns: int) -> None:
        known = self._names[subfolder]
        names = self._listed(subfolder)
        for name in known - names:
            self._drop(subfolder, name)
        for name in sorted(names - known):
            self._note(subfolder, name)
        self._listed_ns[subfolder] = mtime_ns

    def _listed(self, subfolder: bytes) -> set[bytes]:
        """The names of messages that are there now."""
        shown = {name for name in self._files.names(self._path(subfolder)) if not name.startswith(b".")}
        self._passed_over[subfolder] = {name for name in shown if not is_listable(base_of(name))}
        return shown - self._passed_over[subfolder]

    def _path(self, *parts: bytes) -> bytes:
        return b"/".join((self._folder, *parts))
