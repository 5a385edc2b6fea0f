"""A row of the command table, prepared for execution: `dispatch` makes one for each row of `table`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from pyrepl.commands.engine.table import (
    FIRST_ARG,
    STREAM_HOLDS,
    Command,
    Table,
    unknown_command,
    unknown_subcommand,
)
from pyrepl.errors import CommandError
from pyrepl.node.stats import CommandStats, Stats

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

    def keys_of(self, argv: list[bytes]) -> list[bytes]:
        """The keys that a whole command names."""
        keys = self.row.keys
        if keys is FIRST_ARG:
            return [argv[1]]
        return [argv[position] for position in keys.positions(argv)]

    def fits(self, size: int) -> bool:
        """May a call have `size` words, the name included?"""
        return size == self.arity or (self.arity < 0 and size >= -self.arity)


@final
class Entries:
    """The entries of a table, by the names that clients and streams call them."""

    __slots__ = ("_by_old_name", "by_name")

    def __init__(self, table: Table, stats: Stats) -> None:
        self.by_name: dict[bytes, Entry] = {}
        """By the name in capitals and in small letters."""
        for name, row in table.rows.items():
            self.by_name[name] = self.by_name[name.lower()] = _entry(row, 1, stats)
        self._by_old_name = {name: _entry(row, 1, stats) for name, row in table.renamed.items()}
        """The commands that rename-command has taken from clients, by their old names, which streams may still use."""

    def resolve(self, argv: list[bytes], in_stream: bool = False) -> Entry:
        """Find the entry of a command in the slow way: any case, subcommands, arity. Raises CommandError if there is
        none."""
        name = argv[0]
        entry = self.by_name.get(name) or self.by_name.get(name.upper())
        if entry is None and in_stream:
            entry = self._by_old_name.get(name.upper())
        if entry is None:
            raise unknown_command(argv)
        if entry.children and len(argv) > 1:
            child = entry.children.get(argv[1].upper())
            if child is None:
                raise unknown_subcommand(argv)
            entry = child
        complaint = entry.row.why_not_arity(len(argv))
        if complaint is not None:
            entry.stats.rejected_calls += 1
            raise CommandError(complaint)
        return entry


def _entry(row: Command, skip: int, stats: Stats) -> Entry:
    """The entry of a row, with those of its subcommands; the row's name has `skip` words."""
    entry = Entry(row, stats.of(row.wire_name), skip)
    for name, child in row.subcommands.items():
        entry.children[name] = _entry(child, skip + 1, stats)
    return entry
