"""Where the folder of a mailbox lies below its user's folder, and what a folder's name says.

| layout | INBOX | Work/Sub |
|---|---|---|
| Maildir++ | the user's folder itself | `.Work.Sub` beside `cur` |
| fs (LAYOUT=fs) | the same | `Work/Sub` |

Names are UTF-8 texts with "/" between their parts, as on the wire; on disk they are in modified UTF-7. Whatever comes
from elsewhere passes `why_not` before it is a path: no name leaves the user's folder or means a file of Dovecot's.
"""

from __future__ import annotations

import unicodedata
from typing import Final, Protocol, final

from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir import mutf7
from pyrepl.mailbox.maildir.filename import MOST_BYTES
from pyrepl.mailbox.words import MOST_NAME_BYTES, is_inbox

INBOX: Final = "INBOX"
MOST_PARTS: Final = 32
_RESERVED: Final = frozenset({b"cur", b"new", b"tmp", b"maildirfolder", b"subscriptions"})
"""What stands in a Maildir beside the folders of an fs layout."""
_OWN_PREFIXES: Final = (b"dovecot", b".pyrepl", b"pyrepl.")


class Layout(Protocol):
    """Names to folders and back, both relative to the user's folder; INBOX is b"", the user's folder itself."""

    separator: str
    """What stands between the parts of a name on disk, and in IMAP."""

    def why_not(self, name: str) -> str | None:
        """Why no mailbox may have this name; None if one may."""

    def tamed(self, part: str) -> str:
        """A part of a name without what this layout cannot store, but its length."""

    def folder(self, name: str) -> bytes:
        """The folder of a name that `why_not` has nothing against."""

    def name(self, folder: bytes) -> str | None:
        """The name of the mailbox in that folder, in NFC; None if such a folder is none of ours. Two folders may have
        one name, where a client made one of them in another form of Unicode."""


@final
class MaildirPlusPlus:
    """All folders side by side, `.` before each part."""

    separator = "."

    def why_not(self, name: str) -> str | None:
        if "." in name:
            return "a name with a dot cannot be stored in the Maildir++ layout, where the dot parts folders"
        found = _why_not(name)
        if found is None and len(self.folder(name)) > MOST_BYTES:
            return f"the folder's name would be longer than {MOST_BYTES} bytes"
        return found

    def tamed(self, part: str) -> str:
        return part.replace(".", "_")

    def folder(self, name: str) -> bytes:
        name = normal(name)
        return b"" if name == INBOX else b"".join(b"." + mutf7.encode(part) for part in name.split("/"))

    def name(self, folder: bytes) -> str | None:
        if not folder:
            return INBOX
        if not folder.startswith(b".") or b"/" in folder:
            return None
        return _checked(self, folder[1:].split(b"."))


@final
class Fs:
    """A folder within a folder."""

    separator = "/"

    def why_not(self, name: str) -> str | None:
        found = _why_not(name)
        if found is not None:
            return found
        parts = [mutf7.encode(part) for part in normal(name).split("/")]
        if any(map(_is_a_files, parts)):
            return "a part of the name is that of a file that a Maildir has"
        if any(len(part) > MOST_BYTES for part in parts):
            return f"a folder's name would be longer than {MOST_BYTES} bytes"
        return None

    def tamed(self, part: str) -> str:
        return f"_{part}" if _is_a_files(mutf7.encode(part)) else part

    def folder(self, name: str) -> bytes:
        name = normal(name)
        return b"" if name == INBOX else b"/".join(mutf7.encode(part) for part in name.split("/"))

    def name(self, folder: bytes) -> str | None:
        return _checked(self, folder.split(b"/")) if folder else INBOX


LAYOUTS: Final[dict[str, Layout]] = {"maildir++": MaildirPlusPlus(), "fs": Fs()}
"""By the words of the directive mailbox-layout."""


def normal(name: str) -> str:
    """The one form of a name: NFC, and INBOX in capitals, also as the first part of others (as Dovecot has it)."""
    name = unicodedata.normalize("NFC", name)
    first, slash, rest = name.partition("/")
    return INBOX + slash + rest if is_inbox(first) else name


def _why_not(name: str) -> str | None:
    """What no layout can take."""
    if name.count("/") >= MOST_PARTS:
        return f"the name has more than {MOST_PARTS} parts"
    why = why_unsafe(name)
    if why is None and len(normal(name).encode()) > MOST_NAME_BYTES:
        return f"the name is longer than {MOST_NAME_BYTES} bytes"
    return why


def why_unsafe(name: str) -> str | None:
    """Why a name could lead out of the user's folder, or is none; the protocol lets no such name pass."""
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "a part of the name is empty, `.` or `..`"
    if name.startswith("~"):
        return "the name begins with `~`"
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        return "the name has control characters, or is no text"
    return None


def _is_a_files(part: bytes) -> bool:
    """Does a Maildir have a file or a folder of that name?"""
    return part in _RESERVED or part.startswith(_OWN_PREFIXES)


def _checked(layout: Layout, parts: list[bytes]) -> str | None:
    """The name that these parts spell, in NFC: Dovecot makes folders in whatever form a client wrote."""
    try:
        spelled = unicodedata.normalize("NFC", "/".join(map(mutf7.decode, parts)))
    except CorruptData:
        return None
    is_ours = spelled != INBOX and normal(spelled) == spelled and layout.why_not(spelled) is None
    return spelled if is_ours else None
