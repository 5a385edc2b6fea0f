"""Who a connection is: where it comes from, whether it is let in, as which user, and how that came to be.

One owner for the client port and for the stream port, each with the password of its own directive. What may be said
before the login is marked at the commands (NO_AUTH) and in `changes.subscription`; how much, in `resp.parser`. There is
one user yet, `default`; more of them, and what each may do, find their place in `Access`.
"""

from __future__ import annotations

import hmac
import ipaddress
from enum import Enum
from typing import Final, NamedTuple, final

DEFAULT_USER: Final = b"default"


class Proof(Enum):
    """How a connection came to be who it is."""

    MISSING = "missing"
    """A password is asked for, and it has not said it yet."""
    UNASKED = "unasked"
    """No password was asked for."""
    PASSWORD = "password"
    OURS = "ours"
    """The node made it itself: the link to its master, a file of commands that it loads."""


@final
class Identity(NamedTuple):
    """Who a connection is, at this moment."""

    user: bytes
    proof: Proof

    @property
    def is_authenticated(self) -> bool:
        """May it say more than what belongs to the login?"""
        return self.proof is not Proof.MISSING


STRANGER: Final = Identity(DEFAULT_USER, Proof.MISSING)
UNASKED: Final = Identity(DEFAULT_USER, Proof.UNASKED)
OURS: Final = Identity(DEFAULT_USER, Proof.OURS)


@final
class Access(NamedTuple):
    """Who is let in by a port, as its password says: made anew from the setting, whose change it does not see."""

    password: bytes = b""
    """Empty: none is asked for."""

    @property
    def is_open(self) -> bool:
        """Is no password asked for?"""
        return not self.password

    def newcomer(self) -> Identity:
        """Who a connection is that has said nothing yet."""
        return UNASKED if self.is_open else STRANGER

    def log_in(self, user: bytes, password: bytes) -> Identity | None:
        """Who says so; None if there is no such user, or its password is another one.

        Without a password any fits, as Redis's nopass users have it.
        """
        if user != DEFAULT_USER:
            return None
        if self.is_open:
            return UNASKED
        return Identity(user, Proof.PASSWORD) if self.is_password(password) else None

    def is_password(self, password: bytes) -> bool:
        """Is it the one that is asked for? How long the answer takes tells nothing about it."""
        return hmac.compare_digest(password, self.password)

    def turns_away(self, addr: str, *, protected_mode: bool) -> bool:
        """protected-mode: without a password only this machine's connections are let in."""
        return protected_mode and self.is_open and not is_local(addr)


def is_unix(addr: str) -> bool:
    """Did it come by the Unix socket? `addr` is `path:0` there, and no other has port 0."""
    return addr.endswith(":0")


def is_local(addr: str) -> bool:
    """Does it come from this machine: by the Unix socket, or from a loopback address, any of 127.0.0.0/8 or ::1?

    What Redis 7.2 and later and Valkey 8 mean by it, for protected mode and for `local` in enable-debug-command and
    enable-protected-configs (7.0 knew 127.0.0.1 and ::1 alone).
    """
    host = addr.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return is_unix(addr)
