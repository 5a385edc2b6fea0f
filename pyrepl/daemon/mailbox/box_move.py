"""Moves what a mailbox's folder holds to a place where something is already.

Mail that lies there belongs to no mailbox: a delivery that has just come into INBOX's folder, or a folder whose
dovecot-uidlist is gone. Somebody was answered 250 for it, so it joins the mailbox, as mail that is new there. It goes
into the mailbox's own folders first, file by file, and these are laid over the emptied ones then: so the mailbox's
messages are not away from its list for longer than without such mail. Nothing that may be mail is removed.

Not here: which place a mailbox has (user_boxes.py). Source: rename(2), a folder takes the place of an empty one at
once, and of no other.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Set
from contextlib import suppress
from itertools import count
from typing import Final

from pyrepl.daemon.mailbox import uidlist_file
from pyrepl.daemon.mailbox.box_keywords import BoxKeywords
from pyrepl.daemon.mailbox.files import Files
from pyrepl.daemon.mailbox.message_files import CUR, NEW
from pyrepl.daemon.mailbox.user_folders import SUBFOLDERS
from pyrepl.mailbox.maildir.filename import base_of, parse, render
from pyrepl.mailbox.maildir.letters import flags_of, letters_of

_TRIES: Final = 100
"""So often in a row a delivery may come between emptying a folder and laying ours over it."""
_NOT_EMPTY: Final = (errno.ENOTEMPTY, errno.EEXIST)
_KEYWORDS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz")
"""Letters of a file's name that each mailbox gives a meaning of its own."""


def move_over(files: Files, old: bytes, new: bytes, stays: Callable[[bytes], bool] = lambda name: False) -> None:
    """Move what a mailbox has in its folder `old` into the folder `new`, which is there. What `stays` is no mailbox's
    or another's. `old` goes if it is empty then. Who calls holds the mailbox's lock. Raises OSError."""
    for name in SUBFOLDERS:
        if _is_folder(files, old + b"/" + name):
            _lay_over(files, old, new, name)
    # uidlist is what makes it a mailbox: it goes last, so that a crash leaves it where it was.
    for name in sorted(files.names(old), key=lambda name: name == uidlist_file.NAME):
        if not stays(name) and not _is_folder(files, new + b"/" + name):
            with suppress(FileNotFoundError):
                files.rename(old + b"/" + name, new + b"/" + name)
    files.sync(new)
    with suppress(OSError):
        files.remove_folder(old)


def link_over(files: Files, old: bytes, new: bytes) -> None:
    """Link the messages of the mailbox in `old` into the folder `new`, beside mail that lies there; on disk when this
    returns. It may be done again after a crash. Who calls holds the mailbox's lock. Raises OSError."""
    taken = bases_in(files, old)
    ours = {_inode(files, path) for name in (CUR, NEW) for path in _paths(files, old + b"/" + name)}
    for name in (CUR, NEW):
        for file in files.names(new + b"/" + name):
            if _inode(files, new + b"/" + name + b"/" + file) not in ours:
                _rename(files, new + b"/" + name, file, new + b"/" + name, _joining(files, old, new, name, file, taken))
        for file in files.names(old + b"/" + name):
            with suppress(FileExistsError):
                files.link(old + b"/" + name + b"/" + file, new + b"/" + name + b"/" + file)
        files.sync(new + b"/" + name)


def bases_in(files: Files, folder: bytes) -> set[bytes]:
    """Of the messages in a mailbox's folder."""
    return {base_of(path.rpartition(b"/")[2]) for name in (CUR, NEW) for path in _paths(files, folder + b"/" + name)}


def _lay_over(files: Files, old: bytes, new: bytes, name: bytes) -> None:
    """A folder of messages takes the place of another, whose files join it."""
    for _ in range(_TRIES):
        try:
            files.rename(old + b"/" + name, new + b"/" + name)
        except OSError as error:
            if error.errno not in _NOT_EMPTY:
                raise
        else:
            return
        taken = bases_in(files, old)
        for file in files.names(new + b"/" + name):
            joining = _joining(files, old, new, name, file, taken)
            _rename(files, new + b"/" + name, file, old + b"/" + name, joining)
            taken.add(base_of(joining))
    raise OSError(errno.ENOTEMPTY, "mail comes there faster than it can be moved", new + b"/" + name)


def _rename(files: Files, folder: bytes, file: bytes, to_folder: bytes, to_file: bytes) -> None:
    """What a Dovecot renames or removes at the same time may be gone by now."""
    if (folder, file) != (to_folder, to_file):
        with suppress(FileNotFoundError):
            files.rename(folder + b"/" + file, to_folder + b"/" + to_file)


def _joining(files: Files, old: bytes, new: bytes, name: bytes, file: bytes, taken: Set[bytes]) -> bytes:
    """What a file in `new` is called in the mailbox, whose bases are `taken`: two files of one base would be one
    message. Sizes that a base states stay behind it."""
    if name == CUR:
        file = _translated(files, old, new, file)
    base, colon, info = file.partition(b":")
    if base not in taken:
        return file
    unique, comma, stated = base.partition(b",")
    passed = taken | bases_in(files, new)
    free = next(each for number in count(2) if (each := b"%b.%d%b%b" % (unique, number, comma, stated)) not in passed)
    return free + colon + info


def _translated(files: Files, old: bytes, new: bytes, file: bytes) -> bytes:
    """The name with letters that mean in `old` what they meant in `new`."""
    name = parse(file)
    own = bytes(letter for letter in name.letters if letter not in _KEYWORDS)
    if own == name.letters:
        return file
    theirs, ours = BoxKeywords(files, new), BoxKeywords(files, old)
    theirs.load()
    ours.load()
    flags = flags_of(name.letters, theirs.known)
    ours.add(flags)
    return render(name.with_letters(letters_of(flags, ours.known, own)))


def _paths(files: Files, folder: bytes) -> list[bytes]:
    """Of what is in a folder; of none if it is not there."""
    return [folder + b"/" + file for file in files.names(folder)] if _is_folder(files, folder) else []


def _inode(files: Files, path: bytes) -> int | None:
    found = files.stat(path)
    return None if found is None else found.inode


def _is_folder(files: Files, path: bytes) -> bool:
    found = files.stat(path)
    return found is not None and found.is_folder
