"""Who a subscriber is, and what its user may do: the users of the Redis port, and the words that ACL has for it.

| to | its user needs |
|---|---|
| follow any stream | PSYNC, the right of a replica: whoever has it gets to know all that changes |
| follow `caches`, or a stream that applications write | at least SUBSCRIBE, and the channel `pyrepl:<stream>` |
| say INVALIDATE_CACHE | PUBLISH, and the channel `pyrepl:caches` |
| say USER_SYNC and whatever else others hear | PUBLISH, and the channel `pyrepl:<command in lower case>` |

Pure. A login and a refusal are told to ACL LOG by the shell, from what is returned here.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from pyrepl.acl.denial import Denial, Refused
from pyrepl.acl.identity import Identity
from pyrepl.acl.selector import Words
from pyrepl.acl.user import DEFAULT_USER, User
from pyrepl.acl.users import Users
from pyrepl.changes.replicated import CACHES_CHANNEL
from pyrepl.changes.verbs import InvalidateCache
from pyrepl.words import to_text

ONLY_AS_A_REPLICA: Final = frozenset({"keys", "commands", "sync", "mailboxes"})
"""Streams that show the data, or what the node does: a channel alone is not enough for them."""
_CHANNEL: Final = "pyrepl:"
_PSYNC: Final = Words("psync", False, [b"PSYNC"], [], [])


def channel_of(name: str) -> bytes:
    """The channel that stands for a stream, or for a command that is published."""
    return f"{_CHANNEL}{name}".encode()


def channel_said_by(verb: str) -> bytes:
    """The channel to which a subscriber's command is published."""
    return CACHES_CHANNEL if verb == InvalidateCache.VERB else channel_of(verb.lower())


@final
class Lack(NamedTuple):
    """What a user may not do."""

    reason: Refused
    object: bytes
    """The command or channel, as ACL LOG shows it."""
    text: str
    """For the user: what was refused, and which right is needed."""


@final
class Rights:
    """Who a subscriber is at this moment. What its user may do is asked anew each time."""

    def __init__(self, users: Users, identity: Identity) -> None:
        self.identity = identity
        self._users = users

    @property
    def user(self) -> User:
        """The user by whose rules it goes; before the login that is `default`."""
        assert self.identity.user is not None
        return self.identity.user

    @property
    def is_gone(self) -> bool:
        """Was its user deleted meanwhile?"""
        return self._users.get(self.user.name) is not self.user

    @property
    def wants_password(self) -> bool:
        """Does the user `default` need a password?"""
        return not self._users.is_open

    def is_own_password(self, password: bytes) -> bool:
        """Is it logged in as `default`, and this a password of that user?"""
        return self.user is self._users.default and self.user.is_password(password)

    def log_in(self, name: bytes, password: bytes) -> bool:
        """Be this user from now on, and say whether that may be. An empty name means `default`."""
        identity = self._users.log_in(name or DEFAULT_USER, password)
        if identity is None:
            return False
        self.identity = identity
        return True

    def why_not_follow(self, stream: str) -> Lack | None:
        """What it lacks to follow a stream; None if it may."""
        denial = self._why_not(_PSYNC)
        if denial is None:
            return None
        if stream in ONLY_AS_A_REPLICA:
            return self._lack(denial, _PSYNC, f"to follow {stream} it needs +psync")
        channel = channel_of(stream)
        words = Words("subscribe", False, [b"SUBSCRIBE", channel], [], [(1, False)])
        denial = self._why_not(words)
        if denial is None:
            return None
        return self._lack(denial, words, f"to follow {stream} it needs +psync, or +subscribe &{to_text(channel)}")

    def why_not_say(self, verb: str) -> Lack | None:
        """What it lacks to say a command that others hear; None if it may."""
        channel = channel_said_by(verb)
        words = Words("publish", False, [b"PUBLISH", channel, b""], [], [(1, False)])
        denial = self._why_not(words)
        if denial is None:
            return None
        return self._lack(denial, words, f"to say {verb} it needs +publish &{to_text(channel)}")

    def _why_not(self, words: Words) -> Denial | None:
        return None if self.user.is_unlimited else self.user.why_not(words)

    def _lack(self, denial: Denial, words: Words, needed: str) -> Lack:
        text = denial.text(self.user.name, words.name, words.argv, is_verbose=True)
        named = words.argv[denial.position] if denial.position else words.name.encode()
        return Lack(denial.reason, named, f"NOPERM {text}: {needed}")
