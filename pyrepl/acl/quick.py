"""What is enough for a user to run a command: found out once, so that most commands are allowed at the cost of a look.

A check that says yes is right; one that says no has still to be asked in full, as `User.why_not` alone knows the first
arguments of commands, and what exactly is done to which key. Compiled.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.glob import Glob


@final
class Quick:
    """One way in which a command is allowed, whatever its other words are.

    `keys` and `channels` are patterns, one of which each key or channel of the command must match; None where any will
    do.
    """

    __slots__ = ("channels", "keys")

    def __init__(self, keys: tuple[Glob, ...] | None, channels: tuple[Glob, ...] | None) -> None:
        self.keys: Final = keys
        self.channels: Final = channels


def all_match(globs: tuple[Glob, ...], argv: list[bytes], positions: list[int]) -> bool:
    """Does each of these words match one of the patterns? Empty words, which patterns treat in a way of their own, and
    words that are not there do not."""
    size = len(argv)
    for position in positions:
        if position >= size:
            return False
        word = argv[position]
        if not word:
            return False
        for glob in globs:
            if glob.matches(word):
                break
        else:
            return False
    return True
