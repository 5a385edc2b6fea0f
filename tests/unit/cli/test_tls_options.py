"""The options of TLS: which go together, and what is said of files that cannot be used."""

from __future__ import annotations

import ssl
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cli.tls_options import default_context, tls_options, why_no_tls
from tests.peers.certificates import Authority


@click.command()
@click.argument("word")
@tls_options
def command(word: str, tls: ssl.SSLContext | None) -> None:
    """Says what came of the options."""
    click.echo(f"{word} {'plain' if tls is None else f'{tls.verify_mode.name} {tls.check_hostname}'}")


def run(*words: object) -> Result:
    return CliRunner().invoke(command, list(map(str, words)))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


def test_what_comes_of_them(authority: Authority) -> None:
    path = authority.issue()
    assert run("x").output == "x plain\n"
    assert run("x", "--tls").output == "x CERT_REQUIRED True\n"
    assert run("x", "--tls", "--cacert", authority.ca_file, "--cert", path).output == "x CERT_REQUIRED True\n"
    assert run("x", "--tls", "--cert", path, "--key", path).output == "x CERT_REQUIRED True\n"
    assert run("x", "--tls", "--insecure").output == "x CERT_NONE False\n"


def test_certificates_that_redis_takes_are_taken() -> None:
    assert not default_context().verify_flags & ssl.VERIFY_X509_STRICT


def test_what_does_not_go_together(authority: Authority, tmp_path: Path) -> None:
    path, closed = authority.issue(), authority.issue("closed", key_password=b"p")
    text = tmp_path / "text"
    text.write_text("no certificate")
    for words, said in (
        (("--insecure",), "need --tls"),
        (("--cert", path), "need --tls"),
        (("--tls", "--key", path), "--key is the key of a certificate: give --cert too"),
        (("--tls", "--cacert", text), "expected certificates in PEM form"),
        (("--tls", "--cert", text), "expected a certificate and its key (not encrypted) in PEM form"),
        (("--tls", "--cert", closed), "expected a certificate and its key (not encrypted) in PEM form"),
        (("--tls", "--cert", "/no/such"), "does not exist"),
    ):
        result = run("x", *words)
        assert result.exit_code == 2
        assert said in " ".join(result.output.replace("│", " ").split()), words


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("WRONG_VERSION_NUMBER", "it does not speak TLS on this port: leave out --tls, or give its tls-port"),
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "it wants a certificate of ours: give --cert and --key"),
        ("TLSV1_ALERT_UNKNOWN_CA", "it does not trust our certificate (--cert)"),
        ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "it says that our certificate (--cert) has expired"),
        ("BAD_RECORD", "no TLS: bad record"),
        (None, "no TLS: the connection was closed"),
    ],
)
def test_why_not(reason: str | None, said: str) -> None:
    error = ssl.SSLError(1, "x")
    if reason is not None:
        error.reason = reason
    assert why_no_tls(error) == said
