"""Cuts parsed stream bytes where it is safe to stop: between units, never inside MULTI ... EXEC.

A unit is a single command, or a transaction from its MULTI to its EXEC. A replica may lose its link inside a
transaction. What the replica has applied by then must be whole units: otherwise the partial resync would bring the
transaction's second half, which would be applied alone. So a transaction waits here until its end has come.

stream_in.py feeds this with what the parser cut out, and hands the whole units on.

Not here: parsing (resp/parser.py) and applying (the shell).

Source: Redis 7.0 `commandProcessed`, which does not advance the offset inside MULTI.
"""

from __future__ import annotations

from typing import Final, final

from pyrepl.replication.events import Apply
from pyrepl.resp.parser import Batch

_OPENS: Final = 1
_CLOSES: Final = 2
_FOR_LINK: Final = 3
# Masters write these commands themselves, so two spellings are enough; a lookup saves an upper() for each command.
_SPECIAL: Final[dict[bytes, int]] = {
    b"MULTI": _OPENS,
    b"multi": _OPENS,
    b"EXEC": _CLOSES,
    b"exec": _CLOSES,
    b"DISCARD": _CLOSES,
    b"discard": _CLOSES,
    b"REPLCONF": _FOR_LINK,
    b"replconf": _FOR_LINK,
}


@final
class Spans:
    """Groups batches of commands into whole units.

    Invariants: `start` is the cut before the first byte held, so everything left of it was given out. Between two calls
    `_raw` holds bytes of an unfinished transaction alone; `_commands` and `_ends` (relative to `start`) are the
    commands parsed from these bytes.
    """

    __slots__ = ("_commands", "_ends", "_open", "_raw", "_raw_bytes", "acks_wanted", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.acks_wanted: list[int] = []
        """The cuts behind each `REPLCONF GETACK`, rising: the master wants an ACK when everything left of such a cut is
        applied. The reader (stream_in.py) takes out those that it has served."""
        self._commands: list[list[bytes]] = []
        self._ends: list[int] = []
        self._raw: list[bytes] = []
        self._raw_bytes = 0
        self._open = False

    @property
    def held_bytes(self) -> int:
        """Bytes of the transaction that has not ended yet; 0 if none is open."""
        return self._raw_bytes

    def add(self, batch: Batch) -> Apply | None:
        """Take what was parsed. Returns the units that are complete now, None if there are none.

        The usual batch has no transaction and no REPLCONF in it; it is passed on without copying.
        """
        if batch.size == 0:
            return None
        special = _SPECIAL
        for command in batch.commands:
            if command[0] in special:
                return self._add_slowly(batch)
        if self._open:
            return self._add_slowly(batch)
        apply = Apply(batch.commands, batch.ends, batch.raw, self.start)
        self.start += batch.size
        return apply

    def _add_slowly(self, batch: Batch) -> Apply | None:
        """As `add`, for a batch with special commands, or behind a MULTI: look at each command."""
        # `boundary` and `count`: how many bytes from `start` on, and how many commands, lie in whole units.
        base = self._raw_bytes
        boundary = 0
        count = 0
        for command, end in zip(batch.commands, batch.ends, strict=True):
            kind = _SPECIAL.get(command[0], 0)
            if kind == _FOR_LINK:
                # Counted in the offset, but not applied: the link answers it.
                if len(command) > 1 and command[1].upper() == b"GETACK":
                    self.acks_wanted.append(self.start + base + end)
            else:
                self._commands.append(command)
                self._ends.append(base + end)
                if kind == _OPENS:
                    self._open = True
                elif kind == _CLOSES:
                    self._open = False
            if not self._open:
                boundary = base + end
                count = len(self._commands)
        self._raw.append(batch.raw)
        self._raw_bytes += batch.size
        if not self._open:
            # Blank lines behind the last command are no command, but they count in the offset.
            boundary = self._raw_bytes
        return self._take(boundary, count) if boundary else None

    def _take(self, boundary: int, count: int) -> Apply:
        """Give out the first `boundary` bytes held, which are `count` commands; keep what lies behind them."""
        raw = self._raw[0] if len(self._raw) == 1 else b"".join(self._raw)
        apply = Apply(self._commands[:count], self._ends[:count], raw[:boundary], self.start)
        self.start += boundary
        self._commands = self._commands[count:]
        self._ends = [end - boundary for end in self._ends[count:]]
        rest = raw[boundary:]
        self._raw = [rest] if rest else []
        self._raw_bytes = len(rest)
        return apply
