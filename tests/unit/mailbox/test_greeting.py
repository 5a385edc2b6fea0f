"""Who knows the secret is believed, on this connection, in its role, with the words that it said; nobody else is."""

from __future__ import annotations

import pytest

from pyrepl.errors import PeerError
from pyrepl.mailbox.greeting import Greeting
from pyrepl.mailbox.verbs import Auth, Hello

A, B = Hello(node="a", nonce="a" * 32), Hello(node="b", nonce="b" * 32)


def pair(secret_b: bytes = b"s3", heard_by_b: Hello = A) -> tuple[Greeting, Greeting]:
    """a calls b."""
    a, b = Greeting(A, b"s3", calls=True), Greeting(B, secret_b, calls=False)
    a.hear(B)
    b.hear(heard_by_b)
    return a, b


def test_both_ends_are_believed() -> None:
    a, b = pair()
    b.check(a.proof())
    a.check(b.proof())
    assert b"s3" not in repr(a.proof()).encode()


@pytest.mark.parametrize(
    ("secret", "heard"), [(b"other", A), (b"s3", A.replaced(proto=2)), (b"s3", A.replaced(node="c"))]
)
def test_another_secret_or_a_changed_line_is_noticed(secret: bytes, heard: Hello) -> None:
    a, b = pair(secret, heard)
    with pytest.raises(PeerError, match="mailbox-secret"):
        b.check(a.proof())


def test_a_proof_is_no_use_to_whoever_hears_it() -> None:
    a, b = pair()
    with pytest.raises(PeerError):
        a.check(a.proof())
    later = Greeting(B.replaced(nonce="c" * 32), b"s3", calls=False)
    later.hear(A)
    with pytest.raises(PeerError):
        later.check(a.proof())
    with pytest.raises(PeerError):
        b.check(Auth(mac=""))


@pytest.mark.parametrize(
    ("theirs", "why"),
    [
        (B.replaced(proto=0), "expected proto=1 or later, got proto=0"),
        (B.replaced(nonce="short"), "nonce of 32 characters"),
        (B.replaced(nonce=A.nonce), "got ours"),
    ],
)
def test_a_hello_that_cannot_be_greeted(theirs: Hello, why: str) -> None:
    with pytest.raises(PeerError, match=why):
        Greeting(A, b"s3", calls=True).hear(theirs)
