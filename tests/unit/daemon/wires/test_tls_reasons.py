"""Why TLS failed, said on both sides, as OpenSSL really fails."""

from __future__ import annotations

import ssl
from typing import Any

import pytest

from pyrepl.daemon.wires.tls_reasons import why_client_failed, why_server_failed, why_session_failed
from tests.peers.certificates import Authority
from tests.unit.daemon.wires.tls_rig import pair, sessions, settings_of


def test_the_server_is_not_trusted(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Authority(tmp_path_factory.mktemp("other"))
    with pytest.raises(OSError) as met:
        sessions(settings_of(authority), settings_of(other))
    told = why_server_failed(met.value)
    assert told.startswith("the server's certificate is of a CA that we do not trust; add that CA to tls-ca-cert-file")


def test_the_client_is_not_trusted(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Authority(tmp_path_factory.mktemp("other"))
    client = settings_of(other, tls_ca_cert_file=str(authority.ca_file))
    with pytest.raises(OSError) as met:
        sessions(settings_of(authority), client)
    assert why_client_failed(met.value).startswith("the client's certificate is of a CA that we do not trust")


@pytest.mark.parametrize("ours", [True, False], ids=["server", "client"])
def test_expired(authority: Authority, ours: bool) -> None:
    good, old = settings_of(authority), settings_of(authority, authority.issue("old", expired=True))
    with pytest.raises(OSError) as met:
        sessions(old if ours else good, good if ours else old)
    told = why_server_failed(met.value) if ours else why_client_failed(met.value)
    whose = "the server's" if ours else "the client's"
    assert f"{whose} certificate has expired; renew it" in told


def test_another_name(authority: Authority) -> None:
    server = settings_of(authority, authority.issue("far", "far.example.org"))
    with pytest.raises(OSError) as met:
        sessions(server, settings_of(authority, tls_check_name=True))
    told = why_server_failed(met.value)
    assert "the server's certificate is for another name" in told and "set tls-check-name to no" in told


def test_no_certificate(authority: Authority) -> None:
    nobody: dict[str, Any] = {"tls_cert_file": "", "tls_key_file": ""}
    with pytest.raises(OSError) as met:
        sessions(settings_of(authority), settings_of(authority, **nobody, tls_protocols=("TLSv1.2",)))
    assert why_client_failed(met.value).startswith("the client has no certificate; give it one")


def test_a_server_that_wants_a_certificate_of_ours(authority: Authority) -> None:
    """With TLS 1.3 the client hears of it behind the handshake."""
    here, there = sessions(
        settings_of(authority, tls_auth_clients="optional"), settings_of(authority, tls_cert_file="", tls_key_file="")
    )
    here.close()
    there.close()
    told = why_server_failed(failure("TLSV13_ALERT_CERTIFICATE_REQUIRED"))
    assert told == "the server wants a certificate of ours; set tls-client-cert-file, or tls-cert-file"


def test_no_version_in_common(authority: Authority) -> None:
    with pytest.raises(OSError) as met:
        sessions(settings_of(authority, tls_protocols=("TLSv1.3",)), settings_of(authority, tls_protocols=("TLSv1.2",)))
    assert why_client_failed(met.value) == "no version of TLS is allowed on both sides; compare tls-protocols"


def test_no_cipher_in_common(authority: Authority) -> None:
    versions: dict[str, Any] = {"tls_protocols": ("TLSv1.2",)}
    with pytest.raises(OSError) as met:
        sessions(
            settings_of(authority, tls_ciphers="ECDHE-ECDSA-AES128-GCM-SHA256", **versions),
            settings_of(authority, tls_ciphers="ECDHE-ECDSA-AES256-GCM-SHA384", **versions),
        )
    assert why_client_failed(met.value).startswith("no cipher is allowed on both sides")


def failure(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("reason", "client", "server"),
    [
        ("HTTP_REQUEST", "the client sent an HTTP request", "the server does not speak TLS on this port"),
        (
            "WRONG_VERSION_NUMBER",
            "the client does not speak TLS; let it use TLS",
            "the server does not speak TLS on this port",
        ),
        (
            "TLSV1_ALERT_UNKNOWN_CA",
            "the client does not trust our certificate (tls-cert-file)",
            "the server does not trust our",
        ),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "the client says that our", "the server says that our certificate"),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "the client does not accept our", "the server does not accept our certificate"),
        ("DECRYPTION_FAILED", "OpenSSL says: decryption failed", "OpenSSL says: decryption failed"),
    ],
)
def test_words_of_openssl(reason: str, client: str, server: str) -> None:
    assert why_client_failed(failure(reason)).startswith(client)
    assert why_server_failed(failure(reason)).startswith(server)


def test_ends() -> None:
    assert why_server_failed(ssl.SSLEOFError(8, "EOF occurred in violation of protocol")) == "the connection was closed"
    assert why_client_failed(ConnectionResetError(104, "Connection reset by peer")) == "Connection reset by peer"
    assert why_client_failed(OSError("something")) == "something"


def test_all_is_well(authority: Authority) -> None:
    settings = settings_of(authority, tls_check_name=True, tls_prefer_server_ciphers=True)
    ours, theirs = pair(settings, settings)
    ours.close()
    theirs.close()


def test_after_the_handshake_the_other_end_does_speak_tls() -> None:
    error = ssl.SSLError(1, "[SSL: RECORD_LAYER_FAILURE] record layer failure")
    error.reason = "RECORD_LAYER_FAILURE"
    assert why_session_failed(error, why_client_failed) == "OpenSSL says: record layer failure"
    error.reason = "SSLV3_ALERT_CERTIFICATE_EXPIRED"
    assert why_session_failed(error, why_client_failed) == why_client_failed(error)
