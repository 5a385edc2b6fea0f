"""What a user is refused, and the words for it (Redis 8.2)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, final

from pyrepl.words import to_text


class Refused(Enum):
    """What may be refused, by the word of ACL LOG. The number says which one is told where several are: the highest."""

    COMMAND = ("command", 1)
    KEY = ("key", 2)
    AUTH = ("auth", 3)
    CHANNEL = ("channel", 4)
    TLS_CERT = ("tls-cert", 5)
    """A certificate that names no user; no command is refused for it."""

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def rank(self) -> int:
        return self.value[1]


@final
class Denial(NamedTuple):
    """A command that a user may not run as it is."""

    reason: Refused
    position: int
    """Which word of the command: 0 for the command itself."""

    def text(self, user: bytes, wire_name: str, argv: list[bytes], *, is_verbose: bool = False) -> str:
        """Why, as a clause. `is_verbose`, for ACL DRYRUN, names the user and the key or channel too."""
        if self.reason is Refused.COMMAND:
            return f"User {to_text(user)} has no permissions to run the '{wire_name}' command"
        if is_verbose:
            word = to_text(argv[self.position])
            return f"User {to_text(user)} has no permissions to access the '{word}' {self.reason.word}"
        return f"No permissions to access a {self.reason.word}"

    def text_in_exec(self) -> str:
        """Why a command that was queued may not run any more, as a clause."""
        return _IN_EXEC[self.reason]


_IN_EXEC = {
    Refused.COMMAND: "no permission to execute the command or subcommand",
    Refused.KEY: "no permission to touch the specified keys",
    Refused.CHANNEL: "no permission to access one of the channels used as arguments",
}
