"""A size that may be a part of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from pyrepl.config.kinds import LONG_MAX, Kind, Memory
from pyrepl.errors import ConfigError
from pyrepl.words import to_text


@final
class MemoryOrPercent(Kind[int]):
    """A size in bytes as Memory has it, or `5%`, which is kept as -5: 0 to 100, both inclusive (Redis 7.0)."""

    _memory = Memory(0, LONG_MAX)

    def parse(self, words: Sequence[bytes], current: int) -> int:
        text = to_text(words[0]) if len(words) == 1 else ""
        if not text.endswith("%"):
            return self._memory.parse(words, max(0, current))
        number = text.removesuffix("%")
        if not (number.isascii() and number.isdigit()) or int(number) > 100:
            raise ConfigError("argument must be a memory or percent value")
        return -int(number)

    def text(self, value: int) -> bytes:
        return self._memory.text(value) if value >= 0 else b"%d%%" % -value

    def lines(self, value: int) -> list[list[bytes]]:
        return self._memory.lines(value) if value >= 0 else [[self.text(value)]]
