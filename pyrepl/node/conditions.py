"""The conditions of a node under which commands are not simply executed: loading, paused, a replica, and the like.

Each condition has one owner (the role, a load, the pauses), which calls `note` when it begins and when it ends. Each
call also renews the sums (`guarded`, `checked` and others), so that they are always true and nobody has to compute them
later. The sums are plain fields: every command reads one of them, and while `checked` is False the dispatcher asks for
nothing else.

Not here: what a condition forbids (`commands.engine.gates`), and what is special about one client (`Client.guarded`).
"""

from __future__ import annotations

import enum
from typing import Final, final


class Condition(enum.Enum):
    """Why a command may be refused, held back, shown to monitors or kept from the stream. Below each condition: its
    owner, which calls `Conditions.note`."""

    REPLICA = "we follow a master"
    """The node, of its role."""
    LOADING = "a data set loads, and commands wait for it"
    """`Persistence`."""
    REPLAYING = "a file of commands is executed: what it changes is in our stream already"
    """The load of the append-only file."""
    SAVE_FAILED = "the last snapshot file could not be written"
    """`Persistence`."""
    AOF_FAILED = "the append-only file could not be written"
    """`AofState`."""
    FOLLOWED = "an append-only file is written"
    """`AofState`."""
    MONITORED = "a client wants to see all commands"
    """The node, of MONITOR."""
    WANTS_REPLICAS = "writes need so many replicas (min-replicas-to-write)"
    """The node, of its settings."""
    PAUSED = "commands of clients wait (CLIENT PAUSE, a failover, the end of the process)"
    """`Pause`."""
    IMPORTING = "what has expired stays until it is overwritten (import-mode)"
    """The node, of its settings."""
    MEASURED = "the sizes of requests and replies are logged (COMMANDLOG)"
    """The node, of its settings."""
    BUSY = "a script runs for longer than busy-reply-threshold"
    """`Scripts`."""
    TRACKED = "the memory limit has to hear of each command"
    """`MemoryLimit`."""
    NOTIFIED = "what happens to keys is told (notify-keyspace-events)"
    """`Notifications`."""


_NOT_OURS: Final = frozenset({Condition.REPLICA, Condition.REPLAYING})
_KEEP_OWN: Final = frozenset({Condition.REPLICA, Condition.FOLLOWED})
_FORBID_NOTHING: Final = frozenset({Condition.TRACKED, Condition.NOTIFIED, Condition.FOLLOWED})
_UNHEEDED: Final = frozenset({Condition.FOLLOWED})
"""What commands need not look out for: it says only where their writes go."""


@final
class Conditions:
    """The conditions that hold, and their sums.

    Invariants: `guarded` is True exactly while any condition but TRACKED, NOTIFIED and FOLLOWED holds, `checked` while
    any but FOLLOWED holds or `keys_ready` is True; `propagates` is False exactly while REPLICA or REPLAYING holds;
    `keeps_own` is True exactly while REPLICA and FOLLOWED hold and REPLAYING does not; `tracked` is True exactly while
    TRACKED holds, `notified` while NOTIFIED does, `measured` while MEASURED does.
    """

    __slots__ = (
        "_heeded",
        "_holding",
        "checked",
        "guarded",
        "keeps_own",
        "keys_ready",
        "measured",
        "notified",
        "propagates",
        "tracked",
    )

    def __init__(self) -> None:
        self._holding: set[Condition] = set()
        self._heeded = False
        self.guarded = False
        """May a condition forbid a command, or change what happens to its reply?"""
        self.checked = False
        """Is `guarded`, `tracked`, `keys_ready` or `notified` True?"""
        self.keys_ready = False
        """Must `Waiting.serve_keys` be called before the next command? It tells so by `note_keys_ready`."""
        self.tracked = False
        """Must the memory limit hear of each command?"""
        self.notified = False
        """Must what each command did to keys be told?"""
        self.measured = False
        """Must the sizes of each command's request and reply be noted?"""
        self.propagates = True
        """Do our own writes go into the stream? They do on a master that replays no file."""
        self.keeps_own = False
        """Do our own writes go into the append-only file alone? They do on a writable replica that has one."""

    def note(self, condition: Condition, holds: bool) -> None:
        """To be called by the owner of `condition`: it holds from now on, or does not any more. Harmless if nothing has
        changed."""
        if holds:
            self._holding.add(condition)
        else:
            self._holding.discard(condition)
        self.tracked = Condition.TRACKED in self._holding
        self._heeded = not self._holding <= _UNHEEDED
        self.checked = self._heeded or self.keys_ready
        self.notified = Condition.NOTIFIED in self._holding
        self.measured = Condition.MEASURED in self._holding
        self.guarded = not self._holding <= _FORBID_NOTHING
        self.propagates = self._holding.isdisjoint(_NOT_OURS)
        self.keeps_own = self._holding >= _KEEP_OWN and Condition.REPLAYING not in self._holding

    def note_keys_ready(self, is_ready: bool) -> None:
        """Keys have become ready for clients that wait for them, or all such clients were served. `Waiting` tells this
        for each element that is handed over, so it is no member of the set."""
        self.keys_ready = is_ready
        self.checked = is_ready or self._heeded
