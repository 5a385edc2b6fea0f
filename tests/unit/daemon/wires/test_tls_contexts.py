"""The contexts that the directives describe, and the words for files that cannot be used."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import pytest

from pyrepl.config.settings import Settings
from pyrepl.daemon.wires.tls_contexts import client_context, file_stamps, server_context
from pyrepl.errors import ConfigError
from tests.peers.certificates import Authority
from tests.unit.daemon.wires.tls_rig import sessions, settings_of


def test_what_clients_must_have(authority: Authority) -> None:
    for said, mode in (("yes", ssl.CERT_REQUIRED), ("optional", ssl.CERT_OPTIONAL), ("no", ssl.CERT_NONE)):
        assert server_context(settings_of(authority, tls_auth_clients=said)).verify_mode is mode
    assert client_context(settings_of(authority)).verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("allowed", "spoken"),
    [((), "TLSv1.3"), (("TLSv1.2",), "TLSv1.2"), (("TLSv1.2", "TLSv1.3"), "TLSv1.3"), (("TLSv1.3",), "TLSv1.3")],
)
def test_versions(authority: Authority, allowed: tuple[str, ...], spoken: str) -> None:
    here, there = sessions(settings_of(authority, tls_protocols=allowed), settings_of(authority))
    assert here.version() == there.version() == spoken
    here.close()
    there.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_versions_with_a_gap(authority: Authority) -> None:
    context = server_context(settings_of(authority, tls_protocols=("TLSv1.1", "TLSv1.3")))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_1 and context.options & ssl.OP_NO_TLSv1_2


def test_whose_order_of_ciphers_counts(authority: Authority) -> None:
    older: dict[str, Any] = {"tls_protocols": ("TLSv1.2",)}
    one, other = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"
    for prefers, chosen in ((False, other), (True, one)):
        here, there = sessions(
            settings_of(authority, tls_ciphers=f"{one}:{other}", tls_prefer_server_ciphers=prefers, **older),
            settings_of(authority, tls_ciphers=f"{other}:{one}", **older),
        )
        name = here.cipher()
        assert name is not None and name[0] == chosen
        here.close()
        there.close()


@pytest.mark.parametrize("caching", [True, False])
def test_sessions(authority: Authority, caching: bool) -> None:
    here, there = sessions(settings_of(authority, tls_session_caching=caching), settings_of(authority))
    here.send(b"x")
    assert there.recv(1) == b"x"
    session = there.session
    assert session is not None and session.has_ticket is caching
    here.close()
    there.close()


def test_a_certificate_for_each_direction(authority: Authority) -> None:
    client = authority.issue("as-client", key_password=b"open")
    settings = settings_of(
        authority,
        tls_client_cert_file=str(client),
        tls_client_key_file=str(client),
        tls_client_key_file_pass=b"open",
    )
    here, there = sessions(settings, settings)
    seen: Any = here.getpeercert()
    assert dict(pair for names in seen["subject"] for pair in names)["commonName"] == "as-client"
    here.close()
    there.close()


def test_the_key_may_stand_with_its_certificate(authority: Authority) -> None:
    assert server_context(settings_of(authority, tls_key_file=""))


def test_a_folder_of_authorities(authority: Authority, tmp_path: Path) -> None:
    settings = settings_of(authority, tls_ca_cert_file="", tls_ca_cert_dir=str(tmp_path))
    assert server_context(settings) and client_context(settings)


def test_what_is_missing(authority: Authority, tmp_path: Path) -> None:
    one, other = authority.issue("one"), authority.issue("other")
    closed = authority.issue("closed", key_password=b"right")
    text = tmp_path / "text"
    text.write_text("hello")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tls_cert_file": ""}, "a port with TLS needs a certificate: set tls-cert-file and tls-key-file"),
        ({"tls_cert_file": "/no/such"}, "cannot read tls-cert-file /no/such: No such file or directory"),
        ({"tls_key_file": str(text)}, f"tls-key-file {text} holds no private key as PEM"),
        ({"tls_cert_file": str(text)}, f"tls-cert-file {text} holds no certificate as PEM"),
        ({"tls_cert_file": str(one), "tls_key_file": str(other)}, f"tls-key-file {other} is not the key of the"),
        ({"tls_cert_file": str(closed), "tls_key_file": str(closed)}, "tls-key-file-pass is missing: it opens"),
        (
            {"tls_cert_file": str(closed), "tls_key_file": str(closed), "tls_key_file_pass": b"wrong"},
            f"tls-key-file-pass is not what opens tls-key-file {closed}",
        ),
        ({"tls_ca_cert_file": ""}, "tls-auth-clients yes needs CAs to trust: set tls-ca-cert-file or tls-ca-cert-dir"),
        ({"tls_ca_cert_file": str(text)}, f"tls-ca-cert-file {text} holds no certificate as PEM"),
        ({"tls_ca_cert_dir": "/no/such"}, "tls-ca-cert-dir /no/such is no folder that can be read"),
        ({"tls_ciphers": "NONE-SUCH"}, "tls-ciphers names no cipher that this OpenSSL has"),
        ({"tls_dh_params_file": str(text)}, f"tls-dh-params-file {text} holds no parameters as PEM"),
    ]
    for wrong, said in cases:
        with pytest.raises(ConfigError) as told:
            server_context(settings_of(authority, **wrong))
        assert str(told.value).startswith(said), wrong
        assert "wrong" not in str(told.value)
    with pytest.raises(ConfigError, match="tls-client-cert-file /no/such"):
        client_context(settings_of(authority, tls_client_cert_file="/no/such"))
    for setting in ("tls-replication", "tls-cluster", "tls-mailbox"):
        own = {"tls_replication": False} | {setting.replace("-", "_"): True}
        with pytest.raises(ConfigError, match=f"{setting} needs CAs"):
            client_context(settings_of(authority, None, tls_ca_cert_file="", **own))


def test_suites_need_a_python_that_can_set_them(authority: Authority) -> None:
    settings = settings_of(authority, tls_ciphersuites="TLS_AES_128_GCM_SHA256")
    if hasattr(ssl.SSLContext, "set_ciphersuites"):
        assert next(cipher["name"] for cipher in server_context(settings).get_ciphers()) == "TLS_AES_128_GCM_SHA256"
        with pytest.raises(ConfigError, match="names no cipher"):
            server_context(settings_of(authority, tls_ciphersuites="NONE"))
    else:
        with pytest.raises(ConfigError, match=r"needs Python 3\.15"):
            server_context(settings)


def test_a_changed_file_is_told_from_the_former_one(authority: Authority) -> None:
    settings = settings_of(authority)
    before = file_stamps(settings)
    assert file_stamps(settings) == before
    os.utime(settings.tls_cert_file, ns=(1, 1))
    after = file_stamps(settings)
    assert after != before
    os.unlink(settings.tls_cert_file)
    assert file_stamps(settings) != after
    assert file_stamps(Settings()) == (("", 0, 0, 0),) * 7
