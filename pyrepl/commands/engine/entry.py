"""A row of the command table, prepared for execution: `dispatch` makes one for each row of `table`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from pyrepl.commands.engine.table import STREAM_HOLDS, Command
from pyrepl.node.stats import CommandStats

_NO_ACCESS: Final = frozenset(
    {"ttl", "pttl", "expiretime", "pexpiretime", "type", "exists", "watch", "memory|usage", "debug"}
    | {"restore", "restore-asking", "object|encoding", "object|freq", "object|idletime", "object|refcount"}
    | {"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"}
)
"""Commands that do not count as an access to their keys for LRU and LFU (LOOKUP_NOTOUCH, 7.0), and RESTORE, whose
options say when its key was accessed; scripts access keys by the commands that they call."""


@final
class Entry:
    """A row with the fields that one dispatcher needs for each call, and with the row's counters."""

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
        """How many words the name has: 1, or 2 for a subcommand."""
        self.children: dict[bytes, Entry] = {}
        self.wire_name = row.wire_name
        self.is_exec = row.name == "EXEC"
        self.is_access = row.wire_name.lower() not in _NO_ACCESS
        self.frames = row.name in ("MULTI", "EXEC")
        self.applies = bool(row.flags & STREAM_HOLDS) and not self.frames
        """Is the command executed when a stream brings it? MULTI and EXEC are not: they only frame a unit there."""
        self.is_plain = not row.subcommands and not self.is_exec and skip == 1
        """May `execute_plain` execute the command?"""

    def named_by(self, argv: list[bytes]) -> Entry | None:
        """The entry of the subcommand that `argv` names, this one if it has none or none is named; None if it has no
        such subcommand."""
        return self.children.get(argv[1].upper()) if self.children and len(argv) > 1 else self

    def fits(self, size: int) -> bool:
        """May a call have `size` words, the name included?"""
        return size == self.arity or (self.arity < 0 and size >= -self.arity)
