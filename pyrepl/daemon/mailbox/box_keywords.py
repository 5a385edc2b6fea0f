"""The file dovecot-keywords of one mailbox: read when it changed, written before a letter of it is used.

Not here: its format (pyrepl.mailbox.maildir.keywords). Who writes it holds the mailbox's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files, Stat, folder_of, replace
from pyrepl.mailbox.maildir.keywords import Keywords, parse, render, why_not

NAME: Final = b"dovecot-keywords"


@final
class BoxKeywords:
    """The keywords of one mailbox, after `load` as they stand in the file."""

    def __init__(self, files: Files, folder: bytes) -> None:
        self._files: Final = files
        self._path: Final = folder + b"/" + NAME
        self._read_at: Stat | None = None
        self._is_synced = False
        """It is on disk as it was read: who wrote it may have been killed before."""
        self.known = Keywords()

    def load(self) -> None:
        """Raises OSError."""
        found = self._files.stat(self._path)
        if found is None:
            self.known = Keywords()
        elif found != self._read_at:
            self.known = parse(self._files.read(self._path))
            self._is_synced = False
        self._read_at = found

    def add(self, flags: Iterable[str], carried: Callable[[], Set[int]] = frozenset) -> list[str]:
        """Give a letter to each keyword that has none; those that cannot have one: a 27th, and what is no keyword.
        `carried`: asks which letters files have, as bytes.

        On disk when this returns, as a letter without its name is no keyword to Dovecot. Raises OSError.
        """
        known, without = self.known, []
        keywords = sorted({flag for flag in flags if not flag.startswith("\\")})
        new = [flag for flag in keywords if known.letter(flag) is None]
        letters = carried() if new else frozenset[int]()
        for flag in new:
            if known.letter(flag) is not None:
                # Another spelling of one before it.
                continue
            more = known.with_name(flag, letters) if why_not(flag) is None else None
            if more is None:
                without.append(flag)
            else:
                known = more
        if known != self.known:
            replace(self._files, self._path, render(known), self._path + b".lock")
            self.known = known
            self._read_at = self._files.stat(self._path)
            self._is_synced = True
        elif keywords and not self._is_synced:
            self._files.sync(folder_of(self._path))
            self._is_synced = True
        return without
