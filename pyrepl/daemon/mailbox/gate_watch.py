"""What the kernel tells of mailboxes that have a gate: somebody reads a lock file, holds it for long, released it, or
brought mail; and of users: mailboxes came, went or were renamed, or other names are subscribed.

Two watches a mailbox, on its folder and on new/, and one a user, on the Maildir itself (with the layout fs, where the
folders of mailboxes lie within each other, it is that of the mailboxes). A Dovecot that waits for a lock file reads it,
again and again, to see whether its owner lives; one that has done something removes its own. This process never opens a
lock file that is kept but to keep it, and gives its own another name before it removes them (uidlist_lock.py), so what
is seen is Dovecot's. One that a dead Dovecot left counts as released when it is taken away.
Nothing tells that its owner died: behind an open gate one that is there for a while is told of.

A watch is one of what lies on the disk, and not of a path. So a Maildir that is renamed, or removed, or a folder above
it, counts as released for all mailboxes below: whoever shuts their gates has them watched anew, where they are then.

Not here: what follows from it (pyrepl.mailbox.gates).
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, final

from inotify_simple import INotify, flags

from pyrepl.daemon.mailbox.message_files import NEW
from pyrepl.daemon.mailbox.uidlist_file import NAME as LIST
from pyrepl.daemon.mailbox.uidlist_lock import GATE_NS, NAME, STALE
from pyrepl.mailbox.gate_states import HELD_S, Seen

WATCHES: Final = 2
"""For one mailbox."""
REST_S: Final = 0.005
"""So long after a Dovecot was done nobody is woken: one mail makes many events, and mails come by many."""
_LOCK: Final = NAME.decode()
_STALE: Final = STALE.decode()
# Plain numbers: an operation on the enum's members takes twenty times as long, for each event.
_OPEN: Final = int(flags.OPEN)
_CREATE: Final = int(flags.CREATE)
_DELETE: Final = int(flags.DELETE)
_ISDIR: Final = int(flags.ISDIR)
_Q_OVERFLOW: Final = int(flags.Q_OVERFLOW)
_IGNORED: Final = int(flags.IGNORED)
_ONLYDIR: Final = int(flags.ONLYDIR)
_ADD: Final = int(flags.MASK_ADD)
_SAFELY: Final = int(flags.ONLYDIR | flags.DONT_FOLLOW)
_COMING: Final = int(flags.CREATE | flags.MOVED_TO)
_GOING: Final = int(flags.DELETE | flags.MOVED_FROM)
_MOVE_SELF: Final = int(flags.MOVE_SELF)
_DELETE_SELF: Final = int(flags.DELETE_SELF)
_SHUT: Final = _OPEN | _DELETE | _MOVE_SELF | _SAFELY
_OPENED: Final = _CREATE | _DELETE | _MOVE_SELF | _SAFELY
_NEW: Final = _COMING | _SAFELY
_USER: Final = _COMING | _GOING | _MOVE_SELF | _DELETE_SELF | _SAFELY
_TELLING: Final = ("subscriptions", LIST.decode())
"""Files that say what mailboxes are; a folder without a list is none yet."""
_NOTHING: Final = Seen()


class _Place(NamedTuple):
    """A mailbox's folder, and the watches on it and on its new/."""

    folder: bytes
    watch: int
    new: int


