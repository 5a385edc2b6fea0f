"""Who a connection is: as which user it acts, and how that came to be.

The same for the Redis port and for the stream port, whose users are `acl.users`. What may be said before the login is
marked at the commands (NO_AUTH) and in `changes.subscription`; how much, in `resp.parser`.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple, final

from pyrepl.acl.addresses import is_local
from pyrepl.acl.user import User

SUPERUSER: Final = b"(superuser)"
"""How CLIENT LIST names whoever is no user (Redis 6)."""


class Proof(Enum):
    """How a connection came to be who it is."""

    MISSING = "missing"
    """A password is asked for, and it has not said it yet."""
    UNASKED = "unasked"
    """No password was asked for."""
    PASSWORD = "password"
    CERTIFICATE = "certificate"
    """It has proved by TLS to own a certificate that names its user."""
    OURS = "ours"
    """The node made it itself: the link to its master, a file of commands that it loads."""


@final
class Identity(NamedTuple):
    """Who a connection is, at this moment."""

    user: User | None
    """None: no user's rules apply to it, so that it may do all that its port allows."""
    proof: Proof

    @property
    def is_authenticated(self) -> bool:
        """May it say more than what belongs to the login?"""
        return self.proof is not Proof.MISSING

    @property
    def is_limited(self) -> bool:
        """Is there anything that its user may not do?"""
        return self.user is not None and not self.user.is_unlimited

    @property
    def name(self) -> bytes:
        """The user's name, as CLIENT LIST shows it."""
        return SUPERUSER if self.user is None else self.user.name


UNASKED: Final = Identity(None, Proof.UNASKED)
OURS: Final = Identity(None, Proof.OURS)


def turns_away(addr: str, *, protected_mode: bool, is_open: bool) -> bool:
    """protected-mode: a port that asks for no password (`is_open`) lets in this machine's connections alone."""
    return protected_mode and is_open and not is_local(addr)
