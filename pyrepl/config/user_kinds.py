"""The kind of value that the row `user` has: users with their rules. What rules mean is known to `acl`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from pyrepl.config.kinds import Kind
from pyrepl.errors import ConfigError

_TWICE = "Duplicate user found. A user can only be defined once in config files"


@final
class UserLines(Kind[tuple[tuple[bytes, ...], ...]]):
    """Users, each a name and its rules as words; a lone empty word means none; the lines of a file add up."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[tuple[bytes, ...], ...]) -> tuple[tuple[bytes, ...], ...]:
        if list(words) == [b""]:
            return ()
        if not words or not words[0]:
            raise ConfigError("wrong number of arguments")
        return (tuple(words),)

    def again(self, words: Sequence[bytes], current: tuple[tuple[bytes, ...], ...]) -> tuple[tuple[bytes, ...], ...]:
        added = self.parse(words, current)
        if any(line[0] == new[0] for line in current for new in added):
            raise ConfigError(_TWICE)
        return current + added

    def text(self, value: tuple[tuple[bytes, ...], ...]) -> bytes:
        return b"; ".join(b" ".join(line) for line in value)

    def lines(self, value: tuple[tuple[bytes, ...], ...]) -> list[list[bytes]]:
        return [list(line) for line in value]
