"""Continue or full resync, and why: the verdict on a replica's request, and the wire form of request and answer.

The master's roster calls `decide`; both ends encode and decode here, so that no other module knows the wire's numbers.

Not here: what follows from the verdict (roster.py and session.py on the master, conversation.py on the replica).

A request (id, held) is continued when the id names our stream up to `held` (history.py) and the backlog covers
`held`. Otherwise the first row that applies is the cause:

    the request names no id           first, or what ended the replica's last sync (roster.py remembers)
    replid2, held right of the fork   past_fork, by held - fork
    an id we never had                id_mismatch
    no backlog                        no_backlog
    held < start                      out_of_backlog, by start - held
    held > end                        above_offset, by held - end

Source: Redis 7.0 `masterTryPartialResynchronization`. The wire counts bytes from 1 in requests: a replica that holds
57 bytes asks `PSYNC <id> 58`. Answers and ACKs state the cut: `+FULLRESYNC <id> 57`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from pyrepl.errors import CommandError, PeerError
from pyrepl.frozen import Frozen
from pyrepl.replication.dialects import DIALECTS, Dialect
from pyrepl.replication.history import is_replid
from pyrepl.resp.numbers import parse_integer
from pyrepl.units import Offset, ReplId

if TYPE_CHECKING:
    from pyrepl.replication.backlog import Backlog
    from pyrepl.replication.history import History

NO_ID: Final = b"?"
FAILOVER_TO_MASTER: Final = "ERR PSYNC FAILOVER can't be sent to a master."


class Cause(enum.StrEnum):
    """Why a full resync was needed, or a link or session ended. The value is the code in logs, events and INFO."""

    FIRST = "first"
    ID_MISMATCH = "id_mismatch"
    PAST_FORK = "past_fork"
    OUT_OF_BACKLOG = "out_of_backlog"
    NO_BACKLOG = "no_backlog"
    ABOVE_OFFSET = "above_offset"
    FORCED = "forced"
    """An operator wanted it, or the replica uses SYNC, which cannot be continued."""
    LOAD_FAILED = "load_failed"
    """The snapshot came but could not be loaded; `detail` is rdb_version, corrupt, memory, ..."""
    TIMEOUT = "timeout"
    """Nothing came for repl-timeout; `detail` is the phase."""
    OUTPUT_BUFFER = "output_buffer"
    """The replica was slower than client-output-buffer-limit allows."""
    CONNECTION_LOST = "connection_lost"
    CONNECT_FAILED = "connect_failed"
    REFUSED = "refused"
    """The master answered the handshake with an error; `detail` is the step."""
    NOT_READY = "not_ready"
    """-NOMASTERLINK, -LOADING: the master cannot serve a sync now."""
    PROTOCOL = "protocol"
    SNAPSHOT_FAILED = "snapshot_failed"
    """The master could not produce the snapshot."""
    APPLY_FAILED = "apply_failed"
    """A command of the stream could not be applied, for one because we do not know it."""
    STOPPED = "stopped"
    """We ended it ourselves: REPLICAOF, shutdown, a new history for the sub-replicas."""


FULL_RESYNC_CAUSES: Final = (
    Cause.FIRST,
    Cause.ID_MISMATCH,
    Cause.PAST_FORK,
    Cause.OUT_OF_BACKLOG,
    Cause.NO_BACKLOG,
    Cause.ABOVE_OFFSET,
    Cause.FORCED,
    Cause.LOAD_FAILED,
    Cause.TIMEOUT,
    Cause.OUTPUT_BUFFER,
    Cause.CONNECTION_LOST,
    Cause.SNAPSHOT_FAILED,
)
"""The causes that a full resync on the master can have: INFO has a `sync_full_<code>` for each."""


class Reason(Frozen):
    """A cause and its particulars, for logs, events and INFO."""

    cause: Cause
    by_bytes: int = 0
    """By how much a bound was missed; 0 where that makes no sense or is not known."""
    detail: str = ""
    """One word: the phase that timed out, the kind of load failure."""

    def __str__(self) -> str:
        text = self.cause.value
        if self.detail:
            text += f" ({self.detail})"
        if self.by_bytes:
            text += f" by {self.by_bytes} bytes"
        return text


class Verdict(enum.Enum):
    """What a master decides on a request. Whether a full resync takes two connections is pairs.py's to say."""

    CONTINUE = "continue"
    FULL_RESYNC = "full_resync"


