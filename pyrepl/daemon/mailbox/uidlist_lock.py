"""`dovecot-uidlist.lock`: who holds it may change a mailbox; Dovecot and pyrepl wait for each other by it.

The file holds `<pid>:<hostname>` of its owner and is made with O_EXCL. An owner that is dead on this host is overridden
at once, as Dovecot does; a file whose owner cannot be read for a second is what a power cut left.

Source: Dovecot 2.3, file-dotlock.c, and its behaviour.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files
from pyrepl.errors import PyreplError

NAME: Final = b"dovecot-uidlist.lock"
_OWNER: Final = re.compile(rb"([0-9]{1,10}):(.+)")
_LOOKS_PER_S: Final = 50
_LEAST_LOOKS: Final = 2
"""One finds a dead owner's, the next takes it."""


class LockBusy(PyreplError):
    """Somebody held the lock for too long; the text says who."""


@final
class UidlistLock:
    """Takes and releases the locks of mailboxes for one process. It may hold those of several at once."""

    def __init__(
        self,
        files: Files,
        hostname: bytes,
        sleep: Callable[[float], None],
        wait_s: float = 30.0,
        is_alive: Callable[[int], bool] | None = None,
    ) -> None:
        """`hostname` as Dovecot sees it on this host. `wait_s`: how long another's lock is waited for; Dovecot waits
        as long by default. `is_alive` tells of a pid of this host."""
        self._files: Final = files
        self._hostname: Final = hostname
        self._text: Final = b"%d:%b" % (os.getpid(), hostname)
        self._sleep: Final = sleep
        self._looks = max(1, int(wait_s * _LOOKS_PER_S))
        self._is_alive: Final = is_alive or is_alive_here
        self._held: set[bytes] = set()

    def take(self, folder: bytes) -> None:
        """Of the mailbox in that folder. Raises LockBusy, OSError."""
        path = folder + b"/" + NAME
        assert path not in self._held
        unreadable = 0
        for _ in range(self._looks):
            try:
                self._files.write_new(path, self._text)
            except FileExistsError:
                unreadable = unreadable + 1 if self._is_unreadable(path) else 0
                if not self._override(path, unreadable >= _LOOKS_PER_S):
                    self._sleep(1 / _LOOKS_PER_S)
            else:
                self._held.add(path)
                return
        raise LockBusy(f"{os.fsdecode(path)} is held by {self._owner(path)!r}: is that process stuck?")

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Meanwhile another's lock is looked at, and not waited for."""
        looks, self._looks = self._looks, _LEAST_LOOKS
        try:
            yield
        finally:
            self._looks = looks

    def release(self, folder: bytes) -> None:
        """Nothing of ours may be under way there any more. Raises OSError."""
        path = folder + b"/" + NAME
        self._held.discard(path)
        with suppress(FileNotFoundError):
            self._files.unlink(path)

    def _override(self, path: bytes, is_torn: bool) -> bool:
        """Remove the lock of a dead owner; was there one?"""
        text = self._owner(path)
        found = _OWNER.fullmatch(text)
        # A lock with our own name that we do not hold is that of a process that had our pid before us.
        is_ours = text == self._text or is_torn
        if not is_ours and (found is None or found[2] != self._hostname or self._is_alive(int(found[1]))):
            return False
        with suppress(FileNotFoundError):
            self._files.unlink(path)
        return True

    def _is_unreadable(self, path: bytes) -> bool:
        """Is it just being written, or what a power cut left of one of this host?"""
        found = _OWNER.fullmatch(self._owner(path))
        return found is None or (found[2] != self._hostname and self._hostname.startswith(found[2]))

    def _owner(self, path: bytes) -> bytes:
        try:
            return self._files.read(path)[:256]
        except OSError:
            return b""


def is_alive_here(pid: int) -> bool:
    """Is there such a process? One of another user is alive too."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
