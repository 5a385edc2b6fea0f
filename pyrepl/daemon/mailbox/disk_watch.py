"""Is the disk of all Maildirs there, and does it take anything?

Looked at each second, as a node whose disk is gone must not keep the others waiting, even where nothing is to be
written: it could neither shut a gate nor give a mailbox away. Whether anything can be written is tried when something
could not be. One that is missing, or takes nothing, ends the life of what is open (server.py): for the others the node
is then as one that is off, and it begins again from what is on disk. It has to anyway: who watched folders of a disk
that was taken out hears nothing of them any more, and what it held may have changed.

Not here: the disk of one user's mail that refuses (standing.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, final

from pyrepl.daemon.mailbox.maildirs_place import NotThere
from pyrepl.daemon.mailbox.results import failed
from pyrepl.errors import PyreplError

LOOK_S: Final = 1.0


class DiskRefuses(PyreplError):
    """The disk of all Maildirs is missing, or takes nothing; the text says why."""


class Checks(Protocol):
    """Looks at the disk; in a thread. `writes`: something is written too. Raises NotThere, OSError."""

    def __call__(self, *, writes: bool) -> None: ...


@final
class DiskWatch:
    """One look at a time. Everything is called in the loop."""

    def __init__(self, check: Checks, found: Callable[[DiskRefuses], None]) -> None:
        """`found` is told of a disk that refuses."""
        self._check: Final = check
        self._found: Final = found
        self._at = float("-inf")
        """When it is looked at next."""
        self._is_suspected = False
        self._task: asyncio.Task[None] | None = None

    def suspect(self) -> None:
        """Something could not be written: it may be that nothing can."""
        self._is_suspected = True

    def tick(self, now: float) -> None:
        """Look, if it is time to."""
        if self._task is None and (now >= self._at or self._is_suspected):
            self._at = now + LOOK_S
            self._task = asyncio.get_running_loop().create_task(self._look())

    async def why_not(self, *, writes: bool) -> str:
        """Why the disk refuses; "" if it does not."""
        try:
            await asyncio.get_running_loop().run_in_executor(None, lambda: self._check(writes=writes))
        except (NotThere, OSError) as error:
            return failed(error).reason
        return ""

    def stop(self) -> None:
        """Nothing is found any more."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        writes, self._is_suspected = self._is_suspected, False
        try:
            why = await self.why_not(writes=writes)
        finally:
            self._task = None
        if why:
            self._found(DiskRefuses(why))
