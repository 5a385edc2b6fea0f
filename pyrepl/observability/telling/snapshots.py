"""What is told of a child that writes a snapshot, whoever wants it: that it runs, and what became of it.

Not here: what a snapshot for replicas means to them (master_end.py), and SAVE, which has no child.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.observability.eventlog.records import SnapshotEnded, SnapshotStarted
from pyrepl.observability.telling.voice import Voice

DISK: Final = "disk"
SOCKET: Final = "socket"


class Ending(Protocol):
    """How a child ended. See daemon/disk/snapshot.Outcome, which is one."""

    error: str
    signal: int
    is_unwanted: bool
    seconds: float
    cow_bytes: int
    keys: int
    written_bytes: int


@final
class SnapshotTeller:
    """Tells of one child after the other."""

    def __init__(self, say: Voice) -> None:
        self._say = say
        self._number = 0
        self._purpose = ""
        self._target = DISK

    def started(self, purpose: str, target: str, pid: int, keys: int, fork_us: int, cut: int) -> int:
        """A child was forked; the snapshot's number, from 1. `purpose` is bgsave or replicas, `target` disk or socket;
        it holds the data of the stream up to `cut`."""
        self._number += 1
        self._purpose, self._target = purpose, target
        self._say(
            SnapshotStarted(self._number, purpose, target, pid, keys, fork_us, cut),
            events.SavingStarted(pid) if target == DISK else events.TransferStarted(pid),
        )
        return self._number

    def ended(self, end: Ending, readers: int) -> None:
        """The child was reaped; `readers` is how many replicas it wrote to until the end, 0 for a file."""
        self._say(
            SnapshotEnded(
                self._number,
                self._purpose,
                self._target,
                ok=not end.error,
                snapshot_ms=round(end.seconds * 1000),
                keys=end.keys,
                written_bytes=end.written_bytes,
                private_bytes=end.cow_bytes,
                signal=end.signal or None,
                error=end.error or None,
            ),
            *(_saving_lines(end) if self._target == DISK else _transfer_lines(end, readers)),
        )


def _saving_lines(end: Ending) -> list[Event]:
    if not end.error:
        return [events.SavingSucceeded()]
    if end.is_unwanted:
        return [events.SavingKilled(end.signal)]
    return [
        events.CannotWriteSnapshot("child", end.error),
        events.SavingKilled(end.signal) if end.signal else events.SavingFailed(),
    ]


def _transfer_lines(end: Ending, readers: int) -> list[Event]:
    if not end.error:
        return [events.TransferReadOut(readers), events.TransferSucceeded()]
    ended = events.TransferKilled(end.signal) if end.signal else events.TransferFailed()
    return [ended] if end.is_unwanted else [events.CannotWriteSnapshot("socket", end.error), ended]
