"""The errors that cross rooms: each says what was expected, what came, and where.

Exit codes and wording for people live in the daemon and the CLI.
"""

from __future__ import annotations

from typing import final


class PyreplError(Exception):
    """Base of every error that pyrepl raises on purpose."""


@final
class PeerError(PyreplError):
    """The other end of a connection broke the protocol; the link is closed, what is stored stays."""


@final
class CorruptData(PyreplError):
    """Stored or transferred data that cannot be what it claims to be.

    `offset` is the byte (from 0) at which the broken item begins, counted from the start of the file or payload.
    """

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} (at byte {offset})")
        self.offset = offset


class CommandError(PyreplError):
    """A command's error reply: the text of the `-` line without the dash, first word the code (ERR, WRONGTYPE, ...)."""


@final
class ConfigError(PyreplError):
    """A directive that cannot be accepted; the text names file, line and directive where they are known."""
