"""Why a node ends a subscription: the code that begins an ERROR line, and the exception that a subscriber gets for it.

Pure; a node words its errors from these codes, a client reads them. As in Redis the first word is for programs, the
rest for people: `ERROR TOOOLD 4096 token 12 of stream keys is older than ...`.

| code | what it means | a subscriber |
|---|---|---|
| NOAUTH, WRONGPASS | a password is wanted, or another one | gives up: WrongPassword |
| NOPERM | the user may not do this | gives up: NotAllowed |
| NOSTREAM | no such stream here | gives up: UnknownStream |
| BADTOKEN | no token that a node gave: it lies within a command | gives up: UnknownToken |
| TOOOLD oldest | the rows after the token are not kept any more; `oldest` still is | gives up: TokenTooOld |
| FORKED [fork] | the token is of another history, which went another way at `fork` | gives up: ForkedHistory |
| AHEAD | the token is not reached here yet, as on a replica that lags | comes again |
| LOADING, BUSY, SLOW, anything else | not now: loading, too many subscribers, it read too slowly | comes again |

"Gives up" is said of a node; a subscriber that knows several asks the others first (roundabout.py).
"""

from __future__ import annotations

from typing import Final

from pyrepl.errors import PyreplError

NOAUTH: Final = "NOAUTH"
WRONGPASS: Final = "WRONGPASS"
NOPERM: Final = "NOPERM"
NOSTREAM: Final = "NOSTREAM"
BADTOKEN: Final = "BADTOKEN"
TOOOLD: Final = "TOOOLD"
FORKED: Final = "FORKED"
AHEAD: Final = "AHEAD"
LOADING: Final = "LOADING"
BUSY: Final = "BUSY"
SLOW: Final = "SLOW"


class Refused(PyreplError):
    """No node that could be reached goes on with this subscription; the text is the first one's, for people."""


class WrongPassword(Refused):
    """The node asks for a password, or for another one, or does not know the user."""


class NotAllowed(Refused):
    """The user lacks a right, which the text names."""


class UnknownStream(Refused):
    """The node has no such stream."""


class UnknownToken(Refused):
    """No node gave this token: it lies between two that could be."""


class TokenTooOld(Refused):
    """Rows after the token are not kept any more: what changed since has to be had in another way.

    `oldest`: the oldest token from which the node can go on; None when it did not say.
    """

    def __init__(self, text: str, oldest: int | None = None) -> None:
        super().__init__(text)
        self.oldest = oldest


class ForkedHistory(Refused):
    """The token is of a history that the node has left: what came after the fork may never have happened here.

    `fork`: the newest token that both have; None when it did not say.
    """

    def __init__(self, text: str, fork: int | None = None) -> None:
        super().__init__(text)
        self.fork = fork


class AnotherServer(Refused):
    """The node is not the one that was expected."""


class NotAStreamPort(Refused):
    """Whatever listens there does not speak the line protocol; `is_redis`: it answers as the Redis port of a node."""

    def __init__(self, text: str, *, is_redis: bool) -> None:
        super().__init__(text)
        self.is_redis = is_redis


class BatchTooLarge(Refused):
    """The rows of one token do not fit into the memory that the application allows."""


def refusal_of(text: str) -> Refused | None:
    """The exception for an ERROR line's text; None where it is worth to come again."""
    code, _, rest = text.partition(" ")
    if code in (NOAUTH, WRONGPASS):
        return WrongPassword(text)
    if code == NOPERM:
        return NotAllowed(text)
    if code == NOSTREAM:
        return UnknownStream(text)
    if code == BADTOKEN:
        return UnknownToken(text)
    if code == TOOOLD:
        return TokenTooOld(text, _first_number(rest))
    if code == FORKED:
        return ForkedHistory(text, _first_number(rest))
    return None


def _first_number(words: str) -> int | None:
    word = words.partition(" ")[0]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 20 else None
