"""Where the Maildirs lie, and whether they are really there: an unmounted disk must not look like users without mail.

The file `.pyrepl-mailboxes` at the root of the Maildirs says so. It is made once, when a node without any data begins,
and never again: where it is missing the disk is, or it is another one. It names the node's database, so that Maildirs
of another node, which were mounted here by mistake, are seen as well.
"""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple, final

from pyrepl.daemon.mailbox.files import Files, folder_of, replace
from pyrepl.errors import PyreplError
from pyrepl.words import from_text, to_text

MARKER: Final = b".pyrepl-mailboxes"
_MOST_SHOWN: Final = 80
_LETTERS: Final = {"u": "[^./%@][^/%]*", "n": "[^./%@][^/%@]*", "d": "[^./%@][^/%@]*"}
"""What each letter of the pattern may be in the name of a folder that is there."""
_MOST_NAME_BYTES: Final = 255
"""Of a file's name (NAME_MAX)."""


class NotThere(PyreplError):
    """The Maildirs, or one user's, cannot be what they are to be; the text says what to do. Nothing is concluded from
    what is missing."""


class _Named(NamedTuple):
    """What of a user's name a path has told."""

    u: str = ""
    n: str = ""
    d: str = ""

    @property
    def user(self) -> str:
        return self.u or (f"{self.n}@{self.d}" if self.d else self.n)


@final
class MaildirsPlace:
    """The folder of each user, by the pattern of `mailbox-maildir`: %u user, %n what stands before its @, %d what
    stands behind it. The root is the folder before the first of them."""

    def __init__(self, files: Files, pattern: str, owner: int | None = None) -> None:
        """`owner`: the uid that must own users' folders; None for this process's. Raises ValueError for a pattern that
        is not absolute, names no user or has another %."""
        if not pattern.startswith("/") or not ("%u" in pattern or "%n" in pattern):
            raise ValueError(f"{pattern!r} is no absolute path with %u, or %n and %d, for the user")
        if unknown := re.findall("%(?![und]).?", pattern):
            raise ValueError(f"{pattern!r} has {unknown[0]}, which says nothing here: only %u, %n and %d do")
        self._files: Final = files
        self._pattern: Final = pattern
        self._owner: Final = os.geteuid() if owner is None else owner
        self.root: Final = from_text(pattern.partition("%")[0].rpartition("/")[0] or "/")

    def prepare(self, origin: str) -> None:
        """Say that Maildirs of the node with this origin are here: for a node that begins without any data. Raises
        NotThere if they are another's, OSError."""
        if self._files.stat(self.root) is None:
            raise NotThere(f"{os.fsdecode(self.root)} is not there: make it, or mount it")
        marker = self.root + b"/" + MARKER
        if self._files.stat(marker) is not None:
            self.check(origin)
            return
        replace(self._files, marker, f"{origin}\n".encode(), marker + b".tmp")

    def check(self, origin: str) -> None:
        """Raises NotThere unless the Maildirs of this node are here."""
        marker = self.root + b"/" + MARKER
        where = os.fsdecode(marker)
        try:
            said = self._files.read(marker).strip()
        except FileNotFoundError:
            raise NotThere(
                f"{where} is missing: is the disk of the Maildirs mounted? Nothing is done without it. If the disk is"
                " new and empty, move mailbox.db away and start: all mail comes from the other nodes. If only that file"
                f" was removed, write the line {origin} into it"
            ) from None
        except OSError as error:
            raise NotThere(f"{where} cannot be read: {error.strerror}") from None
        if said != origin.encode():
            raise NotThere(f"{where} names {to_text(said)[:_MOST_SHOWN]!r}, not {origin}: another node's Maildirs?")

    def folder(self, user: str) -> bytes:
        """The user's folder. `user` is a name that the protocol lets pass: not empty, no `/`, no control characters,
        not `.` or `..`. Raises NotThere for one whose parts would lead elsewhere, or into a folder of our own beside
        the Maildirs, whose names begin with a dot, or into one that users of other domains would have too."""
        name, _, domain = user.partition("@")
        found = self._pattern
        if name != user and not ("%u" in self._pattern or "%d" in self._pattern):
            raise NotThere(
                f"the user {user!r} has no folder in {self._pattern}: other domains' users would have it too"
            )
        for letter, part in (("%u", user), ("%n", name), ("%d", domain)):
            if letter in self._pattern and (not part or part.startswith(".") or "/" in part or "%" in part):
                raise NotThere(f"the user {user!r} has no folder in {self._pattern}")
            found = found.replace(letter, part)
        if any(len(part) > _MOST_NAME_BYTES for part in from_text(found).split(b"/")):
            raise NotThere(f"the name of the user {user!r} is too long for a folder")
        return from_text(found)

    def why_no_user(self, user: str) -> str:
        """Why no folder can be this user's, "" if one can."""
        try:
            self.folder(user)
        except NotThere as error:
            return str(error)
        return ""

    def users(self) -> list[str]:
        """Who has a folder where the pattern says, in order; names that begin with a dot are nobody's. Raises
        OSError."""
        found = [(self.root, _Named())]
        for part in self._pattern[len(self.root) :].strip("/").split("/"):
            found = [each for folder, named in found for each in self._below(folder, part, named)]
        users = sorted({named.user for _, named in found})
        return [user for user in users if self.folder(user) in {folder for folder, _ in found}]

    def _below(self, folder: bytes, part: str, named: _Named) -> list[tuple[bytes, _Named]]:
        """Folders that a part of the pattern may mean."""
        pattern = re.escape(part)
        for letter, wanted in _LETTERS.items():
            pattern = pattern.replace(f"%{letter}", f"(?P<{letter}>{wanted})", 1).replace(
                f"%{letter}", f"(?P={letter})"
            )
        found = []
        for name in map(to_text, self._files.names(folder)) if "%" in part else [part]:
            match = re.fullmatch(pattern, name)
            path = folder.rstrip(b"/") + b"/" + from_text(name)
            there = self._files.stat(path)
            if match is not None and there is not None and there.is_folder:
                found.append((path, named._replace(**match.groupdict())))
        return found

    def make(self, user: str) -> bytes:
        """The user's folder, which is made with those above it, below the root, if it is not there. Raises NotThere,
        OSError."""
        folder = self.folder(user)
        missing = []
        above = folder
        while len(above) > len(self.root) and self._files.stat(above) is None:
            missing.append(above)
            above = folder_of(above)
        for each in reversed(missing):
            self._files.make_folder(each)
            self._files.sync(folder_of(each))
        return self.present(user)

    def present(self, user: str) -> bytes:
        """The user's folder, which is there and ours. Raises NotThere, OSError."""
        folder = self.folder(user)
        found = self._files.stat(folder)
        where = os.fsdecode(folder)
        if found is None or not found.is_folder:
            raise NotThere(f"{where}, the folder of {user}, is missing: is its disk mounted?")
        if found.owner != self._owner:
            raise NotThere(
                f"{where} belongs to uid {found.owner}, pyrepl runs as uid {self._owner}: it runs as the owner of the"
                " mail, or the folder has to be given to it"
            )
        return folder
