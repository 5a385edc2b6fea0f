"""A row of the command table as a dispatcher executes it. What it says is `table`'s, who executes it `dispatch`'s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from pyrepl.commands.engine.table import STREAM_HOLDS, Command
from pyrepl.node.stats import CommandStats

_NO_ACCESS: Final = frozenset(
    {"ttl", "pttl", "expiretime", "pexpiretime", "type", "exists", "watch", "memory|usage", "debug"}
    | {"restore", "object|encoding", "object|freq", "object|idletime", "object|refcount"}
)
"""Commands that ask about keys without accessing them, for LRU and LFU (LOOKUP_NOTOUCH, 7.0), and RESTORE, which says
itself when its key was accessed."""


@final
class Entry:
    """A row as one dispatcher executes it: its function and counters at hand."""

    __slots__ = (
        "applies",
        "arity",
        "children",
        "flags",
        "fn",
        "frames",
        "is_access",
        "is_exec",
        "is_plain",
        "row",
        "skip",
        "stats",
        "wire_name",
        "words",
    )

    def __init__(self, row: Command, stats: CommandStats, skip: int) -> None:
        self.row = row
        self.fn: Callable[..., Any] = row.fn
        self.words = row.words
        self.arity = row.arity
        self.flags = row.flags
        self.stats = stats
        self.skip = skip
        """Words of the name: 1, or 2 for a subcommand."""
        self.children: dict[bytes, Entry] = {}
        self.wire_name = row.wire_name
        self.is_exec = row.name == "EXEC"
        self.is_access = row.wire_name.lower() not in _NO_ACCESS
        self.frames = row.name in ("MULTI", "EXEC")
        self.applies = bool(row.flags & STREAM_HOLDS) and not self.frames
        """Is it executed when a stream brings it? What only frames a unit there needs no deed."""
        self.is_plain = not row.subcommands and not self.is_exec and skip == 1
        """May be executed by `execute_plain`."""

    def fits(self, size: int) -> bool:
        """May a call have `size` words, the name included?"""
        return size == self.arity or (self.arity < 0 and size >= -self.arity)
