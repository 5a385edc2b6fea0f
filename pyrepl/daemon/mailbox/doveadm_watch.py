"""What mail programs change in mailboxes that a Dovecot keeps, noticed by asking it again and again, for all users by
one call: has a mailbox another UIDNEXT, HIGHESTMODSEQ or number of messages than before, is it new, gone or renamed, is
another name subscribed?

What works of ours change is noticed as well, and found to be in the rows. A user of whom nothing can be told counts as
changed: who looks is told why. Not here: what follows (pyrepl.mailbox.gates, folders), and looking (doveadm_store.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.daemon.mailbox.doveadm_mail import STATUS, DoveadmBox, parsed_boxes, parsed_names
from pyrepl.daemon.mailbox.doveadm_program import DoveadmError, DoveadmProgram
from pyrepl.mailbox.gate_states import Blind, Seen
from pyrepl.mailbox.maildir.layout import Layout

USERS: Final = ".pyrepl-users"
"""The file beside mailbox.db that says who is asked for."""
_CHANGED: Final = Seen(brought=True)


class _Snapshot(NamedTuple):
    """A user's mailboxes as they were told last, and the names that are subscribed."""

    boxes: tuple[DoveadmBox, ...]
    subscribed: frozenset[str]


_Snapshots: TypeAlias = dict[str, _Snapshot | None]
"""By user; None: Dovecot could not be asked."""


@final
class DoveadmWatch:
    """The questions, in a thread of their own. `follow` is called by threads, everything else in the loop."""

    def __init__(
        self,
        program: DoveadmProgram,
        layout: Layout,
        folder: Path,
        every_s: float,
        wake: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """`wake` is called when there is something to take; `failed` when nothing will be told any more, for another
        reason than that a Dovecot cannot be asked."""
        self._program: Final = program
        self._layout: Final = layout
        self._file: Final = folder / USERS
        self._every_s: Final = every_s
        self._wake: Final = wake
        self._failed: Final = failed
        self._users: Final[dict[str, None]] = {}
        self._last: Final[_Snapshots] = {}
        self._boxes: dict[str, Seen] = {}
        self._changed: set[str] = set()
        self._thread: Final = ThreadPoolExecutor(1, thread_name_prefix="mailbox-watch")
        self._task: Final = asyncio.get_running_loop().create_task(self._run())

    def follow(self, user: str) -> None:
        """A user is to be watched; who is already stays so."""
        self._users.setdefault(user)

    def take(self, ours: Sequence[str]) -> list[tuple[str, Seen]]:
        """Which mailboxes changed since it was asked last; nobody waits for lock files, whosever they are."""
        seen, self._boxes = self._boxes, {}
        return list(seen.items())

    def take_users(self) -> list[str]:
        """Whose folders changed since it was asked last."""
        seen, self._changed = self._changed, set()
        return sorted(seen)

    @property
    def unwatched(self) -> Blind:
        """None: all are asked for."""
        return Blind()

    def close(self) -> None:
        """What is under way ends, and is not told."""
        self._task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Until that has ended."""
        self._thread.shutdown(wait=True)

    async def _run(self) -> None:
        try:
            while True:
                await asyncio.sleep(self._every_s)
                await self._look(list(self._users))
        except Exception as error:
            self._failed(error)

    async def _look(self, users: list[str]) -> None:
        if not users:
            return
        now = await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, users)
        for user, snapshot in now.items():
            self._compare(user, snapshot)
        if self._boxes or self._changed:
            self._wake()

    def _compare(self, user: str, now: _Snapshot | None) -> None:
        before = self._last.get(user)
        self._last[user] = now
        if now is None or before is None or _listed(now) != _listed(before):
            self._changed.add(user)
        known = {} if before is None else {box.guid: _state(box) for box in before.boxes}
        for box in () if now is None else now.boxes:
            if known.get(box.guid) != _state(box):
                self._boxes[box.guid] = _CHANGED

    # In the thread

    def _ask(self, users: list[str]) -> _Snapshots:
        """If one user spoils it for all, each is asked for alone."""
        try:
            return self._ask_for(users)
        except (DoveadmError, OSError):
            if len(users) == 1:
                return dict.fromkeys(users)
        found: _Snapshots = {}
        for user in users:
            found |= self._ask([user])
        return found

    def _ask_for(self, users: list[str]) -> _Snapshots:
        self._file.write_text("".join(f"{user}\n" for user in users), encoding="utf-8")
        boxes = self._program.rows("mailbox", "status", "-F", str(self._file), STATUS, "*")
        names = self._program.rows("mailbox", "list", "-s", "-F", str(self._file))
        return {
            user: _Snapshot(
                tuple(parsed_boxes(_of(boxes, user), self._layout)),
                frozenset(parsed_names(_of(names, user), self._layout)),
            )
            for user in users
        }


def _of(rows: Iterable[dict[str, str]], user: str) -> list[dict[str, str]]:
    return [row for row in rows if row.get("username") == user]


def _state(box: DoveadmBox) -> tuple[int, ...]:
    """What changes with what the mailbox holds."""
    return box.uidvalidity, box.uidnext, box.highest, box.messages


def _listed(snapshot: _Snapshot) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    return frozenset((box.guid, box.name) for box in snapshot.boxes), snapshot.subscribed
