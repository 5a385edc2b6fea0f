"""`dovecot-uidlist.lock`: who holds it may change a mailbox; Dovecot and pyrepl wait for each other by it.

The file holds `<pid>:<hostname>` of its owner and is made with O_EXCL. An owner that is dead on this host is overridden
at once, as a Dovecot does two seconds later; a file whose owner cannot be read for a second is what a power cut left.
One of another host is what a Dovecot left that died before this host got its name: Maildirs are one host's alone.
Nobody holds a lock for long, so one that stays the same for ten seconds is overridden.

With gates a mailbox's lock is kept while this node may give out no UIDs there (`shut`): the file then names the keeper,
a process that outlives this one, and has a date by which it is known without being opened, since whoever opens it
asks for the mastership. Its old date also lets Dovecot open it again and again while it waits. Work is done under it.

Source: Dovecot 2.3, file-dotlock.c, and its behaviour.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.files import Files, Stat, folder_of
from pyrepl.errors import PyreplError

NAME: Final = b"dovecot-uidlist.lock"
_OWNER: Final = re.compile(rb"([0-9]{1,10}):(.+)")
_LOOKS_PER_S: Final = 50
_LEAST_LOOKS: Final = 2
"""One finds a dead owner's, the next takes it."""
GATE_S: Final = 1_000_000_000
"""The date of a lock that is kept, in Unix seconds."""
GATE_NS: Final = GATE_S * 1_000_000_000
STALE: Final = NAME + b".stale"
"""What the name of a lock begins with that is taken away from an owner who seems to be dead."""
_GOING: Final = b".pyrepl"
"""What is behind the name of a lock that is removed, or is to become one that is kept: whoever watches the folder knows
ours from Dovecot's by that."""
_TORN_S: Final = 1.0
_ELSEWHERE_S: Final = 10.0
"""Clients wait for a lock for 30 seconds."""
_BRIEFLY: Final = 100
_BRIEF_PAUSE_S: Final = 0.001
"""Dovecots that wait take a lock within a moment when it is free: who looks seldom never gets it."""


@final
class LocksHere:
    """The locks that this process holds, by whatever UidlistLock: its name in a lock file is the same for all of its
    threads. May be asked in any thread."""

    def __init__(self) -> None:
        self._paths: Final[set[bytes]] = set()
        self._turn: Final = threading.Lock()

    def claim(self, path: bytes) -> bool:
        """Nobody else here has it now; False if somebody has."""
        with self._turn:
            is_free = path not in self._paths
            self._paths.add(path)
        return is_free

    def let_go(self, path: bytes) -> None:
        self._paths.discard(path)


