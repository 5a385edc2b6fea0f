"""What the log says of a link to a master that ended or could not be had: our line with phase and cause, and the one
that Redis has for the same cause.

Not here: when it is said (daemon/following/master_link).
Source: Redis 8.2 `syncWithMaster`, `readSyncBulkPayload`, `replicationCron`.
"""

from __future__ import annotations

from typing import Final

from pyrepl.observability import events
from pyrepl.observability.event import Event
from pyrepl.replication.events import LinkState, Lost
from pyrepl.replication.psync import Cause

_CONNECTING: Final = (LinkState.CONNECTING, LinkState.HANDSHAKE, LinkState.PAIRING)
REFUSALS: Final = {
    "foreign_command": "is none that a master puts into its stream",
    "unknown_command": "is unknown here",
    "internal": "could not be applied",
}
"""Why a command of the stream was not executed, by the word for it."""
_SHOWN_NAME_BYTES: Final = 128


def command_name(argv: list[bytes]) -> str:
    """A command's name for people, however long the master made it."""
    return argv[0][:_SHOWN_NAME_BYTES].decode("utf-8", "replace")


def lines(lost: Lost, *, asked: bool, keeps_position: bool) -> list[Event]:
    """All that the log says of it: what it is here, with its cause, and Redis's line behind it where there is one.

    `asked`: PSYNC was sent on that connection. `keeps_position`: the next one can ask to be continued.
    """
    cause = str(lost.reason)
    was_up = lost.state is LinkState.CONNECTED
    said: list[Event] = [events.MasterLost(cause) if was_up else events.SyncFailed(lost.state.value, lost.text, cause)]
    line = _redis_line(lost, asked=asked)
    if line is not None:
        said.append(line)
    if was_up and keeps_position:
        said.append(events.MasterStateCached())
    return said


def _redis_line(lost: Lost, *, asked: bool) -> Event | None:
    cause, state = lost.reason.cause, lost.state
    if cause is Cause.TIMEOUT:
        return _timeout(state)
    if cause is Cause.NOT_READY and state is LinkState.HANDSHAKE:
        return events.MasterNotReady(f"-{lost.text}")
    if cause is Cause.REFUSED:
        return _refusal(lost)
    if cause is Cause.CONNECTION_LOST and state is LinkState.HANDSHAKE:
        return events.NoAnswerToPsync() if asked else events.NoAnswerInHandshake()
    if cause is Cause.CONNECTION_LOST and state in (LinkState.PAIRING, LinkState.TRANSFER):
        return events.SnapshotConnectionLost(lost.text)
    return None


def _timeout(state: LinkState) -> Event:
    if state in _CONNECTING:
        return events.MasterConnectTimedOut()
    return events.SnapshotTimedOut() if state is LinkState.TRANSFER else events.MasterTimedOut()


def _refusal(lost: Lost) -> Event | None:
    """The master answered a step with an error, which Redis shows with its dash."""
    step = lost.reason.detail
    if step.rpartition(":")[2] == "auth":
        return events.MasterRefusedPassword(f"-{lost.text}")
    if step == "ping":
        return events.HandshakeRefused("PING", f"-{lost.text}")
    return events.UnexpectedReplyToPsync(f"-{lost.text}") if step == "psync" else None
