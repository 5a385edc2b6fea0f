"""The word by which a deletion that stands in for another command is told to the replicas, as Redis 8.2 chooses it.

DEL and UNLINK do the same here; which of them a replica of another make gets decides whether it frees at once.
"""

from __future__ import annotations

from typing import Final

from pyrepl.config.settings import Settings

DEL: Final = b"DEL"
UNLINK: Final = b"UNLINK"


def of_expired(settings: Settings) -> bytes:
    """For a key whose new time to live is past already (EXPIRE, GETEX): lazyfree-lazy-expire."""
    return UNLINK if settings.lazyfree_lazy_expire else DEL


def of_replaced(settings: Settings) -> bytes:
    """For a key that a command takes away or would have replaced (SPOP of all, RESTORE): lazyfree-lazy-server-del."""
    return UNLINK if settings.lazyfree_lazy_server_del else DEL
