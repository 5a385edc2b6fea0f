"""Messages that need a GUID of their own, as the nodes cannot know them by the one that Dovecot gave them.

Copies that a mail program makes within one mailbox have the GUID of their original, where the nodes know one message
of a GUID. And the name of a file is its message's GUID, whatever it is: up to 255 bytes that need be no UTF-8, where a
GUID on the wire has 128 bytes of it.

Not here: which message is a copy, and how a store gives it another GUID.
"""

from __future__ import annotations

import hashlib

from pyrepl.mailbox.words import is_guid
from pyrepl.words import to_text


def is_told_guid(guid: bytes) -> bool:
    """Can the nodes tell each other this GUID?"""
    return is_guid(to_text(guid))


def guid_of_copy(box: bytes, uidvalidity: int, uid: int, original: bytes) -> bytes:
    """A GUID of its own, 32 hex digits, for the message with this UID in the mailbox with the GUID `box`, which has the
    GUID `original` now. The same for the same message, so a crash may come between."""
    return hashlib.sha256(b"%s %d %d %s" % (box, uidvalidity, uid, original)).hexdigest()[:32].encode("ascii")
