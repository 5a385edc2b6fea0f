"""How many descriptors settings need."""

from __future__ import annotations

from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.config.settings import Settings
from pyrepl.daemon.descriptors import MOST_MAILBOX_STRANGERS, RESERVED_FDS, descriptors_for
from pyrepl.daemon.wires.handshakes import MOST_PENDING


def test_clients_their_reserve_and_ours() -> None:
    needed = descriptors_for(Settings(maxclients=1000, maxclients_reserve=16))
    assert needed == (1000 + RESERVED_FDS, 1000 + RESERVED_FDS + 16)


def test_handshakes_of_tls() -> None:
    needed = descriptors_for(Settings(maxclients=1000, maxclients_reserve=0, tls_port=6380))
    assert needed == (1000 + RESERVED_FDS, 1000 + RESERVED_FDS + MOST_PENDING)


def test_mail_processes_strangers_members_and_mail_servers() -> None:
    members = tuple(MailboxMember(name, "127.0.0.1", 1, False) for name in "abc")
    settings = Settings(maxclients=1000, maxclients_reserve=0, mailbox_maxclients=50)
    assert descriptors_for(settings).liked == 1000 + RESERVED_FDS, "without a port there are none"
    settings.mailbox_port, settings.mailbox_members = 7390, members
    assert descriptors_for(settings).liked == 1000 + RESERVED_FDS + 50 + MOST_MAILBOX_STRANGERS + 3
    settings.mailbox_lmtp_port = 2424
    assert descriptors_for(settings).liked == 1000 + RESERVED_FDS + 150 + MOST_MAILBOX_STRANGERS + 3