class Request(Frozen):
    """What a replica asks for. `replid` None: it holds nothing to go on from (`?`), and `held` means nothing."""

    replid: ReplId | None
    held: int
    """Bytes of the stream `replid` that it holds; below 0 if it asked for a byte before the first."""
    can_continue: bool = True
    """False for SYNC: the replica expects the snapshot without a +FULLRESYNC line before it."""
    failover: bool = False
    """PSYNC ... FAILOVER: the asker was our master and wants us to take over (Role.why_not_take_over)."""

    def with_failover(self, failover: bool) -> Request:
        """A copy of this request, as PSYNC ... FAILOVER or not."""
        return Request(self.replid, self.held, self.can_continue, failover)


ASK_FOR_ALL: Final = Request(None, -1)


class Decision(Frozen):
    """The verdict on one request. `reason` is set exactly when it is a full resync."""

    verdict: Verdict
    reason: Reason | None
    missing_bytes: int = 0
    """For CONTINUE: how many bytes of the backlog the replica lacks."""


def decide(request: Request, history: History, backlog: Backlog) -> Decision:
    """The verdict on `request` by the table in this module's docstring."""
    reason = why_not_continue(request, history, backlog)
    if reason is not None:
        return Decision(Verdict.FULL_RESYNC, reason)
    return Decision(Verdict.CONTINUE, None, backlog.end - request.held)


def why_not_continue(request: Request, history: History, backlog: Backlog) -> Reason | None:
    """Why `request` needs a full resync, None if it can be continued."""
    if not request.can_continue:
        return Reason(Cause.FORCED, detail="sync")
    if request.replid is None:
        return Reason(Cause.FIRST)
    if not history.knows(request.replid):
        return Reason(Cause.ID_MISMATCH)
    past_fork_bytes = history.bytes_past_fork(request.replid, request.held)
    if past_fork_bytes:
        return Reason(Cause.PAST_FORK, past_fork_bytes)
    return _why_not_covered(request.held, backlog)


def _why_not_covered(held: int, backlog: Backlog) -> Reason | None:
    if not backlog.active:
        return Reason(Cause.NO_BACKLOG)
    if held < backlog.start:
        return Reason(Cause.OUT_OF_BACKLOG, backlog.start - held)
    if held > backlog.end:
        return Reason(Cause.ABOVE_OFFSET, held - backlog.end)
    return None


def guess_refusal(request: Request, replid: ReplId, cut: Offset) -> Reason:
    """Why a master that answered `+FULLRESYNC replid cut` refused `request`, as far as the replica can tell."""
    if request.replid is None:
        return Reason(Cause.FIRST)
    if request.replid.lower() != replid.lower():
        return Reason(Cause.ID_MISMATCH)
    if request.held > cut:
        return Reason(Cause.ABOVE_OFFSET, request.held - cut)
    return Reason(Cause.OUT_OF_BACKLOG)


def decode_request(argv: list[bytes]) -> Request:
    """The request in `PSYNC id n` or `SYNC`. Raises CommandError with Redis's text for a number that is none."""
    if argv[0].upper() == b"SYNC":
        return Request(None, -1, can_continue=False)
    if len(argv) < 3:
        raise CommandError("ERR wrong number of arguments for 'psync' command")
    first_wanted = parse_integer(argv[2])
    if first_wanted is None:
        raise CommandError("ERR value is not an integer or out of range")
    failover = len(argv) > 3 and argv[3].lower() == b"failover"
    if argv[1] == NO_ID and not failover:
        return ASK_FOR_ALL
    return Request(ReplId(argv[1].decode("ascii", "replace")), first_wanted - 1, failover=failover)


