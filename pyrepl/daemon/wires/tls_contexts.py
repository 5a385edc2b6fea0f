"""Makes the contexts of OpenSSL that the `tls-*` directives describe: one for ports, one for connections of our own.

Errors are told by the directive that has to change. The files are only read here; `tls` decides when.
"""

from __future__ import annotations

import os
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from pyrepl.config.settings import Settings
from pyrepl.config.tls_kinds import TLS_VERSIONS
from pyrepl.daemon.wires.tls_reasons import in_words
from pyrepl.errors import ConfigError

_VERSIONS: Final = {
    "TLSv1": (ssl.TLSVersion.TLSv1, ssl.OP_NO_TLSv1),
    "TLSv1.1": (ssl.TLSVersion.TLSv1_1, ssl.OP_NO_TLSv1_1),
    "TLSv1.2": (ssl.TLSVersion.TLSv1_2, ssl.OP_NO_TLSv1_2),
    "TLSv1.3": (ssl.TLSVersion.TLSv1_3, ssl.OP_NO_TLSv1_3),
}
_DEFAULT_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")

_CLIENT_CERTIFICATES: Final = {
    "no": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "yes": ssl.CERT_REQUIRED,
}

_FILES: Final = (
    "tls_cert_file",
    "tls_key_file",
    "tls_client_cert_file",
    "tls_client_key_file",
    "tls_dh_params_file",
    "tls_ca_cert_file",
    "tls_ca_cert_dir",
)

FileStamp = tuple[str, int, int, int]


def file_stamps(settings: Settings) -> tuple[FileStamp, ...]:
    """What tells a changed file from the former one: path, time of change in ns, size in bytes, inode. Zeros for one
    that is not there."""
    return tuple(_stamp(str(getattr(settings, name))) for name in _FILES)


def _stamp(path: str) -> FileStamp:
    with suppress(OSError):
        if path:
            found = os.stat(path)
            return path, found.st_mtime_ns, found.st_size, found.st_ino
    return path, 0, 0, 0


def server_context(settings: Settings) -> ssl.SSLContext:
    """The context of connections that come in. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_common(context, settings)
    if not settings.tls_cert_file:
        raise ConfigError("a port with TLS needs a certificate: set tls-cert-file and tls-key-file")
    _load_certificate(context, _ours(settings))
    context.verify_mode = _CLIENT_CERTIFICATES[settings.tls_auth_clients]
    if settings.tls_auth_clients != "no":
        _load_authorities(context, settings, f"tls-auth-clients {settings.tls_auth_clients}")
    if settings.tls_prefer_server_ciphers:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    if settings.tls_dh_params_file:
        _read(settings.tls_dh_params_file, "tls-dh-params-file")
        try:
            context.load_dh_params(settings.tls_dh_params_file)
        except ssl.SSLError:
            text = f"tls-dh-params-file {settings.tls_dh_params_file} holds no parameters as PEM: make them with"
            raise ConfigError(f"{text} `openssl dhparam -out FILE 2048`") from None
    if not settings.tls_session_caching:
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def client_context(settings: Settings) -> ssl.SSLContext:
    """The context of connections that we make: to our master, to the target of MIGRATE, and to the other nodes that
    keep the same mailboxes. Raises ConfigError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.tls_check_name
    _set_common(context, settings)
    if settings.tls_client_cert_file:
        _load_certificate(context, _ours_as_client(settings))
    elif settings.tls_cert_file:
        _load_certificate(context, _ours(settings))
    _load_authorities(context, settings, _connecting_by(settings))
    return context


def _connecting_by(settings: Settings) -> str:
    """The directive that has us connect by TLS."""
    if settings.tls_mailbox:
        return "tls-mailbox"
    return "tls-cluster" if settings.tls_cluster and not settings.tls_replication else "tls-replication"


