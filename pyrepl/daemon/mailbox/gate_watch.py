"""What the kernel tells of mailboxes that have a gate: somebody reads a lock file, released it, or brought mail.

Two watches a mailbox, on its folder and on new/. A Dovecot that waits for a lock file reads it, again and again, to see
whether its owner lives; one that has done something removes its own. This process never opens a lock file that is kept
but to keep it, and gives its own another name before it removes them (uidlist_lock.py), so what is seen is Dovecot's.

Not here: what follows from it (pyrepl.mailbox.gates).
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from typing import Final, final

from inotify_simple import INotify, flags

from pyrepl.daemon.mailbox.message_files import NEW
from pyrepl.daemon.mailbox.uidlist_lock import NAME
from pyrepl.mailbox.gates import Seen

WATCHES: Final = 2
"""For one mailbox."""
_LOCK: Final = NAME.decode()
_SAFELY: Final = flags.ONLYDIR | flags.DONT_FOLLOW
_FOLDER: Final = flags.OPEN | flags.DELETE | _SAFELY
_NEW: Final = flags.MOVED_TO | flags.CREATE | _SAFELY
_NOTHING: Final = Seen()


@final
class GateWatch:
    """The watches. `follow` is called by threads, everything else in the loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called when there is something to take. Raises OSError."""
        self._wake: Final = wake
        self._inotify: Final = INotify(nonblocking=True)
        self._boxes: Final[dict[int, str]] = {}
        """Watch -> mailbox."""
        self._seen: dict[str, Seen] = {}
        self._loop: Final = asyncio.get_running_loop()
        self._loop.add_reader(self._inotify.fileno(), self._read)

    def follow(self, box: str, folder: bytes) -> None:
        """Watch a mailbox; one that is watched already stays so. Raises OSError."""
        for path, what in ((folder, _FOLDER), (folder + b"/" + NEW, _NEW)):
            try:
                self._boxes[self._inotify.add_watch(path, what)] = box
            except OSError as error:
                raise OSError(error.errno, _why(error), path) from None

    def take(self, ours: Sequence[str]) -> list[tuple[str, Seen]]:
        """What happened since it was asked last, by mailbox; who read the lock files of `ours`, was this process."""
        self._read()
        seen, self._seen = self._seen, {}
        for box in ours:
            if box in seen:
                seen[box] = seen[box]._replace(reads=False)
        return [(box, what) for box, what in seen.items() if what != _NOTHING]

    def close(self) -> None:
        self._loop.remove_reader(self._inotify.fileno())
        self._inotify.close()

    def _read(self) -> None:
        for event in self._inotify.read(timeout=0):
            if event.mask & flags.Q_OVERFLOW:
                # Whatever happened may have been lost.
                self._seen = dict.fromkeys(self._boxes.values(), Seen(True, True, True))
            elif event.mask & flags.IGNORED:
                self._boxes.pop(event.wd, None)
            elif event.wd in self._boxes:
                self._note(self._boxes[event.wd], event.mask, event.name)
        if self._seen:
            self._wake()

    def _note(self, box: str, mask: int, name: str) -> None:
        seen = self._seen.get(box, _NOTHING)
        if mask & (flags.MOVED_TO | flags.CREATE):
            self._seen[box] = seen._replace(brought=True)
        elif name == _LOCK and mask & flags.OPEN:
            self._seen[box] = seen._replace(reads=True)
        elif name == _LOCK and mask & flags.DELETE:
            self._seen[box] = seen._replace(released=True)


def _why(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"the kernel watches no more folders for this user, and each mailbox needs {WATCHES}: raise"
            " fs.inotify.max_user_watches (sysctl)"
        )
    return os.strerror(error.errno or 0)
