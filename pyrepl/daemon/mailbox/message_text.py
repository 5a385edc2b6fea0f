"""What is told of the text of one message of a Maildir: its size, its date and its checksums.

The date is the file's time, which whoever brought the mail may have chosen: what the protocol cannot say is told as the
nearest date that it can. A text that cannot be read is no reason to tell nothing of the others.

Not here: which messages are there (open_box.py), and of which the texts are told (look.py).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Set
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files
from pyrepl.daemon.mailbox.listing import Message
from pyrepl.daemon.mailbox.look import Look, TextChoice
from pyrepl.mailbox.codec import MOST_TEXT
from pyrepl.mailbox.compare import Found, Text
from pyrepl.mailbox.kinds import MOST_COUNT
from pyrepl.mailbox.maildir.text_sums import TextSums
from pyrepl.mailbox.outgoing import PIECE_BYTES
from pyrepl.words import quote_word, to_text

_NO_MAIL: Final = frozenset(
    {
        *(errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ESPIPE),  # A folder, a link, a socket, a pipe.
        *(errno.EACCES, errno.EPERM),
        errno.EFBIG,
    }
)


@final
class TextReader:
    """Those that one look reads. `unread`: GUID -> why, of messages of which nothing is told, as their text cannot be
    read."""

    def __init__(self, files: Files, look: Look, again: Set[str]) -> None:
        """`again`: messages that could not be read before."""
        self._files: Final = files
        self._choice: Final = TextChoice(look)
        self._again: Final = again
        self.unread: dict[str, str] = {}

    def found(self, messages: Iterable[Message]) -> tuple[Found, ...]:
        """What is told of these messages, which ascend by UID. Raises OSError."""
        return tuple(found for each in messages if (found := self._found(each)) is not None)

    def _found(self, each: Message) -> Found | None:
        guid, text = to_text(each.guid), None
        if self._choice.wants(each.uid, guid) or guid in self._again:
            try:
                text = text_of(self._files, each.path, guid, self._choice)
            except OSError as error:
                if not is_no_mail(error):
                    raise
                self.unread[guid] = f"{shown_path(each.path)}: {error.strerror}"
                return None
        return Found(each.uid, guid, each.flags, text)


def text_of(files: Files, path: bytes, guid: str, choice: TextChoice) -> Text:
    """Read it; `choice` takes its pieces. Raises OSError."""
    counted = TextSums()
    is_whole = False
    while not is_whole:
        data = files.read_part(path, counted.size, PIECE_BYTES)
        is_whole = len(data) < PIECE_BYTES
        choice.take(guid, data, is_all=is_whole and not counted.size)
        counted.feed(data)
        if counted.size > MOST_TEXT:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    found = files.stat(path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "a message's file is gone", path)
    return Text(counted.size, received_of(found.mtime_ns), counted.sums)


def received_of(mtime_ns: int) -> int:
    """The date of a message, in Unix seconds, by its file's time. IMAP has dates before 1970, the protocol has none."""
    return min(max(mtime_ns // 1_000_000_000, 0), MOST_COUNT)


def shown_path(path: bytes) -> str:
    """For people, whatever bytes it is made of."""
    return quote_word(path).decode("ascii")


def is_no_mail(error: OSError) -> bool:
    """Is it this file alone that cannot be read, as it is no text, too large, or somebody else's? Whatever else is
    wrong may be so of all."""
    return error.errno in _NO_MAIL
