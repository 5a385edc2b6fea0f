"""How one client wants to be told of keys that change: the options of CLIENT TRACKING, and what follows from them."""

from __future__ import annotations

from typing import final


@final
class TrackingMode:
    """The mode of a client whose tracking is on; owned by `Tracking`, which has the keys.

    `redirect` is the id of the client that is told in its place, 0 for none.
    """

    __slots__ = ("bcast", "caching", "is_broken", "noloop", "optin", "optout", "prefixes", "redirect")

    def __init__(self, *, redirect: int, bcast: bool, optin: bool, optout: bool, noloop: bool) -> None:
        self.redirect = redirect
        self.bcast = bcast
        self.optin = optin
        self.optout = optout
        self.noloop = noloop
        self.caching = False
        """Was CLIENT CACHING just called? It says YES with OPTIN, NO with OPTOUT."""
        self.is_broken = False
        """Is the client gone that is told in this one's place?"""
        self.prefixes: dict[bytes, None] = {}
        """With `bcast`: what keys must begin with, in the order of the calls; b"" stands for all keys."""

    @property
    def is_asked(self) -> bool:
        """May CLIENT CACHING say whether the next command counts?"""
        return self.optin or self.optout

    @property
    def remembers(self) -> bool:
        """Are the keys of the next reading command remembered?"""
        if self.bcast:
            return False
        if self.optin:
            return self.caching
        return not (self.optout and self.caching)

    def words(self) -> list[bytes]:
        """The flags of CLIENT TRACKINGINFO, in Redis's order."""
        shown = (
            (self.bcast, b"bcast"),
            (self.optin, b"optin"),
            (self.optin and self.caching, b"caching-yes"),
            (self.optout, b"optout"),
            (self.optout and self.caching, b"caching-no"),
            (self.noloop, b"noloop"),
            (self.is_broken, b"broken_redirect"),
        )
        return [b"on", *(word for holds, word in shown if holds)]
