"""Both ends of a connection with TLS, in one process."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.tls_contexts import client_context, server_context
from pyrepl.daemon.wires.tls_reasons import why_client_failed, why_server_failed
from pyrepl.daemon.wires.tls_wire import TlsWire
from tests.peers.certificates import Authority


def settings_of(authority: Authority, certificate: Path | None = None, **more: Any) -> Settings:
    """A node with a certificate of this CA; `more` are further settings."""
    path = str(certificate or authority.issue())
    return Settings(
        **{
            "tls_port": 1,
            "tls_cert_file": path,
            "tls_key_file": path,
            "tls_ca_cert_file": str(authority.ca_file),
            "tls_replication": True,
            **more,
        }
    )


def sessions(server: Settings, client: Settings) -> tuple[ssl.SSLSocket, ssl.SSLSocket]:
    """The server's end and the client's, whose handshake is over. Raises what the server meets, or else the client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.create_connection(listening.getsockname())
        ours, _ = listening.accept()
    failures: list[OSError] = []
    there: list[ssl.SSLSocket] = []

    def connect() -> None:
        try:
            there.append(client_context(client).wrap_socket(theirs, server_hostname="localhost"))
        except OSError as error:
            theirs.close()
            failures.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    try:
        here = server_context(server).wrap_socket(ours, server_side=True)
    except OSError:
        ours.close()
        thread.join()
        # The reason is known on the side that refused: the other one hears of it, or of the end alone.
        if failures and isinstance(failures[0], ssl.SSLCertVerificationError):
            raise failures[0] from None
        raise
    thread.join()
    if failures:
        here.close()
        raise failures[0]
    return here, there[0]


def pair(server: Settings, client: Settings) -> tuple[TlsWire, TlsWire]:
    """The same as wires."""
    here, there = sessions(server, client)
    for session in (here, there):
        session.setblocking(False)
    return TlsWire(here, why_client_failed), TlsWire(there, why_server_failed)