def _set_common(context: ssl.SSLContext, settings: Settings) -> None:
    allowed = settings.tls_protocols or _DEFAULT_VERSIONS
    # The bounds first, as the context of Python refuses less than TLS 1.2 by its own default.
    context.minimum_version = _VERSIONS[allowed[0]][0]
    context.maximum_version = _VERSIONS[allowed[-1]][0]
    for version in TLS_VERSIONS[TLS_VERSIONS.index(allowed[0]) : TLS_VERSIONS.index(allowed[-1])]:
        if version not in allowed:
            context.options |= _VERSIONS[version][1]
    context.options |= ssl.OP_NO_RENEGOTIATION
    if settings.tls_ciphers:
        try:
            context.set_ciphers(settings.tls_ciphers)
        except ssl.SSLError:
            text = "tls-ciphers names no cipher that this OpenSSL has; `openssl ciphers` lists them"
            raise ConfigError(text) from None
    if settings.tls_ciphersuites:
        _set_suites(context, settings.tls_ciphersuites)


def _set_suites(context: ssl.SSLContext, suites: str) -> None:
    choose = getattr(context, "set_ciphersuites", None)
    if choose is None:
        raise ConfigError(
            "tls-ciphersuites needs Python 3.15, as the ssl module of this one cannot choose the ciphers of TLS 1.3;"
            " remove the line, or set Ciphersuites in the configuration of OpenSSL (OPENSSL_CONF)"
        )
    try:
        choose(suites)
    except ssl.SSLError:
        raise ConfigError("tls-ciphersuites names no cipher that this OpenSSL has") from None


class _Certificate(NamedTuple):
    """A certificate of ours; `prefix` is that of its directives."""

    prefix: str
    file: str
    key_file: str
    password: bytes


def _ours(settings: Settings) -> _Certificate:
    return _Certificate("tls", settings.tls_cert_file, settings.tls_key_file, settings.tls_key_file_pass)


def _ours_as_client(settings: Settings) -> _Certificate:
    files = settings.tls_client_cert_file, settings.tls_client_key_file
    return _Certificate("tls-client", *files, settings.tls_client_key_file_pass)


def _load_certificate(context: ssl.SSLContext, ours: _Certificate) -> None:
    """Load a certificate and its key, which may stand in the certificate's file as well."""
    prefix, file, password = ours.prefix, ours.file, ours.password
    key = ours.key_file or file
    if b"-----BEGIN CERTIFICATE" not in _read(file, f"{prefix}-cert-file"):
        raise ConfigError(f"{prefix}-cert-file {file} holds no certificate as PEM (-----BEGIN CERTIFICATE-----)")
    if b"PRIVATE KEY-----" not in _read(key, f"{prefix}-key-file"):
        raise ConfigError(f"{prefix}-key-file {key} holds no private key as PEM (-----BEGIN PRIVATE KEY-----)")
    try:
        # A function, and never None: OpenSSL would ask on the terminal.
        context.load_cert_chain(file, key, lambda: password)
    except ssl.SSLError as error:
        raise ConfigError(_why_not_loaded(ours, key, error)) from None


def _why_not_loaded(ours: _Certificate, key: str, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{ours.prefix}-key-file {key} is not the key of the certificate in {ours.prefix}-cert-file {ours.file}"
    if b"ENCRYPTED" in _read(key, f"{ours.prefix}-key-file"):
        problem = "is not what opens" if ours.password else "is missing: it opens"
        return f"{ours.prefix}-key-file-pass {problem} {ours.prefix}-key-file {key}"
    return f"{ours.prefix}-cert-file {ours.file} and key {key} cannot be used: {in_words(error)}"


def _load_authorities(context: ssl.SSLContext, settings: Settings, needed_by: str) -> None:
    file, folder = settings.tls_ca_cert_file, settings.tls_ca_cert_dir
    if not file and not folder:
        raise ConfigError(f"{needed_by} needs CAs to trust: set tls-ca-cert-file or tls-ca-cert-dir")
    if file:
        _read(file, "tls-ca-cert-file")
    if folder and not Path(folder).is_dir():
        raise ConfigError(f"tls-ca-cert-dir {folder} is no folder that can be read")
    try:
        context.load_verify_locations(file or None, folder or None)
    except ssl.SSLError as error:
        raise ConfigError(f"tls-ca-cert-file {file} holds no certificate as PEM: {in_words(error)}") from None


def _read(path: str, name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {name} {path}: {error.strerror or error}") from None
