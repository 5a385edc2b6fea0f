"""A process that puts messages into a Maildir until it is killed: `python -m tests.fault.mailbox_adder ROOT FIRST`.

It prints the UID of each message after the work was told as done. Every third message moves once, every fifth goes. The
first one may have been done before, by one that was killed before it told: where a Dovecot has taken the line of its
first UID out of the list since, this UID is too low by now.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

from pyrepl.daemon.mailbox.files import DiskFiles
from pyrepl.daemon.mailbox.maildir_store import MaildirStore
from pyrepl.daemon.mailbox.maildirs_place import MaildirsPlace
from pyrepl.daemon.mailbox.uidlist_lock import UidlistLock
from pyrepl.mailbox.maildir.layout import LAYOUTS
from pyrepl.mailbox.store import AddMessage, MakeBox, MoveMessage, Outcome, RemoveMessage, Work
from pyrepl.mailbox.words import Dot

BOX = f"{1:032x}"
STEP = 10
"""UIDs from one message to the next; a message that moves gets the one in the middle."""


def open_store(root: Path, is_new: bool = False) -> MaildirStore:
    files = DiskFiles()
    lock = UidlistLock(files, socket.gethostname().encode(), time.sleep)
    store = MaildirStore(files, MaildirsPlace(files, f"{root}/%u"), LAYOUTS["maildir++"], lock, "a", time.sleep)
    store.prepare(is_new)
    return store


def text(number: int) -> bytes:
    return b"Subject: %d\r\n\r\n" % number + b"x" * (number % 7) * 1000


def works(store: MaildirStore, number: int) -> list[Work]:
    """What is told of one message."""
    guid, content = f"G{number}", text(number)
    coming = store.drop.begin(Dot("b", number), guid)
    coming.write(content)
    coming.finish(1_700_000_000, len(content), ())
    told: list[Work] = [AddMessage("alice", BOX, guid, number * STEP, ("kw",), 0, len(content), coming.name)]
    if number % 3 == 0:
        told.append(MoveMessage("alice", BOX, guid, number * STEP + STEP // 2))
    if number % 5 == 0:
        told.append(RemoveMessage("alice", BOX, guid))
    return told


def main(root: Path, number: int) -> None:
    store = open_store(root)
    allowed = {Outcome.DONE, Outcome.TOO_LOW}
    while True:
        results = store.perform([MakeBox("alice", BOX, "INBOX", 7, 1), *works(store, number)])
        assert {result.outcome for result in results} <= allowed, results
        os.write(1, b"%d\n" % number)
        number, allowed = number + 1, {Outcome.DONE}


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
