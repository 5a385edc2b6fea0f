"""The slow log: commands that took longer than slowlog-log-slower-than, newest first. Nothing here reads a clock."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple, final

MAX_ARGUMENTS: Final = 32
MAX_ARGUMENT_BYTES: Final = 128


class SlowEntry(NamedTuple):
    """One slow execution: number, Unix time in seconds, duration in microseconds, trimmed words, client."""

    number: int
    at_s: int
    duration_us: int
    argv: list[bytes]
    addr: str
    client_name: bytes


@final
class Slowlog:
    """The newest `max_len` entries (slowlog-max-len). The caller compares with `threshold_us`, which is
    slowlog-log-slower-than; negative means that the log is off."""

    __slots__ = ("_next", "entries", "threshold_us")

    def __init__(self, threshold_us: int, max_len: int) -> None:
        self.threshold_us = threshold_us
        self.entries: deque[SlowEntry] = deque(maxlen=max_len)
        self._next = 0

    def resize(self, max_len: int) -> None:
        """Keep the newest `max_len` entries from now on."""
        kept = list(self.entries)[:max_len]
        self.entries = deque(kept, maxlen=max_len)

    def add(self, argv: list[bytes], at_s: int, duration_us: int, addr: str, client_name: bytes) -> None:
        if self.entries.maxlen == 0:
            return
        self.entries.appendleft(SlowEntry(self._next, at_s, duration_us, shortened(argv), addr, client_name))
        self._next += 1

    def clear(self) -> None:
        self.entries.clear()


def shortened(argv: list[bytes]) -> list[bytes]:
    """At most 32 words of 128 bytes, with Redis's notes on what was cut."""
    shown = argv[: MAX_ARGUMENTS - 1] if len(argv) > MAX_ARGUMENTS else argv
    words = [
        word
        if len(word) <= MAX_ARGUMENT_BYTES
        else word[:MAX_ARGUMENT_BYTES] + b"... (%d more bytes)" % (len(word) - MAX_ARGUMENT_BYTES)
        for word in shown
    ]
    if len(argv) > MAX_ARGUMENTS:
        words.append(b"... (%d more arguments)" % (len(argv) - MAX_ARGUMENTS + 1))
    return words
