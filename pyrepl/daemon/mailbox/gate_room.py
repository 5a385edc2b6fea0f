"""What gates need of the system: the watches on their folders, and the keeper of their lock files.

A folder that the kernel does not watch has its turn instead: its gate is shut as any other, and is opened when its turn
comes, whether a Dovecot waits or not.

Not here: each of them (gate_watch.py, name_watch.py, unwatched.py, keeper_link.py), and the lock files
(uidlist_lock.py).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, final

from pyrepl.daemon.mailbox.gate_watch import GateWatch
from pyrepl.daemon.mailbox.keeper_link import KeeperLink
from pyrepl.daemon.mailbox.message_files import Change
from pyrepl.daemon.mailbox.name_watch import NameWatch
from pyrepl.daemon.mailbox.unwatched import Unwatched
from pyrepl.mailbox.gate_states import Blind, Seen


@final
class GateRoom:
    """All of them, as the store and the driver see them."""

    def __init__(
        self, folder: Path, orphaned: bytes, wake: Callable[[], None], gone: Callable[[], None], poll_s: float
    ) -> None:
        """As KeeperLink and GateWatch have it; `poll_s`: one folder that is not watched has its turn. Raises NoKeeper,
        OSError."""
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
        self._blind: Final = Unwatched(poll_s, wake)
        self._blind_users: Final = Unwatched(poll_s, wake)

    @property
    def unwatched(self) -> Blind:
        """Which mailboxes and users the kernel does not watch."""
        return Blind(self._blind, self._blind_users)

    def follow(self, box: str, folder: bytes) -> None:
        """A mailbox is to be watched, or to have its turn. Raises OSError."""
        self._follow(box, self._blind, lambda: self._watch.follow(box, folder))

    def follow_user(self, user: str, folder: bytes) -> None:
        """A folder with mailboxes of a user is to be watched, or to have its turn. Raises OSError."""
        self._follow(user, self._blind_users, lambda: self._watch.follow_user(user, folder))

    def _follow(self, name: str, blind: Unwatched, follow: Callable[[], None]) -> None:
        try:
            follow()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            blind.add(name)
        else:
            blind.remove(name)

    def gone(self, box: str) -> None:
        """A mailbox is not here any more."""
        self._blind.remove(box)
        self._watch.gone(box)

    def open(self, box: str, gate: bytes) -> None:
        """Raises NoKeeper, OSError."""
        self.keeper.open(gate)
        if box not in self._blind:
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
        turns = [(box, Seen(reads=True)) for box in self._blind.take()]
        return [*self._watch.take(ours), *turns]

    def take_users(self) -> list[str]:
        """Whose folders changed, as GateWatch has it."""
        return sorted({*self._watch.take_users(), *self._blind_users.take()})

    def close(self) -> None:
        for blind in (self._blind, self._blind_users):
            blind.close()
        self._watch.close()
        self._names.close()
        self.keeper.close()
