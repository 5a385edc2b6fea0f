"""The kinds of wait: when each is fulfilled, which reply its client gets then, and which one at the deadline.

| kind | who | ready when |
|---|---|---|
| AckedWait | WAIT | enough replicas have acknowledged the client's last write |
| FsyncedWait | WAITAOF | the client's last write is on disk here and on enough replicas; or it never will be here |
| KeysWait | commands that block on keys | the command, tried again at a key that became ready, has a reply |
| LateWait | a client whose login has failed | never: the answer comes at the deadline |
| PausedWait | a client that CLIENT PAUSE, FAILOVER or SHUTDOWN holds before a command | no pause holds it |
| ShutdownWait | SHUTDOWN | the shutdown has failed or was aborted; if it succeeds, no client is left |
| WorkWait | a command whose work goes on in slices or on a thread | the work is done |

`waiting` keeps the waits of a node, and has every way in which a wait ends.
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
    """The kinds by which `Waiting` finds waits."""

    ACKED = "acked"
    FSYNCED = "fsynced"
    KEYS = "keys"
    LATE = "late"
    PAUSED = "paused"
    SHUTDOWN = "shutdown"
    WORK = "work"


class Wait:
    """One client's wait.

    `deadline` is in monotonic seconds, None for no limit.
    """

    kind: ClassVar[Kind]
    blocks: ClassVar[bool] = False
    """Does the client count as blocked: in INFO, in CLIENT LIST, and for CLIENT UNBLOCK?"""
    ends_with_role: ClassVar[bool] = False
    """Can only a master fulfil the wait? Then it ends when the node follows another."""

    def __init__(self, client: Client, deadline: float | None = None) -> None:
        self.client: Final = client
        self.deadline: Final = deadline

    def ready(self) -> tuple[Reply] | None:
        """(the reply,) if the wait is fulfilled; None while it is not."""
        return None

    def late(self) -> Reply:
        """The reply at the deadline."""
        return NO_REPLY


@final
class AckedWait(Wait):
    """WAIT: until `wanted` replicas have acknowledged the client's last write. The reply is how many have, also at the
    deadline."""

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
    """WAITAOF: until the client's last write is on disk, here (`here` 1) and on so many `replicas`.

    The reply is [1 if the write is on disk here else 0, on how many replicas it is], also at the deadline.
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
    """A command that found nothing at its keys, and is tried again whenever one of them becomes ready.

    `places` are (database, key); `type_name` is the type, as TYPE names it, that a key must have for the command to be
    tried again. With `on_any_type` it is tried again too when a key is deleted or gets another type, and then has an
    error to tell (XREADGROUP: its group is gone). `serve()` tries the command again, and returns (its reply,), or None
    if the client waits on. A command that is tried again may make other keys ready. `late_reply` is the command's reply
    when there is nothing.
    """

    kind = Kind.KEYS
    blocks = True
    ends_with_role = True

    def __init__(
        self,
        client: Client,
        deadline: float | None,
        places: tuple[tuple[int, bytes], ...],
        type_name: str,
        serve: Callable[[], tuple[Reply] | None],
        late_reply: Reply,
        *,
        on_any_type: bool = False,
    ) -> None:
        super().__init__(client, deadline)
        self.places: Final = tuple(dict.fromkeys(places))
        self.serve: Final = serve
        self.on_any_type: Final = on_any_type
        self._type_name = type_name
        self._late_reply = late_reply

    def wants(self, type_name: str | None) -> bool:
        """Is the command to be tried again when one of its keys has this type, or is not there (None)?"""
        return self.on_any_type or type_name == self._type_name

    def late(self) -> Reply:
        return self._late_reply


@final
class LateWait(Wait):
    """A client that gets its reply at the deadline and not before."""

    kind = Kind.LATE

    def __init__(self, client: Client, deadline: float, reply: Reply) -> None:
        super().__init__(client, deadline)
        self._reply = reply

    def late(self) -> Reply:
        return self._reply


@final
class PausedWait(Wait):
    """A client stopped before a command. It gets no reply for the wait. When it goes on, the pauses are asked again, as
    another one may have begun meanwhile."""

    kind = Kind.PAUSED

    def __init__(self, client: Client, *, may_write: bool) -> None:
        super().__init__(client)
        self.may_write: Final = may_write
        """May the command write? Then a pause of writes alone holds it too."""


@final
class ShutdownWait(Wait):
    """A client that has sent SHUTDOWN: it gets a reply only if the node goes on."""

    kind = Kind.SHUTDOWN


@final
class WorkWait(Wait):
    """A client whose command's work goes on: in slices between the turns of the loop, or on a thread."""

    kind = Kind.WORK
