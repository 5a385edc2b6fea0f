"""What a mode remembers, and how CLIENT TRACKINGINFO shows it."""

from __future__ import annotations

from pyrepl.node.tracking_mode import TrackingMode


def test_remembers_and_words() -> None:
    def made(*, bcast: bool = False, optin: bool = False, optout: bool = False) -> TrackingMode:
        return TrackingMode(redirect=0, bcast=bcast, optin=optin, optout=optout, noloop=True)

    assert made().remembers and made().words() == [b"on", b"noloop"]
    assert not made(bcast=True).remembers and made(bcast=True).words() == [b"on", b"bcast", b"noloop"]
    asked, refused = made(optin=True), made(optout=True)
    assert (asked.remembers, refused.remembers) == (False, True)
    asked.caching = refused.caching = True
    assert (asked.remembers, refused.remembers) == (True, False)
    assert asked.words() == [b"on", b"optin", b"caching-yes", b"noloop"]
    assert refused.words() == [b"on", b"optout", b"caching-no", b"noloop"]
