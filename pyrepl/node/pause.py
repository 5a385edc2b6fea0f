"""CLIENT PAUSE: until when which commands wait. The daemon holds the paused clients; this only decides."""

from __future__ import annotations

from typing import final


@final
class Pause:
    """A pause of all commands or of writes alone, until a Unix time in ms (exclusive)."""

    __slots__ = ("all_until_ms", "write_until_ms")

    def __init__(self) -> None:
        self.all_until_ms = 0
        self.write_until_ms = 0

    def begin(self, until_ms: int, *, writes_only: bool) -> None:
        """Redis's rule: a later end wins, and a pause of everything is never weakened by one of writes."""
        if writes_only:
            self.write_until_ms = max(self.write_until_ms, until_ms)
        else:
            self.all_until_ms = max(self.all_until_ms, until_ms)

    def end(self) -> None:
        self.all_until_ms = self.write_until_ms = 0

    def until_ms(self) -> int:
        """When the last of the pauses ends; 0 when there is none."""
        return max(self.all_until_ms, self.write_until_ms)

    def holds(self, now_ms: int, *, may_write: bool) -> bool:
        """Must a command wait now?"""
        return now_ms < self.all_until_ms or (may_write and now_ms < self.write_until_ms)
