"""The file `subscriptions` of one user: read, and changed under its lock, `subscriptions.lock`.

Dovecot makes the lock file with O_EXCL, then reads the list, writes the new one into the lock file, and renames that
over the list; so do we. Whoever reads before it has the lock undoes what a client did meanwhile. A lock that stays is
left by a Dovecot that was killed: nobody holds it for longer than some milliseconds, and after 30 seconds without a
change each Dovecot takes it away. So do we, and until then the user's works wait.

Not here: the file's format (pyrepl.mailbox.maildir.subscriptions). Source: Dovecot 2.3, subscription-file.c
(SUBSCRIPTION_FILE_CHANGE_TIMEOUT) and file-dotlock.c.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.files import Files, Stat, install
from pyrepl.daemon.mailbox.uidlist_lock import LockBusy
from pyrepl.mailbox.maildir import subscriptions

NAME: Final = b"subscriptions"
STALE_S: Final = 30
"""So old is a lock that a dead one left."""
_GOING: Final = b".pyrepl"
"""What is behind the name of a lock that is taken away."""
_LOOKS: Final = 100
_LOOK_S: Final = 0.02


class _FirstSeen(NamedTuple):
    """Which lock, by its inode and time, was seen at first when."""

    lock: tuple[int, int]
    at: float


@final
class SubscriptionFile:
    """One user's. Its methods raise OSError, CorruptData."""

    def __init__(
        self,
        files: Files,
        folder: bytes,
        separator: str,
        sleep: Callable[[float], None],
        unix_s: Callable[[], float] = time.time,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folder`: the user's; `separator`: what stands between the parts of a name on this disk. `now`: seconds of a
        clock that is never set."""
        self._files: Final = files
        self._path: Final = folder + b"/" + NAME
        self._lock: Final = self._path + b".lock"
        self._separator: Final = separator
        self._sleep: Final = sleep
        self._unix_s: Final = unix_s
        self._now: Final = now
        self._first_seen = _FirstSeen((0, 0), 0.0)

    def names(self) -> tuple[str, ...]:
        """What is subscribed."""
        return subscriptions.parse(self._data(), self._separator)

    def _data(self) -> bytes:
        return self._files.read(self._path) if self._files.stat(self._path) is not None else b""

    def change(self, name: str, is_subscribed: bool) -> None:
        """Put a name into the list, or take it out. Raises LockBusy too."""
        self._take()
        taken = self._files.stat(self._lock)
        try:
            data = self._data()
            if (name in subscriptions.parse(data, self._separator)) != is_subscribed:
                changed = subscriptions.changed(data, self._separator, name, is_subscribed)
                self._files.append(self._lock, changed)
                install(self._files, self._path, self._lock)
        finally:
            # When it has become the list, the lock that is there is somebody else's.
            left = self._files.stat(self._lock)
            if taken is not None and left is not None and left.inode == taken.inode:
                self._files.unlink(self._lock)

    def _take(self) -> None:
        for _ in range(_LOOKS):
            try:
                self._files.write_new(self._lock, b"")
            except FileExistsError:
                if not self._take_away():
                    self._sleep(_LOOK_S)
            else:
                return
        raise LockBusy(
            f"{os.fsdecode(self._lock)} is there: a Dovecot changes the list of subscriptions, or was killed while it"
            f" did. It is waited for, and taken away when it is {STALE_S} seconds old"
        )

    def _take_away(self) -> bool:
        """Remove a lock that is stale; was it? Another may take it away at the same time and make its own: that one is
        put back."""
        found, going = self._files.stat(self._lock), self._lock + _GOING
        if found is None:
            return True
        if not self._is_stale(found):
            return False
        with suppress(FileNotFoundError):
            self._files.rename(self._lock, going)
            moved = self._files.stat(going)
            if moved is not None and moved.inode != found.inode:
                with suppress(FileExistsError):
                    self._files.link(going, self._lock)
            self._files.unlink(going)
        return True

    def _is_stale(self, found: Stat) -> bool:
        """By its date, which is in the future where the clock was set back since; or it has been the same for so
        long."""
        lock = found.inode, found.mtime_ns
        if self._first_seen.lock != lock:
            self._first_seen = _FirstSeen(lock, self._now())
        age_s = self._unix_s() - found.mtime_ns / 1_000_000_000
        return max(age_s, self._now() - self._first_seen.at) > STALE_S
