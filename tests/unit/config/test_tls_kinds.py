"""The fields of certificates, and the versions of TLS."""

from __future__ import annotations

import pytest

from pyrepl.config.tls_kinds import CertificateField, TlsProtocols
from pyrepl.errors import ConfigError


@pytest.mark.parametrize(("word", "field"), [(b"cn", "CN"), (b"URI", "URI"), (b"Off", "off")])
def test_fields(word: bytes, field: str) -> None:
    assert CertificateField().parse([word], "off") == field
    assert CertificateField().text(field) == field.encode()


@pytest.mark.parametrize("words", [[], [b"cn", b"uri"], [b"email"], [b""]])
def test_no_fields(words: list[bytes]) -> None:
    with pytest.raises(ConfigError, match="one of the following: off, CN, URI"):
        CertificateField().parse(words, "off")


def test_versions() -> None:
    kind = TlsProtocols()
    value = kind.parse([b"tlsv1.3", b"TLSv1.2", b"TLSV1.3"], ())
    assert value == ("TLSv1.2", "TLSv1.3")
    assert kind.text(value) == b"TLSv1.2 TLSv1.3" and kind.lines(value) == [[b"TLSv1.2 TLSv1.3"]]
    assert kind.parse([b""], value) == () and kind.lines(()) == []


@pytest.mark.parametrize("word", [b"SSLv3", b"TLSv1.4", b"1.2"])
def test_no_versions(word: bytes) -> None:
    with pytest.raises(ConfigError, match="Invalid tls-protocols"):
        TlsProtocols().parse([word], ())
