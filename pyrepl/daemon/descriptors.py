"""How many file descriptors a node needs: for what it listens on and writes to, and one for each connection."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.handshakes import MOST_PENDING

RESERVED_FDS: Final = 32
"""Descriptors that are not for clients: listening sockets, files, the child's pipe (Redis's
CONFIG_MIN_RESERVED_FDS)."""


MOST_MAILBOX_STRANGERS: Final = 100
"""Connections to mailbox-port that have not proved who they are."""


class Descriptors(NamedTuple):
    """How many a node needs. `wanted`: with fewer, maxclients is lowered. `liked`: with so many there is room for
    maxclients-reserve, handshakes and mailboxes too."""

    wanted: int
    liked: int


def descriptors_for(settings: Settings) -> Descriptors:
    """What these settings need."""
    wanted = settings.maxclients + RESERVED_FDS
    handshakes = MOST_PENDING if settings.tls_port else 0
    return Descriptors(wanted, wanted + settings.maxclients_reserve + handshakes + _of_mailboxes(settings))


def _of_mailboxes(settings: Settings) -> int:
    """Mail processes, strangers and members; and mail servers, each with a connection to Dovecot."""
    if not settings.mailbox_port:
        return 0
    mail_servers = 2 * settings.mailbox_maxclients if settings.mailbox_lmtp_port else 0
    members = len(settings.mailbox_members)
    return settings.mailbox_maxclients + mail_servers + MOST_MAILBOX_STRANGERS + members
