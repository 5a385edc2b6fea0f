"""Which files came and went in the folders of mailboxes with an open gate, as the kernel tells: who looks at one of
many thousands of messages need not list them all.

What is not known in full is not told at all, and who asks lists the folders: at first, when too much happened, when a
folder went elsewhere, and where the kernel watches no more of them.

Not here: what a mailbox's files are (message_files.py), and who waits for a lock (gate_watch.py). Called by threads.
"""

from __future__ import annotations

import os
import threading
from typing import Final, final

from inotify_simple import INotify, flags

from pyrepl.daemon.mailbox.message_files import CUR, NEW, Change

MOST_CHANGES: Final = 10_000
"""Of one mailbox, that are remembered."""
# Plain numbers: an operation on the enum's members takes twenty times as long, for each event.
_COMING: Final = int(flags.CREATE | flags.MOVED_TO)
_GOING: Final = int(flags.DELETE | flags.MOVED_FROM)
_LOST: Final = int(flags.MOVE_SELF | flags.DELETE_SELF | flags.UNMOUNT | flags.IGNORED)
_Q_OVERFLOW: Final = int(flags.Q_OVERFLOW)
_WATCHED: Final = int(_COMING | _GOING | flags.MOVE_SELF | flags.DELETE_SELF | flags.ONLYDIR | flags.DONT_FOLLOW)


@final
class NameWatch:
    """The watches, and what they told.

    Invariant: a mailbox is in `_changes` while both its folders are watched; None there: what happened since it was
    asked last is not known in full.
    """

    def __init__(self) -> None:
        """Raises OSError."""
        self._turn: Final = threading.Lock()
        self._inotify: Final = INotify(nonblocking=True)
        self._folders: Final[dict[int, tuple[bytes, bytes]]] = {}
        """Watch -> mailbox, by its folder, and the folder within."""
        self._changes: Final[dict[bytes, list[Change] | None]] = {}

    def begin(self, mailbox: bytes) -> None:
        """Watch a mailbox, by its folder; what happened before is not known."""
        with self._turn:
            self._forget(mailbox)
            try:
                for subfolder in (NEW, CUR):
                    watch = self._inotify.add_watch(mailbox + b"/" + subfolder, _WATCHED)
                    if watch in self._folders:
                        # It was called otherwise before.
                        self._changes.pop(self._folders[watch][0], None)
                    self._folders[watch] = mailbox, subfolder
            except OSError:
                self._forget(mailbox)
            else:
                self._changes[mailbox] = None

    def end(self, mailbox: bytes) -> None:
        """Watch it no longer."""
        with self._turn:
            self._forget(mailbox)

    def take(self, mailbox: bytes) -> list[Change] | None:
        """What happened since it was asked last, in order; None if that is not known in full."""
        with self._turn:
            self._read()
            if mailbox not in self._changes:
                return None
            changes, self._changes[mailbox] = self._changes[mailbox], []
            return changes

    def close(self) -> None:
        with self._turn:
            self._inotify.close()
            self._changes.clear()

    def _forget(self, mailbox: bytes) -> None:
        self._changes.pop(mailbox, None)
        for watch in [watch for watch, (folder, _) in self._folders.items() if folder == mailbox]:
            del self._folders[watch]
            try:
                self._inotify.rm_watch(watch)
            except OSError:
                continue  # The folder is gone, and its watch with it.

    def _read(self) -> None:
        for wd, mask, _, name in self._inotify.read(timeout=0):
            if mask & _Q_OVERFLOW:
                self._changes.update(dict.fromkeys(self._changes))
            elif wd in self._folders and mask & _LOST:
                self._forget(self._folders[wd][0])
            elif wd in self._folders:
                self._note(*self._folders[wd], mask, name)

    def _note(self, mailbox: bytes, subfolder: bytes, mask: int, name: str) -> None:
        changes = self._changes.get(mailbox)
        if changes is not None and not name.startswith("."):
            changes.append(Change(subfolder, os.fsencode(name), bool(mask & _COMING)))
            if len(changes) > MOST_CHANGES:
                self._changes[mailbox] = None
