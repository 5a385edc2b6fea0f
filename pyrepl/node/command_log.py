"""Logs of commands that stood out, newest first: the slow ones (SLOWLOG), and with Valkey's COMMANDLOG also those with
large requests or large replies. Nothing here reads a clock."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple, final

MAX_ARGUMENTS: Final = 32
MAX_ARGUMENT_BYTES: Final = 128


class LogEntry(NamedTuple):
    """One execution: number, Unix time in seconds, what was measured (microseconds or bytes), trimmed words, client."""

    number: int
    at_s: int
    amount: int
    argv: list[bytes]
    addr: str
    client_name: bytes


@final
class CommandLog:
    """The newest `max_len` entries. The caller compares with `threshold`, in the unit of the log's amounts; negative
    means that the log is off."""

    __slots__ = ("_next", "entries", "threshold")

    def __init__(self, threshold: int, max_len: int) -> None:
        self.threshold = threshold
        self.entries: deque[LogEntry] = deque(maxlen=max_len)
        self._next = 0

    def follow(self, threshold: int, max_len: int) -> None:
        """Obey these settings from now on."""
        self.threshold = threshold
        if max_len != self.entries.maxlen:
            self.resize(max_len)

    def wants(self, amount: int) -> bool:
        """Is so much enough for an entry?"""
        return 0 <= self.threshold <= amount

    def resize(self, max_len: int) -> None:
        """Keep the newest `max_len` entries from now on."""
        kept = list(self.entries)[:max_len]
        self.entries = deque(kept, maxlen=max_len)

    def add(self, argv: list[bytes], at_s: int, amount: int, addr: str, client_name: bytes) -> None:
        if self.entries.maxlen == 0:
            return
        self.entries.appendleft(LogEntry(self._next, at_s, amount, shortened(argv), addr, client_name))
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
