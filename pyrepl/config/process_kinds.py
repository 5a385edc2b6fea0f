"""The kinds of value that only the rows of process.py have: how a signal ends the node.

The kinds that several rows share, and what a kind is, stand in kinds.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from pyrepl.config.kinds import Kind
from pyrepl.errors import ConfigError
from pyrepl.words import to_text

_SHUTDOWN_OPTIONS: Final = ("save", "nosave", "now", "force")
_NONE: Final = "default"


@final
class ShutdownOptions(Kind[tuple[str, ...]]):
    """Options of SHUTDOWN, each at most once and in Redis's order: save or nosave, now, force; `default` for none."""

    many_words = True

    def parse(self, words: Sequence[bytes], current: tuple[str, ...]) -> tuple[str, ...]:
        given = {to_text(word).lower() for word in words}
        if not given or given - {_NONE, *_SHUTDOWN_OPTIONS}:
            options = ", ".join((_NONE, *_SHUTDOWN_OPTIONS))
            raise ConfigError(f"argument(s) must be one of the following: {options}")
        if {"save", "nosave"} <= given:
            raise ConfigError("shutdown options SAVE and NOSAVE can't be used simultaneously")
        return tuple(option for option in _SHUTDOWN_OPTIONS if option in given)

    def text(self, value: tuple[str, ...]) -> bytes:
        return " ".join(value or (_NONE,)).encode()

    def lines(self, value: tuple[str, ...]) -> list[list[bytes]]:
        return [self.text(value).split()]