class _FirstSeen(NamedTuple):
    """Which lock, by its inode and time, was seen at first when, and how long had been slept by then."""

    lock: tuple[int, int]
    at: float
    slept_s: float


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
        keeper: int | None = None,
        now: Callable[[], float] = time.monotonic,
        here: LocksHere | None = None,
    ) -> None:
        """`hostname` as Dovecot sees it on this host. `wait_s`: how long another's lock is waited for; Dovecot waits
        as long by default. `is_alive` tells of a pid of this host. `keeper`: who owns locks that are kept; None without
        gates. `now`: seconds of a clock that is never set. `here`: what others of this process hold; None if there are
        no others."""
        self._files: Final = files
        self._hostname: Final = hostname
        self._text: Final = b"%d:%b" % (os.getpid(), hostname)
        self._sleep: Final = sleep
        self._now: Final = now
        self._looks = max(1, int(wait_s * _LOOKS_PER_S))
        self._pause_s = 1 / _LOOKS_PER_S
        self._is_alive: Final = is_alive or is_alive_here
        self._gate_text: Final = None if keeper is None else b"%d:%b" % (keeper, hostname)
        self._held: set[bytes] = set()
        self._shut: Final[dict[bytes, int]] = {}
        """Lock that was seen to be kept in our keeper's name -> its inode."""
        self._here: Final = here or LocksHere()
        self._keeps = False
        self._slept_s = 0.0
        self._first_seen: Final[dict[bytes, _FirstSeen]] = {}
        """Lock whose owner cannot be asked for -> since when it is the same."""

    def take(self, folder: bytes) -> None:
        """Of the mailbox in that folder. Raises LockBusy, OSError."""
        path = folder + b"/" + NAME
        assert path not in self._held
        self._claim(path)
        try:
            kept = self._kept(path)
            # One that was kept by a keeper which is gone, as after a reboot, keeps no Dovecot out.
            if kept is None or kept.inode != self._shut.get(path):
                self._acquire(path, self._text) if kept is None and not self._keeps else self.shut(folder)
        except BaseException:
            self._here.let_go(path)
            raise
        self._held.add(path)

    def release(self, folder: bytes, moved_to: bytes | None = None) -> None:
        """Nothing of ours may be under way there any more. One that is kept stays. `moved_to`: where the mailbox went
        meanwhile, if it did. Raises OSError."""
        path = folder + b"/" + NAME
        self._held.discard(path)
        try:
            there = path if moved_to is None or self._files.stat(path) is not None else moved_to + b"/" + NAME
            if not self._is_kept(there):
                self._remove(there)
        finally:
            # Another thread that came before would take the file for one that a dead process left.
            self._here.let_go(path)

    def shut(self, folder: bytes) -> bool:
        """Keep the lock, in the keeper's name; False if it was kept so already. Raises LockBusy, OSError."""
        assert self._gate_text is not None
        path = folder + b"/" + NAME
        is_new = self._files.stat(path) is None or self._owner(path) != self._gate_text
        if is_new and self._is_kept(path):
            # One of another name is that of a keeper which is gone, whatever has its pid now.
            self._put_kept(path)
            return True
        if is_new:
            self._acquire(path, self._gate_text)
        self._files.set_mtime(path, GATE_S)
        self._remember_shut(path)
        return is_new

    def keep(self, folder: bytes) -> None:
        """With gates, a lock that was taken is kept, without being free for a moment. Raises OSError."""
        path = folder + b"/" + NAME
        assert path in self._held
        self._put_kept(path)

    def _put_kept(self, path: bytes) -> None:
        """A lock in our keeper's name takes the place of the one that is there."""
        assert self._gate_text is not None
        with suppress(FileNotFoundError):
            self._files.unlink(path + _GOING)
        self._files.write_new(path + _GOING, self._gate_text)
        self._files.set_mtime(path + _GOING, GATE_S)
        self._files.rename(path + _GOING, path)
        self._remember_shut(path)

    def shut_new(self, folder: bytes) -> None:
        """With gates, a mailbox that is being made has its gate shut before anybody sees it. Raises LockBusy,
        OSError."""
        if self._gate_text is not None:
            self.shut(folder)

    def is_shut(self, folder: bytes) -> bool:
        """Is it kept? Raises OSError."""
        return self._is_kept(folder + b"/" + NAME)

    def has_living_owner(self, folder: bytes) -> bool | None:
        """Does the process live that holds it? None if nobody does, or no owner is named. Raises OSError."""
        text = self._owner(folder + b"/" + NAME)
        return not self._is_dead(text) if text else None

    def open(self, folder: bytes) -> None:
        """Keep it no longer. Raises OSError."""
        path = folder + b"/" + NAME
        if self._is_kept(path):
            self._remove(path)

    def _claim(self, path: bytes) -> None:
        """Wait for another thread of this process, whose name in the file is ours too. Raises LockBusy."""
        for _ in range(self._looks):
            if self._here.claim(path):
                return
            self._sleep(self._pause_s)
        raise LockBusy(f"{os.fsdecode(path)} is held by another thread of this process")

    def _acquire(self, path: bytes, text: bytes) -> None:
        for _ in range(self._looks):
            try:
                self._files.write_new(path, text)
            except FileExistsError:
                owner = self._owner(path)
                if not self._override(path, owner, self._is_left(path, owner)):
                    self._sleep(self._pause_s)
                    self._slept_s += self._pause_s
            else:
                self._first_seen.pop(path, None)
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

    @contextmanager
    def keeping(self, is_wanted: bool = True) -> Iterator[None]:
        """Meanwhile, with gates and if it `is_wanted`, each lock that is taken is kept from then on."""
        before = self._keeps
        self._keeps = before or (is_wanted and self._gate_text is not None)
        try:
            yield
        finally:
            self._keeps = before

    @contextmanager
    def briefly(self) -> Iterator[None]:
        """Meanwhile another's lock is waited for a tenth of a second, and looked at often: several Dovecots may hand it
        to each other."""
        before = self._looks, self._pause_s
        self._looks, self._pause_s = _BRIEFLY, _BRIEF_PAUSE_S
        try:
            yield
        finally:
            self._looks, self._pause_s = before

    def _is_kept(self, path: bytes) -> bool:
        return self._kept(path) is not None

    def _kept(self, path: bytes) -> Stat | None:
        """The lock, if it is kept."""
        found = None if self._gate_text is None else self._files.stat(path)
        return None if found is None or found.mtime_ns != GATE_NS else found

    def _remember_shut(self, path: bytes) -> None:
        kept = self._kept(path)
        if kept is not None:
            self._shut[path] = kept.inode

    def _remove(self, path: bytes) -> None:
        with suppress(FileNotFoundError):
            if self._gate_text is not None:
                self._files.rename(path, path + _GOING)
                path += _GOING
            self._files.unlink(path)

    def _override(self, path: bytes, text: bytes, is_left: bool) -> bool:
        """Remove the lock of a dead owner, which is called `text`; was there one?"""
        # A lock with our own name that we do not hold is that of a process that had our pid before us.
        if text != self._text and not is_left and not self._is_dead(text):
            return False
        self._void_index(path)
        self._take_away(path, text)
        return True

    def _is_dead(self, text: bytes) -> bool:
        """Is a lock that is called `text` one of a process of this host that is gone?"""
        found = _OWNER.fullmatch(text)
        return found is not None and found[2] == self._hostname and not self._is_alive(int(found[1]))

    def _void_index(self, path: bytes) -> None:
        """Let the next Dovecot read the list, whose date is another one then.

        A Dovecot writes to its index first that it knows the list as it is now, by size and date, and then of the
        message that it saved. Between the two it leaves, when it is killed, an index without the last line's message.
        The next one believes it, does not read the list, and gives out that message's UID again; what reads the list
        after that finds it broken, and one of the two messages gets another UID. Seen with Dovecot 2.3.19.
        """
        path = path.removesuffix(b".lock")
        found = self._files.stat(path)
        if found is not None:
            self._files.set_mtime(path, found.mtime_ns // 1_000_000_000 + 1)

    def _take_away(self, path: bytes, text: bytes) -> None:
        """Remove the lock that was read as `text`. Others may remove it at the same time, and take it: so it gets a
        name that nobody else uses before it goes, and is put back if it is another's by then."""
        private = b"%b-%d" % (folder_of(path) + b"/" + STALE, os.getpid())
        try:
            self._files.rename(path, private)
        except FileNotFoundError:
            return
        is_same = False
        try:
            is_same = self._owner(private) == text
        finally:
            if not is_same:
                with suppress(FileExistsError):
                    self._files.link(private, path)
            self._files.unlink(private)

    def _is_left(self, path: bytes, text: bytes) -> bool:
        """Has a lock that is called `text`, of an owner who cannot be asked for, stayed the same for too long?"""
        found, stat = _OWNER.fullmatch(text), self._files.stat(path)
        if stat is None or (found is not None and found[2] == self._hostname):
            self._first_seen.pop(path, None)
            return False
        # It may be just being written.
        is_torn = found is None or self._hostname.startswith(found[2])
        lock, seen = (stat.inode, stat.mtime_ns), self._first_seen.get(path)
        if seen is None or seen.lock != lock:
            seen = self._first_seen[path] = _FirstSeen(lock, self._now(), self._slept_s)
        # Others may have had their turn between two looks, however short these are.
        waited_s = max(self._now() - seen.at, self._slept_s - seen.slept_s)
        return waited_s >= (_TORN_S if is_torn else _ELSEWHERE_S)

    def _owner(self, path: bytes) -> bytes:
        """What the lock says; b"" if there is none. One that cannot be read may be anybody's. Raises OSError."""
        try:
            return self._files.read(path)[:256]
        except FileNotFoundError:
            return b""


def is_alive_here(pid: int) -> bool:
    """Is there such a process? One of another user is alive too; a number that no pid can be is nobody's."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
