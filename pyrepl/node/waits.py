"""The kinds of wait: what each waits for, and what its client is told when it has come, and when it came too late.

| kind | who | ready when |
|---|---|---|
| AckedWait | WAIT | enough replicas have acknowledged the client's last write |
| FsyncedWait | WAITAOF | it is on disk here and on enough replicas; or it never will be here |
| KeysWait | commands that block on keys | the command, tried again at a key that became ready, has a reply |
| PausedWait | whoever CLIENT PAUSE, FAILOVER or SHUTDOWN holds before a command | no pause holds it |
| ShutdownWait | SHUTDOWN | it has failed or was aborted: if it succeeds nobody is left |
| WorkWait | a command whose work goes on beside the loop | the work says so |

The waits of a node together, and every way in which one ends, are `waiting`'s.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import ClassVar, Final, final

from pyrepl.config.settings import Settings
from pyrepl.errors import CommandError
from pyrepl.node.client import Client
from pyrepl.node.persistence import AofState
from pyrepl.replication.roster import Roster
from pyrepl.resp.reply import NO_REPLY, Reply

WAITAOF_WITHOUT_AOF: Final = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."


class Kind(enum.Enum):
    """What a wait is for: what is looked at together."""

    ACKED = "acked"
    FSYNCED = "fsynced"
    KEYS = "keys"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    WORK = "work"


class Wait:
    """One client's wait.

    `deadline` is in monotonic seconds, None for no limit.
    """

    kind: ClassVar[Kind]
    blocks: ClassVar[bool] = False
    """The client counts as blocked: in INFO, in CLIENT LIST, and for CLIENT UNBLOCK."""
    ends_with_role: ClassVar[bool] = False
    """What it waits for comes only to a master's clients."""

    def __init__(self, client: Client, deadline: float | None = None) -> None:
        self.client: Final = client
        self.deadline: Final = deadline

    def ready(self) -> tuple[Reply] | None:
        """(the reply,) if what it waits for has come; None: it waits on."""
        return None

    def late(self) -> Reply:
        """The reply when the time is over."""
        return NO_REPLY


@final
class AckedWait(Wait):
    """WAIT: for `wanted` replicas to acknowledge what the client has written. Late or not, it is told how many have."""

    kind = Kind.ACKED
    blocks = True
    ends_with_role = True

    def __init__(self, client: Client, deadline: float | None, roster: Roster, wanted: int) -> None:
        super().__init__(client, deadline)
        self._roster = roster
        self._wanted = wanted
        self._cut = client.write_cut

    def ready(self) -> tuple[Reply] | None:
        acked = self._roster.acked_at_least(self._cut)
        return (acked,) if acked >= self._wanted else None

    def late(self) -> Reply:
        return self._roster.acked_at_least(self._cut)


@final
class FsyncedWait(Wait):
    """WAITAOF: for what the client has written to be on disk, here (`here` 1) and on so many replicas.

    Late or not, it is told [1 if it is on disk here else 0, on how many replicas it is].
    """

    kind = Kind.FSYNCED
    blocks = True
    ends_with_role = True

    def __init__(
        self,
        client: Client,
        deadline: float | None,
        settings: Settings,
        aof: AofState,
        roster: Roster,
        *,
        here: int,
        replicas: int,
    ) -> None:
        super().__init__(client, deadline)
        self._settings = settings
        self._aof = aof
        self._roster = roster
        self._here = here
        self._replicas = replicas
        self._cut = client.write_cut

    def ready(self) -> tuple[Reply] | None:
        if self._here and not self._settings.appendonly:
            return (CommandError(WAITAOF_WITHOUT_AOF),)
        here, there = self._reached()
        return ([here, there],) if here >= self._here and there >= self._replicas else None

    def late(self) -> Reply:
        return list(self._reached())

    def _reached(self) -> tuple[int, int]:
        here = self._settings.appendonly and self._aof.synced_cut >= self._cut
        sessions = self._roster.sessions.values()
        return int(here), sum(1 for session in sessions if session.is_replica and session.fack_cut >= self._cut)


@final
class KeysWait(Wait):
    """A command that found nothing at its keys: it is tried again whenever one of them becomes ready.

    `places` are (database, key). `serve(database, key)` tries the command again: (its reply,), and other keys may have
    become ready by it; or None if it has changed nothing and has to wait on. `late_reply` is the command's word for
    nothing.
    """

    kind = Kind.KEYS
    blocks = True
    ends_with_role = True

    def __init__(
        self,
        client: Client,
        deadline: float | None,
        places: tuple[tuple[int, bytes], ...],
        serve: Callable[[int, bytes], tuple[Reply] | None],
        late_reply: Reply,
    ) -> None:
        super().__init__(client, deadline)
        self.places: Final = tuple(dict.fromkeys(places))
        self.serve: Final = serve
        self._late_reply = late_reply

    def late(self) -> Reply:
        return self._late_reply


@final
class PausedWait(Wait):
    """A client stopped before a command: nothing is owed to it. It looks again when it goes on, as the command may be
    held by a pause that has begun meanwhile."""

    kind = Kind.PAUSED

    def __init__(self, client: Client, *, may_write: bool) -> None:
        super().__init__(client)
        self.may_write: Final = may_write
        """A pause of writes alone holds it too."""


@final
class ShutdownWait(Wait):
    """A client that has said SHUTDOWN, and is told only if the node goes on."""

    kind = Kind.SHUTDOWN


@final
class WorkWait(Wait):
    """A client whose command is being worked at: in slices between the turns of the loop, or on a thread."""

    kind = Kind.WORK
