"""Keeps a link to each member that this node connects to: tries again until there is one, and again when it is lost.

Of two members the later one in the list connects, so there is one connection between them. Not here: what is said on
it (pyrepl.mailbox.peer_link).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias, final

from pyrepl.config.mailbox_kinds import MailboxMember
from pyrepl.daemon.wires.connecting import Reach
from pyrepl.daemon.wires.wire import Wire

AGAIN_S: Final = 1.0
SOON_S: Final = 0.1
"""Instead, for SOON_FOR_S after the start and after a link that lasted: a member that was only started again is met at
once, and mail that waits for it waits no longer."""
SOON_FOR_S: Final = 5.0
PATIENCE_S: Final = 5.0
"""How long a member may take to accept a connection."""

Serve: TypeAlias = Callable[[Wire, MailboxMember], "asyncio.Future[None]"]
"""Talk to a member over a wire; the future is done when that is over."""


@final
class Dialer:
    """One task a member."""

    def __init__(self, reach: Reach, serve: Serve, failed: Callable[[MailboxMember, str], None]) -> None:
        """`failed` is told why a member cannot be reached, once for each reason."""
        self._reach: Final = reach
        self._serve: Final = serve
        self._failed: Final = failed
        self._tasks: Final[list[asyncio.Task[None]]] = []

    def call(self, member: MailboxMember) -> None:
        """Keep a link to this member from now on."""
        self._tasks.append(asyncio.get_running_loop().create_task(self._keep(member)))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    async def _keep(self, member: MailboxMember) -> None:
        told = ""
        now = asyncio.get_running_loop().time
        soon_until = now() + SOON_FOR_S
        while True:
            began = now()
            why = await self._try(member)
            if why and why != told:
                self._failed(member, why)
            told = why
            if not why and now() >= began + AGAIN_S:
                soon_until = now() + SOON_FOR_S
            await asyncio.sleep(SOON_S if now() < soon_until else AGAIN_S)

    async def _try(self, member: MailboxMember) -> str:
        """Connect, and talk until it is over: why there was no connection, "" if there was."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                wire = await self._reach(member.host, member.port)
        except TimeoutError:
            return f"no answer for {PATIENCE_S:.0f} s"
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error)
        await self._serve(wire, member)
        return ""
