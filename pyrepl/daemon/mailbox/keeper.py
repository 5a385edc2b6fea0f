"""The keeper: a small process that outlives a killed daemon and keeps its gates shut, so that no Dovecot gives out UIDs
that another node gives out too.

It owns the lock files that are kept (uidlist_lock.py names its pid in them). The daemon tells it each gate that it
shuts, and each that it is about to open. When the daemon is gone without a farewell, the keeper shuts all of them, and
waits for a new daemon. If none comes in time and this node goes on apart, the next UID of each mailbox is raised to
what the node may give out by itself, and the gates are opened.

    keeper -> daemon     <pid>
    daemon -> keeper     apart <orphan ms> <gap> <members> <place>     or `wait`: they stay shut until a daemon comes
                         open <folder>, shut <folder>                  base64
                         bye                                           all gates go, and the keeper

It ends as well when its socket is removed. Not here: the daemon's end (keeper_link.py).
"""

from __future__ import annotations

import base64
import os
import select
import socket
import sys
import time
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.uidlist_file import UidlistFile
from pyrepl.daemon.mailbox.uidlist_lock import LockBusy, UidlistLock
from pyrepl.errors import CorruptData
from pyrepl.mailbox.uids import UidBlocks

NAME: Final = "mailbox-keeper"
"""Of its socket, in the folder of mailbox.db."""
_TRY_S: Final = 0.02
_LOOK_S: Final = 1.0
_MOST_BYTES: Final = 65536


@final
class Gatekeeping:
    """The gates, and what becomes of them; `now` is monotonic seconds."""

    def __init__(self, lock: UidlistLock) -> None:
        self._lock: Final = lock
        self._files: Final = DiskFiles()
        self.gates: Final[dict[bytes, bool]] = {}
        """Folder -> is it open?"""
        self.is_over = False
        self.orphan_s: float | None = None
        """So long a new daemon is waited for; None for as long as it takes."""
        self._blocks = UidBlocks(1, 1)
        self._place = 0
        self._orphaned_at: float | None = None

    def hear(self, line: bytes) -> None:
        """What the daemon says."""
        match line.split():
            case [b"apart", orphan_ms, gap, members, place]:
                self.orphan_s = int(orphan_ms) / 1000
                self._blocks, self._place = UidBlocks(int(gap), int(members)), int(place)
            case [b"wait"]:
                self.orphan_s = None
            case [b"open" | b"shut" as how, folder]:
                self.gates[base64.b64decode(folder)] = how == b"open"
            case [b"bye"]:
                for gate in self.gates:
                    self._open(gate)
                self.is_over = True

    def daemon_came(self) -> None:
        self._orphaned_at = None

    def daemon_gone(self, now: float) -> None:
        """Without a farewell."""
        self._orphaned_at = now

    def tick(self, now: float) -> None:
        """Shut what is open, while nobody else does."""
        if self._orphaned_at is None:
            return
        for gate, is_open in list(self.gates.items()):
            if is_open:
                self._shut(gate)
        if self.orphan_s is not None and now >= self._orphaned_at + self.orphan_s:
            for gate in self.gates:
                self._raise(gate)
                self._open(gate)
            self.is_over = True

    def next_s(self, now: float) -> float:
        """After how many seconds tick() may have something to do."""
        if self._orphaned_at is None:
            return _LOOK_S
        return _TRY_S if any(self.gates.values()) else _LOOK_S

    def _shut(self, gate: bytes) -> None:
        try:
            with self._lock.briefly():
                self._lock.shut(gate)
        except LockBusy:
            return
        except OSError:
            # The mailbox was removed; what else it may be, the daemon that comes finds out.
            del self.gates[gate]
            return
        self.gates[gate] = False

    def _open(self, gate: bytes) -> None:
        with suppress(OSError):
            self._lock.open(gate)

    def _raise(self, gate: bytes) -> None:
        """A gate that could not be shut is a Dovecot's, whose UIDs nobody can change any more."""
        if self.gates[gate]:
            return
        uidlist = UidlistFile(self._files, gate)
        with suppress(OSError, CorruptData, OverflowError):
            uidlist.load()
            uidlist.append([], self._blocks.first(uidlist.next_uid, self._place))


def serve(listener: socket.socket, gatekeeping: Gatekeeping) -> None:
    """Until it is over. One daemon at a time: the last one that came."""
    daemon: socket.socket | None = None
    rest = b""
    inode = os.stat(NAME).st_ino
    while not gatekeeping.is_over and _is_there(inode):
        watched = [listener] if daemon is None else [listener, daemon]
        ready, _, _ = select.select(watched, [], [], gatekeeping.next_s(time.monotonic()))
        if daemon is not None and daemon in ready:
            data = _received(daemon)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                gatekeeping.hear(line)
            if not data:
                daemon.close()
                daemon, rest = None, b""
                gatekeeping.daemon_gone(time.monotonic())
        # Whoever gets the pid may rely on the keeper. One that comes while the keeper ends gets the end of the file.
        if listener in ready and not gatekeeping.is_over:
            if daemon is not None:
                daemon.close()
            daemon, rest = listener.accept()[0], b""
            # A daemon that is gone by now is noticed when it is read.
            with suppress(OSError):
                daemon.sendall(b"%d\n" % os.getpid())
            gatekeeping.daemon_came()
        gatekeeping.tick(time.monotonic())


def _received(daemon: socket.socket) -> bytes:
    try:
        return daemon.recv(_MOST_BYTES)
    except OSError:
        return b""


def _is_there(inode: int) -> bool:
    try:
        return os.stat(NAME).st_ino == inode
    except OSError:
        return False


def main() -> None:
    """In the folder of its socket. Says on its standard output when it can be reached."""
    with suppress(FileNotFoundError):
        os.unlink(NAME)
    listener = socket.socket(socket.AF_UNIX)
    os.umask(0o077)
    listener.bind(NAME)
    listener.listen()
    sys.stdout.write("ready\n")
    sys.stdout.close()
    lock = UidlistLock(DiskFiles(), socket.gethostname().encode(), time.sleep, keeper=os.getpid())
    try:
        serve(listener, Gatekeeping(lock))
    finally:
        with suppress(OSError):
            os.unlink(NAME)


if __name__ == "__main__":
    main()
