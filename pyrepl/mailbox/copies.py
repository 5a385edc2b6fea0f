"""Copies that a mail program makes within one mailbox: Dovecot gives them the GUID of their original, where the nodes
know one message of a GUID.

Not here: which message is a copy, and how a store gives it another GUID.
"""

from __future__ import annotations

import hashlib


def guid_of_copy(box: bytes, uidvalidity: int, uid: int, original: bytes) -> bytes:
    """A GUID of its own, 32 hex digits, for the copy with this UID in the mailbox with the GUID `box`. The same for the
    same copy, so a crash may come between."""
    return hashlib.sha256(b"%s %d %d %s" % (box, uidvalidity, uid, original)).hexdigest()[:32].encode("ascii")
