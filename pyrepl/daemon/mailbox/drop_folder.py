"""`.pyrepl-drop`, beside the users' Maildirs and on their disk: where texts lie that came from elsewhere, and folders
in the making or on their way out.

A text comes in pieces, is counted and summed while it comes, and is whole and on disk before its work is told. It stays
until the row is committed. So at a start what lies here tells which messages were brought by ops whose rows may be
missing; when these are dealt with, all of it can go: it belongs to works that are told again, with their texts, or to
none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, final

from pyrepl.daemon.mailbox.files import Files, remove_tree
from pyrepl.errors import PyreplError
from pyrepl.mailbox.maildir.filename import is_base
from pyrepl.mailbox.maildir.text_sums import TextSums, first_difference
from pyrepl.mailbox.words import Dot
from pyrepl.words import from_text, to_text

NAME: Final = b".pyrepl-drop"
_SEQ_AND_GUID: Final = re.compile(r"(?<=.)\.(?=([0-9]{1,19})\.(.+))", re.DOTALL)


class WrongText(PyreplError):
    """A text that is not what its line said; it has to be sent again."""


@final
class DropFolder:
    """The folder of one disk. Its methods raise OSError."""

    def __init__(self, files: Files, root: bytes) -> None:
        """`root`: the folder with the Maildirs of all users."""
        self._files: Final = files
        self._folder: Final = root + b"/" + NAME

    def prepare(self) -> None:
        """Make it, if it is not there."""
        if self._files.stat(self._folder) is None:
            self._files.make_folder(self._folder)

    def clear(self) -> None:
        """Empty it: after a start, when what a crash left is dealt with and nothing is under way."""
        for name in self._files.names(self._folder):
            remove_tree(self._files, self._folder + b"/" + name)

    def ops(self) -> dict[str, Dot]:
        """`shown_guid` of each message whose text lies here -> the op that brought it."""
        found: dict[str, Dot] = {}
        for name in map(to_text, self._files.names(self._folder)):
            # A node's name may have dots and digits as well: of all ways to read the name, at most one has a GUID that
            # anybody asks for.
            for each in _SEQ_AND_GUID.finditer(name):
                found[each[2]] = Dot(name[: each.start()], int(each[1]))
        return found

    def path(self, name: str) -> bytes:
        """Where the text of that name lies, or would."""
        assert "/" not in name and not name.startswith(".")
        return self._folder + b"/" + from_text(name)

    def folder_path(self, kind: bytes, guid: bytes) -> bytes:
        """Where a folder is made (`box`), or taken apart (`gone`)."""
        return self._folder + b"/" + kind + b"." + guid

    def begin(self, dot: Dot, guid: str) -> IncomingText:
        """A text that begins to come; one of the same name is from a try before, and goes."""
        name = text_name(dot, guid)
        with suppress(FileNotFoundError):
            self._files.unlink(self.path(name))
        return IncomingText(self._files, self._folder, name)

    def remove(self, names: Iterable[str]) -> None:
        """Texts whose rows are committed; what is gone already is well."""
        for name in names:
            with suppress(FileNotFoundError):
                self._files.unlink(self.path(name))


@final
class IncomingText:
    """One text on its way into the folder."""

    def __init__(self, files: Files, folder: bytes, name: str) -> None:
        self.name: Final = name
        self._files: Final = files
        self._folder: Final = folder
        self._path: Final = folder + b"/" + from_text(name)
        self._sums: Final = TextSums()
        self._is_there = False

    def write(self, data: bytes) -> None:
        """The next piece. Raises OSError."""
        self._sums.feed(data)
        if self._is_there:
            self._files.append(self._path, data)
        else:
            self._files.write_new(self._path, data)
            self._is_there = True

    def finish(self, received: int, size: int, sums: tuple[int, ...]) -> tuple[int, ...]:
        """It is whole, and on disk when this returns its checksums: with the date `received`, Unix seconds.

        `sums` are those that were stated, () for none. Raises WrongText, OSError.
        """
        if not self._is_there:
            self.write(b"")
        if self._sums.size != size:
            raise WrongText(f"{self.name}: expected {size} bytes, got {self._sums.size}")
        differs_at = first_difference(sums, self._sums.sums) if sums else None
        if differs_at is not None:
            raise WrongText(f"{self.name}: the text is not the one that was sent, from byte {differs_at} on")
        self._files.set_mtime(self._path, received)
        self._files.sync(self._path)
        self._files.sync(self._folder)
        return self._sums.sums

    def abandon(self) -> None:
        """It did not come whole. Raises OSError."""
        if self._is_there:
            with suppress(FileNotFoundError):
                self._files.unlink(self._path)
            self._is_there = False


def text_name(dot: Dot, guid: str) -> str:
    """`<origin>.<seq>.<guid>`."""
    return f"{dot.origin}.{dot.seq}.{shown_guid(guid)}"


def shown_guid(guid: str) -> str:
    """A GUID as it stands in a file's name: one that cannot, as a digest."""
    raw = from_text(guid)
    return to_text(raw) if is_base(raw) else hashlib.sha256(raw).hexdigest()
