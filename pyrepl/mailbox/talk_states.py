"""The states of a connection of the mailbox protocol: the table says which trigger leads from which to which.

talk.py looks the next state up here before each move. Not here: what is said on the way (greeting.py, talk.py).

Both ends say HELLO first. On TCP each then proves by AUTH that it knows the secret; on the socket of the node's own
machine the rights of its file have let in whoever is there.
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table


class TalkState(enum.StrEnum):
    """How far a connection is."""

    EXPECTS_HELLO = "expects_hello"
    """The other end has said nothing yet."""
    EXPECTS_AUTH = "expects_auth"
    """It said who it is, and has to prove it."""
    OPEN = "open"
    """Commands and answers go both ways."""
    CLOSED = "closed"
    """Nothing is heard any more."""


class TalkTrigger(enum.StrEnum):
    """What moves it."""

    HELLO = "HELLO"
    """The first line of the other end."""
    TRUSTED_HELLO = "HELLO of a trusted end"
    """The same, where no proof is needed."""
    AUTH = "AUTH"
    """The proof, and it is right."""
    LINE = "a command"
    """Any other line."""
    END = "the end"
    """One of the ends closes, or broke a rule."""


_S = TalkState
_T = TalkTrigger
TALK: Final[Table[TalkState, TalkTrigger]] = Table(
    "A connection of the mailbox protocol",
    (_S.EXPECTS_HELLO,),
    {
        (_S.EXPECTS_HELLO, _T.HELLO): _S.EXPECTS_AUTH,
        (_S.EXPECTS_HELLO, _T.TRUSTED_HELLO): _S.OPEN,
        (_S.EXPECTS_AUTH, _T.AUTH): _S.OPEN,
        (_S.OPEN, _T.LINE): _S.OPEN,
        **{(state, _T.END): _S.CLOSED for state in _S if state is not _S.CLOSED},
    },
)