@final
class GateWatch:
    """The watches. `follow` is called by threads, everything else in the loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` is called when there is something to take. Raises OSError."""
        self._wake: Final = wake
        self._inotify: Final = INotify(nonblocking=True)
        self._boxes: Final[dict[int, str]] = {}
        """Watch of a mailbox's folder -> mailbox."""
        self._new: Final[dict[int, str]] = {}
        """Watch of its new/ -> mailbox."""
        self._users: Final[dict[int, str]] = {}
        """Watch of a folder with mailboxes -> user."""
        self._paths: Final[dict[int, bytes]] = {}
        """Watch of such a folder, or of one above -> its path."""
        self._above: Final[set[bytes]] = set()
        """The folders above that are watched."""
        self._places: Final[dict[str, _Place]] = {}
        """Mailbox -> where it is watched."""
        self._seen: dict[str, Seen] = {}
        self._seen_users: set[str] = set()
        self._loop: Final = asyncio.get_running_loop()
        self._epoll: Final = select.epoll()
        self._epoll.register(self._inotify.fileno(), select.EPOLLIN)
        self._loop.add_reader(self._epoll.fileno(), self._look)
        self._rest: asyncio.TimerHandle | None = None
        """Its end lets events of the kernel be heard again."""
        self._open: Final[set[str]] = set()
        """Mailboxes whose gates are open."""
        self._held: Final[dict[str, float]] = {}
        """One of these -> since when its lock is held, in seconds of the loop's clock."""
        self._holding: asyncio.TimerHandle | None = None
        """Its end tells of those that are held for HELD_S."""

    def follow(self, box: str, folder: bytes) -> None:
        """Watch a mailbox, whose gate is shut; one that is watched already stays so. Raises OSError."""
        self._open.discard(box)
        self._held.pop(box, None)
        place = _Place(folder, self._added(folder, _SHUT | _ADD), self._added(folder + b"/" + NEW, _NEW))
        before = self._places.get(box)
        self._boxes[place.watch], self._new[place.new], self._places[box] = box, box, place
        if before is not None and before.watch != place.watch:
            self._end(box, before)

    def gone(self, box: str) -> None:
        """A mailbox is not here any more."""
        self._places.pop(box, None)

    def _end(self, box: str, before: _Place) -> None:
        """What is watched no more is not missed either."""
        for watches, watch in ((self._boxes, before.watch), (self._new, before.new)):
            if watches.get(watch) == box:
                del watches[watch]
                if watch not in self._users:
                    with suppress(OSError):
                        self._inotify.rm_watch(watch)

    def follow_open(self, folder: bytes) -> None:
        """A mailbox that is watched has an open gate: who reads its lock file is no news until it is watched again, and
        a Dovecot opens a dozen files there for each message. Raises OSError."""
        watch = self._added(folder, _OPENED | _ADD)
        self._added(folder, _OPENED | (_USER if watch in self._users else 0))
        if watch in self._boxes:
            self._open.add(self._boxes[watch])

    def follow_user(self, user: str, folder: bytes) -> None:
        """Watch a folder in which mailboxes of a user come and go; one that is watched already stays so. Raises
        OSError."""
        watch = self._added(folder, _USER | _ADD)
        self._users[watch], self._paths[watch] = user, folder
        for above in _above(folder):
            # Where this is forbidden, or too much, the folder itself is watched all the same.
            if above not in self._above:
                with suppress(OSError):
                    self._paths[self._added(above, _MOVE_SELF | _ONLYDIR | _ADD)] = above
                    self._above.add(above)

    def _added(self, path: bytes, what: int) -> int:
        try:
            watch: int = self._inotify.add_watch(path, what)
        except OSError as error:
            raise OSError(error.errno, _why(error), path) from None
        return watch

    def take(self, ours: Sequence[str]) -> list[tuple[str, Seen]]:
        """What happened since it was asked last, by mailbox; who read the lock files of `ours`, was this process."""
        self._read()
        if self._seen_users:
            self._wake()
        if ours:
            # Who waits at a gate that was shut just now is heard at once.
            self._end_rest()
        seen, self._seen = self._seen, {}
        for box in ours:
            if box in seen:
                # Who released a lock that is ours by now, was done when it was taken.
                seen[box] = seen[box]._replace(reads=False, released=seen[box].released and not self._is_kept(box))
        return [(box, what) for box, what in seen.items() if what != _NOTHING]

    def take_users(self) -> list[str]:
        """Whose folders changed since it was asked last; what this finds of mailboxes, `take` is to be asked for."""
        self._read()
        seen, self._seen_users = self._seen_users, set()
        return sorted(seen)

    def close(self) -> None:
        self._end_rest()
        if self._holding is not None:
            self._holding.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        self._inotify.close()

    def _look(self) -> None:
        """Something is there to be read. When a Dovecot is done, what comes next is left for a while, to be taken
        together. Not so when one waits for a lock, or brings mail: it is done soon, and others may wait for that."""
        self._read()
        if self._seen or self._seen_users:
            self._wake()
        if any(seen.released for seen in self._seen.values()):
            self._epoll.modify(self._inotify.fileno(), 0)
            self._rest = self._loop.call_later(REST_S, self._end_rest)

    def _end_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        self._epoll.modify(self._inotify.fileno(), select.EPOLLIN)

    def _read(self) -> None:
        for event in self._inotify.read(timeout=0):
            if event.mask & _Q_OVERFLOW:
                # Whatever happened may have been lost.
                self._seen = dict.fromkeys(self._boxes.values(), Seen(True, True, True))
                self._seen_users = set(self._users.values())
            elif event.mask & _IGNORED:
                self._lose(event.wd)
                self._above.discard(self._paths.pop(event.wd, b""))
                for watches in (self._boxes, self._new, self._users):
                    watches.pop(event.wd, None)
            else:
                self._note(event.wd, event.mask, event.name)

    def _lose(self, wd: int) -> None:
        """What is watched is not where it was, or not there any more."""
        box = self._boxes.get(wd) or self._new.get(wd)
        if box is not None:
            self._open.discard(box)
            self._see(box, released=True)
        if wd in self._users:
            self._seen_users.add(self._users[wd])

    def _lose_below(self, folder: bytes) -> None:
        """It was renamed, with all that is below, of which the kernel tells nothing."""
        below = folder + b"/"
        self._above.discard(folder)
        for watch in [place.watch for place in list(self._places.values()) if place.folder.startswith(below)]:
            self._lose(watch)
        for watch in [watch for watch, path in list(self._paths.items()) if path.startswith(below)]:
            self._above.discard(self._paths.pop(watch, b""))
            self._lose(watch)

    def _note(self, wd: int, mask: int, name: str) -> None:
        if wd in self._new and mask & _COMING:
            self._see(self._new[wd], brought=True)
        elif wd in self._boxes and name == _LOCK and mask & _OPEN:
            self._see(self._boxes[wd], reads=True)
        elif wd in self._boxes and mask & _DELETE and (name == _LOCK or name.startswith(_STALE)):
            self._held.pop(self._boxes[wd], None)
            self._see(self._boxes[wd], released=True)
        elif wd in self._boxes and mask & _CREATE and name == _LOCK and self._boxes[wd] in self._open:
            self._hold(self._boxes[wd])
        if mask & _MOVE_SELF:
            self._lose(wd)
            if wd in self._paths:
                self._lose_below(self._paths.pop(wd))
        is_telling = (mask & _ISDIR or name in _TELLING) and mask & (_COMING | _GOING)
        if wd in self._users and (is_telling or mask & _DELETE_SELF):
            self._seen_users.add(self._users[wd])

    def _is_kept(self, box: str) -> bool:
        """Is the lock of a mailbox, whose gate was shut, still ours?"""
        place = self._places.get(box)
        try:
            return place is not None and os.stat(place.folder + b"/" + NAME).st_mtime_ns == GATE_NS
        except OSError:
            return False

    def _hold(self, box: str) -> None:
        """Its lock was taken. One that this process took is told of as well, once, and is gone by then."""
        self._held.setdefault(box, self._loop.time())
        if self._holding is None:
            self._holding = self._loop.call_later(HELD_S, self._tell_held)

    def _tell_held(self) -> None:
        self._read()
        now, self._holding = self._loop.time(), None
        for box, taken in list(self._held.items()):
            if taken + HELD_S <= now:
                self._held.pop(box, None)
                self._see(box, holds=True)
        if self._held:
            self._holding = self._loop.call_at(min(self._held.values()) + HELD_S, self._tell_held)
        if self._seen or self._seen_users:
            self._wake()

    def _see(self, box: str, **what: bool) -> None:
        self._seen[box] = self._seen.get(box, _NOTHING)._replace(**what)


def _above(folder: bytes) -> Iterator[bytes]:
    """The folders above this one, but the root."""
    while (folder := os.path.dirname(folder)) not in (b"", b"/"):
        yield folder


def _why(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"the kernel watches no more folders for this user, and each mailbox needs {WATCHES}: raise"
            " fs.inotify.max_user_watches (sysctl)"
        )
    return os.strerror(error.errno or 0)
