"""The options by which our own clients speak TLS, by the names that redis-cli has for them; and what is said when it
does not work."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from pyrepl.daemon.wires.tls_reasons import NO_TLS_REASONS, in_words

from .addresses import Target

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE: Final = click.Path(exists=True, dir_okay=False)
_OPTIONS: Final = (
    click.option("--tls", is_flag=True, help="Encrypt the connection, and check the certificate of whoever answers."),
    click.option("--cacert", type=_FILE, help="With --tls: certificates of the CAs to trust, instead of the system's."),
    click.option("--cert", type=_FILE, help="With --tls: the certificate that this command shows."),
    click.option("--key", type=_FILE, help="The private key of --cert, where that file does not hold it."),
    click.option("--insecure", is_flag=True, help="With --tls: do not check the certificate of whoever answers."),
)

TRY_TLS: Final = "if this port speaks TLS, give --tls"
TRY_A_CERTIFICATE: Final = "if it wants a certificate of ours, give --cert and --key"


def tls_options(command: Command) -> Command:
    """Give a click command the options; it gets their values as `tls`, an SSLContext or None, in place of them."""

    @functools.wraps(command)
    def with_context(
        *args: Any, tls: bool, cacert: str | None, cert: str | None, key: str | None, insecure: bool, **named: Any
    ) -> Any:
        if not tls and (cacert or cert or key or insecure):
            raise click.UsageError("--cacert, --cert, --key and --insecure need --tls")
        context = _context(cacert, cert, key, insecure=insecure) if tls else None
        return command(*args, tls=context, **named)

    wrapped: Any = with_context
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def default_context(cacert: str | None = None) -> ssl.SSLContext:
    """Trusts the system's authorities, or those in a file; checks names. Raises ssl.SSLError.

    Python 3.13 and later refuse certificates that lack what RFC 5280 wants in them, the usual `openssl req -x509` among
    them. Redis's own clients take these, and so do our nodes.
    """
    context = ssl.create_default_context(cafile=cacert)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def context_of(target: Target, tls: ssl.SSLContext | None) -> ssl.SSLContext | None:
    """What the options say; where they say nothing and the address means TLS, the default. None: no TLS."""
    return default_context() if target.tls and tls is None else tls


def _context(cacert: str | None, cert: str | None, key: str | None, *, insecure: bool) -> ssl.SSLContext:
    """Trusts the system's authorities, or those in a file; checks names. Raises BadParameter."""
    try:
        context = default_context(cacert)
    except ssl.SSLError:
        raise click.BadParameter(f"{cacert}: expected certificates in PEM form", param_hint="--cacert") from None
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if key and not cert:
        raise click.UsageError("--key is the key of a certificate: give --cert too")
    if cert:
        try:
            # A function: without one OpenSSL asks on the terminal.
            context.load_cert_chain(cert, key, lambda: "")
        except ssl.SSLError as error:
            text = f"{cert}: expected a certificate and its key (not encrypted) in PEM form: {in_words(error)}"
            raise click.BadParameter(text, param_hint="--cert") from None
    return context


def why_no_tls(error: ssl.SSLError) -> str:
    """Why TLS with a node failed, and what to do."""
    reason = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = error.verify_message.rstrip(".")
        return f"its certificate is not to be trusted: {said}. --cacert names the CA, --insecure trusts anybody"
    if reason in NO_TLS_REASONS:
        return "it does not speak TLS on this port: leave out --tls, or give its tls-port"
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason:
        return "it wants a certificate of ours: give --cert and --key"
    if "UNKNOWN_CA" in reason:
        return "it does not trust our certificate (--cert)"
    if "EXPIRED" in reason:
        return "it says that our certificate (--cert) has expired"
    return f"no TLS: {in_words(error) if reason else 'the connection was closed'}"
