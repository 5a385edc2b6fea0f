"""What becomes of a node's gates when its daemon is gone: the machine of the keeper, which outlives a killed daemon.

The keeper is told each gate that is shut, and each that is about to be opened. When the daemon is gone without a
farewell, the keeper shuts all of them, so that no Dovecot gives out UIDs that another node gives out too, and waits for
a new daemon. If none comes in time and this node goes on apart, the next UID of each mailbox is raised to what the node
may give out by itself, and the gates are opened.

    daemon -> keeper     apart <orphan ms> <gap> <members> <place>     or `wait`: they stay shut until a daemon comes
                         open <folder>, shut <folder>                  base64
                         bye                                           all gates go, and the keeper

Not here: the process and its socket, and the lock files (the daemon's keeper.py).
"""

from __future__ import annotations

import base64
from typing import Final, Protocol, final

from pyrepl.mailbox.uids import UidBlocks

TRY_S: Final = 0.02
"""After so long it is tried again to shut a gate behind which a Dovecot is busy."""
LOOK_S: Final = 1.0
"""So often it is looked whether anything is to be done."""


class GateFiles(Protocol):
    """The gates of mailboxes, each named by its folder."""

    def shut(self, gate: bytes) -> bool:
        """Keep the lock; False if a Dovecot has it at the moment. Raises OSError, as when the mailbox was removed."""

    def open(self, gate: bytes) -> None:
        """Keep it no longer."""

    def part(self, gate: bytes, blocks: UidBlocks, place: int) -> bool:
        """Raise the next UID to what the member at this place may give out by itself. False if that cannot be done now;
        of a mailbox that was removed, there is nothing to raise."""


@final
class Gatekeeping:
    """The gates, and what becomes of them; `now` is monotonic seconds."""

    def __init__(self, files: GateFiles) -> None:
        self._files: Final = files
        self.gates: Final[dict[bytes, bool]] = {}
        """Folder -> is it open?"""
        self.is_over = False
        self.orphan_s: float | None = None
        """So long a new daemon is waited for; None for as long as it takes."""
        self._blocks = UidBlocks(1, 1)
        self._place = 0
        self._orphaned_at: float | None = None

    def hear(self, line: bytes) -> None:
        """What the daemon says."""
        match line.split():
            case [b"apart", orphan_ms, gap, members, place]:
                self.orphan_s = int(orphan_ms) / 1000
                self._blocks, self._place = UidBlocks(int(gap), int(members)), int(place)
            case [b"wait"]:
                self.orphan_s = None
            case [b"open" | b"shut" as how, folder]:
                self.gates[base64.b64decode(folder)] = how == b"open"
            case [b"bye"]:
                for gate in self.gates:
                    self._files.open(gate)
                self.is_over = True

    def daemon_came(self) -> None:
        self._orphaned_at = None

    def daemon_gone(self, now: float) -> None:
        """Without a farewell."""
        self._orphaned_at = now

    def tick(self, now: float) -> None:
        """Shut what is open, while nobody else does."""
        if self._orphaned_at is None:
            return
        for gate, is_open in list(self.gates.items()):
            if is_open:
                self._shut(gate)
        if self.orphan_s is not None and now >= self._orphaned_at + self.orphan_s:
            for gate, is_open in list(self.gates.items()):
                # A gate that could not be shut is a Dovecot's, whose UIDs nobody can change any more. Where the next
                # UID cannot be raised, it stays shut and is tried again: its Dovecot would give out what others do.
                if is_open or self._files.part(gate, self._blocks, self._place):
                    self._files.open(gate)
                    del self.gates[gate]
            self.is_over = not self.gates

    def next_s(self) -> float:
        """After how many seconds tick() may have something to do."""
        if self._orphaned_at is None:
            return LOOK_S
        return TRY_S if any(self.gates.values()) else LOOK_S

    def _shut(self, gate: bytes) -> None:
        try:
            if self._files.shut(gate):
                self.gates[gate] = False
        except (FileNotFoundError, NotADirectoryError):
            # The mailbox was removed, or has another name: the daemon that comes finds out.
            del self.gates[gate]
        except OSError:
            # As on a full disk: it is tried again.
            return
