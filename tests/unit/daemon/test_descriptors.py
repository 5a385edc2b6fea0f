"""How many descriptors settings need."""

from __future__ import annotations

from pyrepl.config.settings import Settings
from pyrepl.daemon.descriptors import RESERVED_FDS, descriptors_for
from pyrepl.daemon.wires.handshakes import MOST_PENDING


def test_clients_their_reserve_and_ours() -> None:
    needed = descriptors_for(Settings(maxclients=1000, maxclients_reserve=16))
    assert needed == (1000 + RESERVED_FDS, 1000 + RESERVED_FDS + 16)


def test_handshakes_of_tls() -> None:
    needed = descriptors_for(Settings(maxclients=1000, maxclients_reserve=0, tls_port=6380))
    assert needed == (1000 + RESERVED_FDS, 1000 + RESERVED_FDS + MOST_PENDING)
