"""Certificates that are renewed while a node runs: new connections see the new one, those that exist go on."""

from __future__ import annotations

import ssl

import pytest
import redis

from tests.peers.lab import Lab, wait_until
from tests.peers.ports import HOST

RENEWED = "The files of TLS have changed. New connections use them; those that exist go on."


def certificate(port: int) -> str:
    """The one that a new connection is shown, as PEM."""
    return ssl.get_server_certificate((HOST, port))


@pytest.mark.parametrize("how", ["at the start", "by CONFIG SET"])
def test_a_changed_file(lab: Lab, how: str) -> None:
    wanted = {**lab.authority.directives(), "tls-auth-clients": "no"}
    port = int(wanted["tls-port"])
    node = lab.start("pyrepl", directives=wanted if how == "at the start" else {})
    if how == "by CONFIG SET":
        # Long enough for the timer to have found that there was nothing to do.
        node.call("CONFIG", "SET", "tls-auto-reload-interval", "1")
        wait_until("the node ran for a while", lambda: int(node.info("server")["uptime_in_seconds"]) >= 2)
        node.call("CONFIG", "SET", *(word for pair in wanted.items() for word in pair))
    first = certificate(port)
    authority = str(lab.authority.ca_file)
    with redis.Redis(HOST, port, ssl=True, ssl_ca_certs=authority, single_connection_client=True) as before:
        client = before.client_id()
        lab.authority.issue()
        node.wait_log(RENEWED)
        assert certificate(port) != first
        assert before.client_id() == client
