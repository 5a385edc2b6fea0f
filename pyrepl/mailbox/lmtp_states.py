"""The states of one connection of the LMTP proxy: the table says which trigger leads from which to which.

Not here: what is done on the way (lmtp.py).
"""

from __future__ import annotations

import enum
from typing import Final

from pyrepl.machines import Table


class LmtpState(enum.StrEnum):
    """How far a delivery is."""

    COMMANDS = "commands"
    """The client says commands, which are passed on."""
    ASKED = "asked"
    """DATA was passed on, and the backend says whether the text may come."""
    TEXT = "text"
    """The text passes."""
    SAVING = "saving"
    """The text is over, and the backend tells of each recipient."""
    HELD = "held"
    """It has told of all, and the client is not told before other nodes have the mail."""


class LmtpTrigger(enum.StrEnum):
    """What moves it."""

    DATA = "DATA"
    """The client wants to send a text."""
    GO = "go"
    """The backend takes it."""
    REFUSED = "refused"
    """It does not."""
    END = "end"
    """The text is over."""
    STORED = "stored"
    """At least one recipient has it."""
    NOT_STORED = "not stored"
    """None has it."""
    TOLD = "told"
    """Other nodes have it, or as many as can be had."""


_S = LmtpState
_T = LmtpTrigger
LMTP: Final[Table[LmtpState, LmtpTrigger]] = Table(
    "The LMTP proxy",
    (_S.COMMANDS,),
    {
        (_S.COMMANDS, _T.DATA): _S.ASKED,
        (_S.ASKED, _T.GO): _S.TEXT,
        (_S.ASKED, _T.REFUSED): _S.COMMANDS,
        (_S.TEXT, _T.END): _S.SAVING,
        (_S.SAVING, _T.STORED): _S.HELD,
        (_S.SAVING, _T.NOT_STORED): _S.COMMANDS,
        (_S.HELD, _T.TOLD): _S.COMMANDS,
    },
)