def encode_request(request: Request) -> list[bytes]:
    """The argv of PSYNC for `request`."""
    if request.replid is None:
        return [b"PSYNC", NO_ID, b"-1"]
    if request.failover:
        return [b"PSYNC", request.replid.encode(), b"%d" % (request.held + 1), b"FAILOVER"]
    return [b"PSYNC", request.replid.encode(), b"%d" % (request.held + 1)]


def encode_continue(replid: ReplId, *, with_id: bool) -> bytes:
    """The line that grants a partial resync; the id is for replicas with capa psync2."""
    return b"+CONTINUE %s\r\n" % replid.encode() if with_id else b"+CONTINUE\r\n"


def encode_full_resync(replid: ReplId, cut: Offset) -> bytes:
    """The line before a full resync whose snapshot ends at `cut`."""
    return b"+FULLRESYNC %s %d\r\n" % (replid.encode(), cut)


class ContinueGranted(Frozen):
    """`+CONTINUE [id]`: go on; `replid` None if the master named none."""

    replid: ReplId | None


class FullResyncGranted(Frozen):
    """`+FULLRESYNC id cut`: a snapshot follows that ends at `cut` of the stream `replid`."""

    replid: ReplId
    cut: Offset


class TryLater(Frozen):
    """The master cannot serve a sync now, or refused this one; `text` is its error line without the dash."""

    text: str
    reason: Reason


class TwoChannelsGranted(Frozen):
    """The snapshot comes on a second connection, which is ours to open; `session_id` is this one's, if stated."""

    dialect: Dialect
    session_id: int | None


Answer = ContinueGranted | FullResyncGranted | TwoChannelsGranted | TryLater


def decode_answer(line: bytes) -> Answer:
    """A master's answer to PSYNC, without its line end. Raises PeerError for one that means nothing here."""
    word, _, rest = line.partition(b" ")
    if word == b"+CONTINUE":
        return ContinueGranted(_decode_replid(rest.strip(), line) if rest.strip() else None)
    if word == b"+FULLRESYNC":
        return _decode_full_resync(rest, line)
    if line[:1] == b"-":
        return TryLater(_text(line[1:]), _why_refused(line))
    for dialect in DIALECTS:
        if word == dialect.verdict:
            return _decode_two_channels(dialect, rest, line)
    raise PeerError(f"expected an answer to PSYNC, got {_text(line)!r}")


def _decode_two_channels(dialect: Dialect, rest: bytes, line: bytes) -> TwoChannelsGranted:
    if not dialect.verdict_names_session:
        return TwoChannelsGranted(dialect, None)
    session_id = parse_integer(rest)
    if session_id is None:
        raise PeerError(f"expected {dialect.verdict.decode()} with a client id, got {_text(line)!r}")
    return TwoChannelsGranted(dialect, session_id)


def _why_refused(line: bytes) -> Reason:
    if line.startswith((b"-NOMASTERLINK", b"-LOADING")):
        return Reason(Cause.NOT_READY)
    if line.startswith(b"-ERR BGSAVE failed"):
        return Reason(Cause.SNAPSHOT_FAILED)
    return Reason(Cause.REFUSED, detail="psync")


def _decode_full_resync(rest: bytes, line: bytes) -> FullResyncGranted:
    replid, _, offset = rest.partition(b" ")
    if not (offset.isdigit() and len(offset) < 20):
        raise PeerError(f"expected +FULLRESYNC with a replication id and an offset, got {_text(line)!r}")
    return FullResyncGranted(_decode_replid(replid, line), Offset(int(offset)))


def _decode_replid(word: bytes, line: bytes) -> ReplId:
    text = word.decode("ascii", "replace")
    if not is_replid(text):
        raise PeerError(f"expected a replication id of 40 hexadecimal digits, got {_text(line)!r}")
    return ReplId(text)


def _text(line: bytes) -> str:
    return line[:200].decode("utf-8", "backslashreplace")
