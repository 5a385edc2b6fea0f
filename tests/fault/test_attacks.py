"""Under attacks before the login, those who are logged in are served, newcomers with a password come in, and memory
stays bounded. What they wait for meanwhile is printed; `python -m bench attacks` compares it with what was wanted."""

from __future__ import annotations

import socket
import statistics
import time
from typing import Final

import pytest

from tests.fault import attacks
from tests.fault.attacks import ATTACKS, by_tls, reads_during
from tests.peers.lab import Lab, Node
from tests.peers.ports import HOST

PASSWORD: Final = "correct horse battery staple"
MOST_MORE_BYTES: Final = 300 << 20
"""What a node may take more than before, whatever strangers send: a thousand handshakes, and what the parsers of a few
hundred connections hold."""
NEWCOMERS_EVERY_S: Final = 0.2


@pytest.fixture
def node(lab: Lab) -> Node:
    """It has fewer places than the attackers want, and a password."""
    directives = {**lab.authority.directives(), "requirepass": PASSWORD, "maxclients": "400"}
    return lab.start("pyrepl", directives=directives)


@pytest.mark.parametrize("name", ATTACKS)
def test_others_are_served(lab: Lab, node: Node, name: str) -> None:
    node.call("SET", "key", "value")
    files = lab.authority.folder / "node.pem", lab.authority.ca_file
    sizes = [int(node.info("memory")["used_memory_rss"])]
    next_newcomer = 0.0

    def meanwhile() -> None:
        nonlocal next_newcomer
        if time.monotonic() >= next_newcomer:
            next_newcomer = time.monotonic() + NEWCOMERS_EVERY_S
            with node.connect() as newcomer:
                assert newcomer.call("GET", "key") == b"value"
            by_tls(node, *files, PASSWORD).close()
            sizes.append(int(node.info("memory")["used_memory_rss"]))

    with node.connect() as plain, by_tls(node, *files, PASSWORD) as secured:
        waits = reads_during(name, node, [plain, secured], meanwhile)
    worst, more = statistics.quantiles(waits, n=100)[98], max(sizes) - sizes[0]
    print(f"{name}: {len(waits)} reads, 99th percentile {worst * 1000:.2f} ms, {more >> 20} MB more")
    assert len(waits) > 100 and len(sizes) > 5
    assert more < MOST_MORE_BYTES


def test_guesses_are_few(node: Node) -> None:
    """An address has a hundred guesses in five seconds, however many connections it opens."""
    attack = attacks.begin("guesses", node.port, node.tls_port)
    assert attack.wait() == 0
    denied = int(node.info("stats")["acl_access_denied_auth"])
    assert 0 < denied <= 250, "the first ones, and those that were answered late"
    with socket.create_connection((HOST, node.port)) as sock:
        sock.sendall(b"AUTH " + PASSWORD.encode().replace(b" ", b"x") + b"\r\n")
        assert sock.recv(100).startswith(b"-WRONGPASS"), "another address is not slowed"
