"""What a tagged command is answered: OK, NO and why, or BAD.

Not here: who answers what, and when.
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final

from pyrepl.errors import PeerError
from pyrepl.mailbox.kinds import Count, Epoch, Guids, Milliseconds, Modseq, Node, Seconds, Sums, Text, UidNext, Yes
from pyrepl.mailbox.verbs import Command
from pyrepl.mailbox.words import Dot, Token, Uids, Vector


class Reason(enum.StrEnum):
    """Why not."""

    TIMEOUT = "TIMEOUT"
    APART = "APART"
    EPOCH = "EPOCH"
    NOBOX = "NOBOX"
    EXISTS = "EXISTS"
    NOUID = "NOUID"
    MODIFIED = "MODIFIED"
    BUSY = "BUSY"
    FAILED = "FAILED"
    NOTEXT = "NOTEXT"
    DENIED = "DENIED"


class _Answer(Command):
    """The base of answers, with all that one of them may state."""

    uid: UidNext | None = None
    uids: Uids = ()
    guids: Guids = ()
    modseq: Modseq | None = None
    at: Dot | None = None
    acks: Count | None = None
    epoch: Epoch | None = None
    root: Node = ""
    left: Milliseconds | None = None
    token: Token | None = None
    held: Vector = ()
    ahead: Vector = ()
    upto: Text = ""
    same: Yes = False
    oldest: Dot | None = None
    size: Count | None = None
    received: Seconds | None = None
    sum: Sums = ()
    why: Text = ""


class Ok(_Answer):
    """It was done. With a text behind it, the answer to FETCH."""

    VERB: ClassVar = "OK"
    HAS_TEXT: ClassVar = True


class No(_Answer):
    """It was not done, and the reason is one that a sender can act on."""

    VERB: ClassVar = "NO"
    POSITIONS: ClassVar = ("reason",)
    reason: Text

    @classmethod
    def parse(cls, args: list[str]) -> Command:
        answer = super().parse(args)
        word = answer.__dict__["reason"]
        if word not in Reason.__members__:
            raise PeerError(f"NO reason: expected one of {', '.join(Reason)}, got {word[:64]!r}")
        return answer.replaced(reason=Reason(word))


class Bad(_Answer):
    """The line was no command; `why` says what was expected and what came."""

    VERB: ClassVar = "BAD"


ANSWERS: Final[dict[str, type[Command]]] = {answer.VERB: answer for answer in (Ok, No, Bad)}
