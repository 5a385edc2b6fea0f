"""What does not fit together in TLS: each case is told in a sentence that says what to do, on the side that knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.peers.certificates import Authority
from tests.peers.lab import Lab, Node

Directives = dict[str, str]
KINDS: Final = ("redis7", "valkey8", "pyrepl")
UNTRUSTED: Final = "certificate is of a CA that we do not trust; add that CA to tls-ca-cert-file or tls-ca-cert-dir"


@pytest.fixture
def other(tmp_path: Path) -> Authority:
    """A CA that nobody trusts."""
    return Authority(tmp_path / "other")


def trusting(lab: Lab, directives: Directives) -> Directives:
    """The same, with the CA of the test as the one that is trusted."""
    return {**directives, "tls-ca-cert-file": str(lab.authority.ca_file)}


CASES: Final[dict[str, tuple[Callable[[Lab, Authority], Directives], str]]] = {
    "a CA of the master that we do not trust": (
        lambda lab, other: {**other.directives(), "tls-ca-cert-file": str(other.ca_file)},
        f"the server's {UNTRUSTED}",
    ),
    "a CA of ours that the master does not trust": (
        lambda lab, other: trusting(lab, other.directives()),
        "the server does not trust our certificate (tls-client-cert-file, or tls-cert-file); give it the CA of that",
    ),
    "no certificate of ours": (
        lambda lab, other: trusting(lab, {"tls-replication": "yes"}),
        "the server wants a certificate of ours; set tls-client-cert-file, or tls-cert-file",
    ),
    "a certificate of ours that has expired": (
        lambda lab, other: lab.authority.directives(lab.authority.issue("old", expired=True)),
        "the server says that our certificate (tls-client-cert-file, or tls-cert-file) has expired; renew it",
    ),
    "other versions": (
        lambda lab, other: {**lab.authority.directives(), "tls-protocols": "TLSv1.2"},
        "no version of TLS is allowed on both sides; compare tls-protocols",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_master_does_not_like(lab: Lab, other: Authority, kind: str) -> None:
    master = lab.start(kind, directives={**lab.authority.directives(), "tls-protocols": "TLSv1.3"})
    for case, (directives, said) in CASES.items():
        replica = lab.start("pyrepl", master.tls_port, directives=directives(lab, other))
        replica.wait_log(said)
        replica.end()
        assert "Connection reset" not in replica.log(), case


@pytest.mark.parametrize("kind", KINDS)
def test_what_we_do_not_like_of_a_master(lab: Lab, kind: str) -> None:
    authority = lab.authority
    expired = lab.start(kind, directives=authority.directives(authority.issue("old", expired=True)))
    replica = lab.start("pyrepl", expired.tls_port, directives=authority.directives())
    replica.wait_log("the server's certificate has expired; renew it (and look at this machine's clock)")
    far = lab.start(kind, directives=authority.directives(authority.issue("far", "far.example.org")))
    replica = lab.start("pyrepl", far.tls_port, directives={**authority.directives(), "tls-check-name": "yes"})
    replica.wait_log("the server's certificate is for another name: IP address mismatch, certificate is not valid for")
    replica.call("CONFIG", "SET", "tls-check-name", "no")
    replica.wait_link_up()


@pytest.mark.parametrize("kind", KINDS)
def test_plain_to_tls(lab: Lab, kind: str) -> None:
    master = lab.start(kind, directives=lab.authority.directives())
    replica = lab.start("pyrepl", master.tls_port)
    replica.wait_log(
        "This port speaks TLS only: connect with TLS (redis-cli --tls, tls-replication yes on a replica)"
        if kind == "pyrepl"
        else "before it said a word; if this is its tls-port, set tls-replication to yes"
    )
    replica.call(
        "CONFIG", "SET", "tls-ca-cert-file", str(lab.authority.ca_file), *in_words(lab), "tls-replication", "yes"
    )
    replica.wait_link_up()


def in_words(lab: Lab) -> list[str]:
    path = str(lab.authority.issue("late"))
    return ["tls-cert-file", path, "tls-key-file", path]


def test_tls_to_plain(lab: Lab) -> None:
    master = lab.start("pyrepl")
    replica = lab.start("pyrepl", master, directives=lab.authority.directives())
    replica.wait_log("the server does not speak TLS on this port; connect to its tls-port, or without TLS")
    master.wait_log("speaks TLS to a port without TLS, so it was closed: let it connect to tls-port, or without TLS.")
    replica.call("CONFIG", "SET", "tls-replication", "no")
    replica.wait_link_up()


def test_tls_to_a_plain_real_server(lab: Lab) -> None:
    """It says nothing, and waits for a line to end."""
    replica = lab.start("pyrepl", lab.start("redis7"), directives=lab.authority.directives())
    replica.wait_log("no answer for 10 s; if that port does not speak TLS, connect without", timeout_s=30)


REPLICAS: Final[dict[str, tuple[Callable[[Lab, Authority], Directives], str]]] = {
    "it does not trust us": (
        lambda lab, other: other.directives(),
        "the client does not trust our certificate (tls-cert-file); give it the CA of that certificate",
    ),
    "we do not trust it": (
        lambda lab, other: trusting(lab, other.directives()),
        f"the client's {UNTRUSTED}",
    ),
    "it has expired": (
        lambda lab, other: lab.authority.directives(lab.authority.issue("old", expired=True)),
        "the client's certificate has expired; renew it",
    ),
    "it speaks no TLS": (
        lambda lab, other: {},
        "the client does not speak TLS; let it use TLS (redis-cli --tls), or the plain port",
    ),
}


@pytest.mark.parametrize("kind", ["redis7", "valkey8"])
def test_real_replicas_that_do_not_fit(lab: Lab, other: Authority, kind: str) -> None:
    for case, (directives, said) in REPLICAS.items():
        master: Node = lab.start("pyrepl", directives=lab.authority.directives())
        replica = lab.start(kind, master.tls_port, directives=directives(lab, other))
        master.wait_log(said)
        assert master.stat("tls_handshakes_failed") >= 1, case
        replica.end()
        master.end()
