"""Certificates for the tests of TLS: a CA of their own, made anew for each test run by trustme."""

from __future__ import annotations

import datetime
from pathlib import Path

import trustme

from tests.peers.ports import HOST, free_port


class Authority:
    """A CA, and the files of what it has issued, in one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._ca = trustme.CA()
        self.ca_file = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(self.ca_file)

    def issue(
        self,
        name: str = "node",
        *hosts: str,
        expired: bool = False,
        key_password: bytes | None = None,
    ) -> Path:
        """A file `<name>.pem` with a certificate whose CN is `name`, its chain and its key. `hosts` are the names and
        addresses that it is for; none mean those of this machine."""
        until = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1) if expired else None
        issued = self._ca.issue_cert(*(hosts or ("localhost", HOST, "::1")), common_name=name, not_after=until)
        path = self.folder / f"{name}.pem"
        issued.private_key_and_cert_chain_pem.write_to_path(path)
        if key_password is not None:
            _encrypt(path, key_password)
        return path

    def directives(self, certificate: Path | None = None, port: int | None = None) -> dict[str, str]:
        """What a node of any kind needs to speak TLS with others of this CA, on a port of its own, and to connect to
        its master by it."""
        path = str(certificate or self.folder / "node.pem")
        if not Path(path).exists():
            self.issue()
        return {
            "tls-port": str(port or free_port()),
            "tls-cert-file": path,
            "tls-key-file": path,
            "tls-ca-cert-file": str(self.ca_file),
            "tls-replication": "yes",
        }


def _encrypt(path: Path, password: bytes) -> None:
    """Encrypt the private key in a file of PEM blocks."""
    from cryptography.hazmat.primitives import serialization

    text = path.read_bytes()
    key = serialization.load_pem_private_key(text, None)
    closed = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )
    path.write_bytes(closed + text[text.index(b"-----BEGIN CERTIFICATE") :])
