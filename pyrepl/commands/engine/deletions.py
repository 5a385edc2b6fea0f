"""The command, DEL or UNLINK, that replicas get when a deletion takes the place of another command, as in Redis 8.2.

In pyrepl both do the same. A Redis or Valkey that is our replica frees the value at once for DEL, and in the background
for UNLINK.
"""

from __future__ import annotations

from typing import Final

from pyrepl.config.settings import Settings

DEL: Final = b"DEL"
UNLINK: Final = b"UNLINK"


def of_expired(settings: Settings) -> bytes:
    """The command for a key whose new time to live is in the past (EXPIRE, GETEX), by lazyfree-lazy-expire."""
    return UNLINK if settings.lazyfree_lazy_expire else DEL


def of_replaced(settings: Settings) -> bytes:
    """The command for a key that a command empties or would have replaced (SPOP of all, RESTORE), by
    lazyfree-lazy-server-del."""
    return UNLINK if settings.lazyfree_lazy_server_del else DEL
