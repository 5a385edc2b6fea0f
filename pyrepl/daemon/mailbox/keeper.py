"""The keeper: a small process that outlives a killed daemon and keeps its gates shut.

It owns the lock files that are kept (uidlist_lock.py names its pid in them), and says its pid to each daemon that
connects. It ends as well when its socket is removed. Not here: what it does with the gates, and what a daemon tells it
(pyrepl.mailbox.gatekeeping), and the daemon's end (keeper_link.py).
"""

from __future__ import annotations

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
from pyrepl.mailbox.gatekeeping import Gatekeeping
from pyrepl.mailbox.uids import UidBlocks

NAME: Final = "mailbox-keeper"
"""Of its socket, in the folder of mailbox.db."""
_MOST_BYTES: Final = 65536


@final
class KeptGates:
    """The lock files of the keeper's gates."""

    def __init__(self, lock: UidlistLock) -> None:
        self._lock: Final = lock
        self._files: Final = DiskFiles()

    def shut(self, gate: bytes) -> bool:
        """As GateFiles has it. Raises OSError."""
        try:
            with self._lock.briefly():
                self._lock.shut(gate)
        except LockBusy:
            return False
        return True

    def open(self, gate: bytes) -> None:
        with suppress(OSError):
            self._lock.open(gate)

    def part(self, gate: bytes, blocks: UidBlocks, place: int) -> bool:
        uidlist = UidlistFile(self._files, gate)
        try:
            uidlist.load()
            uidlist.append([], blocks.first(uidlist.next_uid, place))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, CorruptData, OverflowError):
            return False
        return True


def serve(listener: socket.socket, gatekeeping: Gatekeeping) -> None:
    """Until it is over. One daemon at a time: the last one that came."""
    daemon: socket.socket | None = None
    rest = b""
    inode = os.stat(NAME).st_ino
    while not gatekeeping.is_over and _is_there(inode):
        watched = [listener] if daemon is None else [listener, daemon]
        ready, _, _ = select.select(watched, [], [], gatekeeping.next_s())
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
        serve(listener, Gatekeeping(KeptGates(lock)))
    finally:
        with suppress(OSError):
            os.unlink(NAME)


if __name__ == "__main__":
    main()
