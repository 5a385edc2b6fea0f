"""How many file descriptors a node needs: for what it listens on and writes to, and one for each connection."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.handshakes import MOST_PENDING

RESERVED_FDS: Final = 32
"""Descriptors that are not for clients: listening sockets, files, the child's pipe (Redis's
CONFIG_MIN_RESERVED_FDS)."""


class Descriptors(NamedTuple):
    """How many a node needs. `wanted`: with fewer, maxclients is lowered. `liked`: with so many there is room for
    maxclients-reserve and for handshakes too."""

    wanted: int
    liked: int


def descriptors_for(settings: Settings) -> Descriptors:
    """What these settings need."""
    wanted = settings.maxclients + RESERVED_FDS
    return Descriptors(wanted, wanted + settings.maxclients_reserve + (MOST_PENDING if settings.tls_port else 0))
