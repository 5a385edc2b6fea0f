"""Why TLS with a peer failed, in a sentence for the operator: what happened, and what to do.

OpenSSL tells the reason by a word (`SSLError.reason`), and the other side's by an alert whose name is such a word too.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Final

NO_TLS: Final = "the client does not speak TLS; let it use TLS (redis-cli --tls), or the plain port"
NO_TLS_REASONS: Final = frozenset(
    {
        "WRONG_VERSION_NUMBER",
        "UNKNOWN_PROTOCOL",
        "HTTP_REQUEST",
        "HTTPS_PROXY_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
        "RECORD_LAYER_FAILURE",
        "RECORD_TOO_SMALL",
        "NOT_SSL_RECORD_OR_NON_TLS_RECORD",
    }
)
"""What OpenSSL says of bytes that are no TLS."""

_HAS_EXPIRED: Final = 10
_NOT_YET_VALID: Final = 9
_WRONG_PURPOSE: Final = 26
_WRONG_NAMES: Final = (62, 64)
_UNTRUSTED: Final = (2, 18, 19, 20, 21, 24, 27, 28)
"""Numbers of OpenSSL's X509_V_ERR: no way from the certificate leads to a CA that is trusted."""


def why_client_failed(error: OSError) -> str:
    """Why the handshake with somebody who connected to us failed."""
    reason = _reason_of(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _why_unverified(error, "the client's certificate", "tls-ca-cert-file or tls-ca-cert-dir")
    if reason in ("HTTP_REQUEST", "HTTPS_PROXY_REQUEST"):
        return "the client sent an HTTP request"
    if reason in NO_TLS_REASONS:
        return NO_TLS
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "the client has no certificate; give it one, or set tls-auth-clients to optional or no"
    return _why_either(reason, error, "the client", "our certificate (tls-cert-file)")


def why_server_failed(error: OSError) -> str:
    """Why TLS with a server that we connected to failed: at the handshake, or when it closed the connection on seeing
    our certificate."""
    reason = _reason_of(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _why_unverified(error, "the server's certificate", "tls-ca-cert-file or tls-ca-cert-dir")
    if reason in NO_TLS_REASONS:
        return "the server does not speak TLS on this port; connect to its tls-port, or without TLS"
    if "CERTIFICATE_REQUIRED" in reason:
        return "the server wants a certificate of ours; set tls-client-cert-file, or tls-cert-file"
    return _why_either(reason, error, "the server", "our certificate (tls-client-cert-file, or tls-cert-file)")


def why_session_failed(error: ssl.SSLError, explain: Callable[[OSError], str]) -> str:
    """Why TLS failed after the handshake: `explain` says it, but for reasons that mean no TLS at all at a handshake, as
    newer versions of OpenSSL give these for a damaged record too."""
    return f"OpenSSL says: {in_words(error)}" if _reason_of(error) in NO_TLS_REASONS else explain(error)


def _why_unverified(error: ssl.SSLCertVerificationError, whose: str, directives: str) -> str:
    code = error.verify_code
    if code == _HAS_EXPIRED:
        return f"{whose} has expired; renew it (and look at this machine's clock)"
    if code == _NOT_YET_VALID:
        return f"{whose} is not valid yet; look at this machine's clock"
    if code in _WRONG_NAMES:
        said = error.verify_message.rstrip(".")
        return f"{whose} is for another name: {said}; reach it by that name, or set tls-check-name to no"
    if code == _WRONG_PURPOSE:
        return f"{whose} is not made for this purpose (its extended key usage)"
    if code in _UNTRUSTED:
        return f"{whose} is of a CA that we do not trust; add that CA to {directives} ({error.verify_message})"
    return f"{whose} cannot be verified: {error.verify_message}"


def _why_either(reason: str, error: OSError, peer: str, ours: str) -> str:
    """What both sides of a handshake may meet; `ours` is the certificate that we showed to `peer`."""
    if "UNKNOWN_CA" in reason:
        return f"{peer} does not trust {ours}; give it the CA of that certificate"
    if "CERTIFICATE_EXPIRED" in reason:
        return f"{peer} says that {ours} has expired; renew it"
    if any(word in reason for word in ("BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN", "UNSUPPORTED_CERTIFICATE")):
        return f"{peer} does not accept {ours}"
    if any(word in reason for word in ("NO_SHARED_CIPHER", "HANDSHAKE_FAILURE", "NO_CIPHERS_AVAILABLE")):
        return "no cipher is allowed on both sides; compare tls-ciphers, tls-protocols and the keys of the certificates"
    if any(word in reason for word in ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "VERSION_TOO_LOW")):
        return "no version of TLS is allowed on both sides; compare tls-protocols"
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)) or not reason:
        return "the connection was closed" if isinstance(error, ssl.SSLError) else error.strerror or str(error)
    return f"OpenSSL says: {in_words(error)}"


def in_words(error: OSError) -> str:
    """OpenSSL's reason in lower-case words, or what else the error says; empty if it says nothing."""
    return (_reason_of(error) or str(error)).replace("_", " ").lower()


def _reason_of(error: OSError) -> str:
    return getattr(error, "reason", None) or ""
