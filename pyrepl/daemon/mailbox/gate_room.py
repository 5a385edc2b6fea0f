"""What gates need of the system: the watches on their folders, and the keeper of their lock files.

Not here: each of them (gate_watch.py, name_watch.py, keeper_link.py), and the lock files (uidlist_lock.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.mailbox.gate_watch import GateWatch
from pyrepl.daemon.mailbox.keeper_link import KeeperLink
from pyrepl.daemon.mailbox.message_files import Change
from pyrepl.daemon.mailbox.name_watch import NameWatch
from pyrepl.mailbox.gates import Seen


@final
class GateRoom:
    """All of them, as the store and the driver see them."""

    def __init__(self, folder: Path, orphaned: bytes, wake: Callable[[], None], gone: Callable[[], None]) -> None:
        """As KeeperLink and GateWatch have it. Raises NoKeeper, OSError."""
        self.keeper: Final = KeeperLink(folder, orphaned, gone)
        try:
            self._names: Final = NameWatch()
        except OSError:
            self.keeper.close()
            raise
        try:
            self._watch: Final = GateWatch(wake)
        except OSError:
            self._names.close()
            self.keeper.close()
            raise

    def follow(self, box: str, folder: bytes) -> None:
        """A mailbox is to be watched. Raises OSError."""
        self._watch.follow(box, folder)

    def follow_user(self, user: str, folder: bytes) -> None:
        """A folder with mailboxes of a user is to be watched. Raises OSError."""
        self._watch.follow_user(user, folder)

    def open(self, gate: bytes) -> None:
        """Raises NoKeeper, OSError."""
        self.keeper.open(gate)
        self._watch.follow_open(gate)
        self._names.begin(gate)

    def shut(self, gate: bytes) -> None:
        """Raises NoKeeper."""
        self._names.end(gate)
        self.keeper.shut(gate)

    def changes(self, gate: bytes) -> Sequence[Change] | None:
        """What came and went behind a gate since it was opened, or asked for last; None if that is not known."""
        return self._names.take(gate)

    def take(self, ours: Sequence[str]) -> list[tuple[str, Seen]]:
        """What was seen, as GateWatch has it."""
        return self._watch.take(ours)

    def take_users(self) -> list[str]:
        """Whose folders changed, as GateWatch has it."""
        return self._watch.take_users()

    def close(self) -> None:
        self._watch.close()
        self._names.close()
        self.keeper.close()
