"""Names of messages' files: `cur/<base>:2,<letters>` and `new/<base>`.

The base names the message as long as it lives. It is the message's GUID too, unless dovecot-uidlist says another. By
custom it ends in `,S=<size>,W=<size with CRLF>`, which Dovecot believes: a size that is not the file's makes it
complain, so a base that states a wrong one is never taken over.

Letters that nobody gave a meaning, and what stands behind the letters, are kept as they are.

Not here: what letters mean (letters.py), and which UID a base has (uidlist.py). Source: Dovecot 2.3,
maildir-filename.c and maildir-filename-flags.c; https://cr.yp.to/proto/maildir.html.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, final

from pyrepl.frozen import Frozen

MOST_BYTES: Final = 255
"""The longest name that file systems take."""
MOST_BASE_BYTES: Final = 200
"""Of a base: what is left is for its letters."""
OWN_PREFIX: Final = b"pyrepl."
"""How files begin that are ours alone, in tmp/: Dovecot passes over them."""

_INFO: Final = b":2,"
_SIZE: Final = re.compile(rb",S=([0-9]{1,19})(?=[,:]|$)")
_WIRE_SIZE: Final = re.compile(rb",W=([0-9]{1,19})(?=[,:]|$)")
_LETTERS: Final = re.compile(rb"[A-Za-z]*")
_NO_BASE: Final = re.compile(rb"[/:\0-\x1f\x7f]")
_BREAKS_LINES: Final = re.compile(rb"[\0\r\n]")


@final
class Name(Frozen):
    """One file's name: `letters` ascending, each once; `tail` is what stands behind them."""

    base: bytes
    letters: bytes = b""
    tail: bytes = b""

    def with_letters(self, letters: bytes) -> Name:
        """The same message with other letters, in any order."""
        return Name(self.base, sorted_letters(letters), self.tail)


def parse(name: bytes) -> Name:
    """Any name. What stands behind a colon and is not of this form says nothing, and is lost with the next letters."""
    base, _, info = name.partition(b":")
    if not info.startswith(b"2,"):
        return Name(base)
    found = _LETTERS.match(info, 2)
    assert found is not None, "the pattern matches nothing as well"
    return Name(base, sorted_letters(found[0]), info[found.end() :])


def base_of(name: bytes) -> bytes:
    """The base of any name, as `parse` has it."""
    return name.partition(b":")[0]


def render(name: Name) -> bytes:
    """The name in cur/, where each has its `:2,`, as far as a name may be long: letters of a base that leaves no room
    for them are flags that this Dovecot cannot set either."""
    return (name.base + _INFO + name.letters + name.tail)[:MOST_BYTES]


def sorted_letters(letters: bytes) -> bytes:
    """Each once, as ASCII orders them."""
    return bytes(sorted(set(letters)))


def size_of(base: bytes) -> int | None:
    """The size that a base states; None if it states none."""
    found = _SIZE.search(base)
    return int(found[1]) if found else None


def is_listable(base: bytes) -> bool:
    """Can a line of dovecot-uidlist name a file that has this base? Dovecot passes over a name with CR or LF, and gives
    one without a base another name (maildir-uidlist.c, maildir-sync.c); so it is never a message before."""
    return bool(base) and not _BREAKS_LINES.search(base)


def is_base(name: bytes) -> bool:
    """May a file have this base? No path, no control bytes, no colon, not hidden, short enough for its letters."""
    return 0 < len(name) <= MOST_BASE_BYTES and not name.startswith(b".") and not _NO_BASE.search(name)


def base_of_guid(guid: bytes, size: int) -> bytes | None:
    """The GUID itself, where it may be the base of a file of `size` bytes: so that uidlist needs to name no GUID."""
    if not is_base(guid) or guid.startswith(OWN_PREFIX):
        return None
    stated, stated_wire = _SIZE.search(guid), _WIRE_SIZE.search(guid)
    # With CRLF a text has at least its size, and at most twice as much.
    is_true = not stated or int(stated[1]) == size
    return guid if is_true and (not stated_wire or size <= int(stated_wire[1]) <= 2 * size) else None


def made_base(guid: bytes, uid: int, size: int | None) -> bytes:
    """A base for a GUID that cannot be one, or whose base is another message's: after a renumbering, or of a copy
    within one mailbox. The same words make the same base, so that what a crash cut short is done again on one file.
    `size` is None where nobody knows it."""
    digest = hashlib.sha256(guid).hexdigest()[:32]
    return f"{digest}.{uid}.pyrepl{'' if size is None else f',S={size}'}".encode("ascii")
