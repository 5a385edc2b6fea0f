"""Who is on this machine: any address of 127.0.0.0/8, as for the real server, in protected mode and for `local`."""

from __future__ import annotations

import socket

from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST

ANOTHER_LOOPBACK = "127.0.0.2"
ASKED = b"PING\r\nDEBUG SLEEP 0\r\nCONFIG SET dbfilename other.rdb\r\n"


def answers(node: Node) -> bytes:
    """To somebody who comes from 127.0.0.2."""
    with socket.create_connection((HOST, node.port), 60, source_address=(ANOTHER_LOOPBACK, 0)) as sock:
        sock.sendall(ASKED)
        sock.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: sock.recv(1000), b""))


def test_another_loopback_address_is_local(lab: Lab) -> None:
    directives = {"protected-mode": "yes", "enable-debug-command": "local", "enable-protected-configs": "local"}
    ours, real = (lab.start(kind, directives=directives) for kind in ("pyrepl", "redis86"))
    assert answers(ours) == answers(real) == b"+PONG\r\n+OK\r\n+OK\r\n"
