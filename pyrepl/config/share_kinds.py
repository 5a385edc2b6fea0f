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
        number = text.removesuffix("%")
        if number == text:
            try:
                return self._memory.parse(words, max(0, current))
            except ConfigError:
                raise ConfigError("argument must be a memory or percent value") from None
        if not (number.isascii() and number.isdigit()):
            raise ConfigError("argument must be a memory or percent value")
        if int(number) > 100:
            raise ConfigError("percentage argument must be less or equal to 100")
        return -int(number)

    def text(self, value: int) -> bytes:
        return self._memory.text(value) if value >= 0 else b"%d%%" % -value

    def lines(self, value: int) -> list[list[bytes]]:
        return self._memory.lines(value) if value >= 0 else [[self.text(value)]]
