"""One subscriber's connection, the node's end: lines in, lines out, what it follows and how far it is.

Not here: sockets, where rows come from (the shell answers `Wanted` with `rows`, and hands live blocks to all), tokens'
meaning (catalog.py). Time is an argument; the machine has the five windows of every connection. Places are what the
stream counts in, offsets or ids; tokens stand only on the wire.

What is followed goes through two phases, each for itself (following.py, drawn in docs/machines.md):

| phase | on | then |
|---|---|---|
| catching up | rows(block) short of the head | its lines; Wanted again once what was sent has left us |
| catching up | rows(block) up to the head | its lines, POSITION, live |
| live | live(block) that begins where it is | its lines |
| live | live(block) that begins elsewhere | catching up; nothing if it is further already |
| either | refused | ERROR, closed |

Catching up is paced by the reader: nothing is read ahead of it. Live lines are buffered for a reader that is slow up
to a limit, then it gets ERROR and is closed; it comes back with its token and catches up at its own pace.

A live stream that moves on without rows is told as a POSITION every PING_PERIOD_S, so that the reader's token does not
grow too old.

Signs of life: PING at once, then something at least every PING_PERIOD_S. From the first PING received on, silence of
TIMEOUT_S closes; before it there is no timeout, so that a person at netcat may take their time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, final

from pyrepl.acl.denial import Refused
from pyrepl.acl.user import DEFAULT_USER
from pyrepl.changes.block import Block
from pyrepl.changes.catalog import Catalog
from pyrepl.changes.codec import DEFAULT_LINE_BYTES, LineSplitter, parse_line, render
from pyrepl.changes.following import Following
from pyrepl.changes.rights import Lack, Rights
from pyrepl.changes.verbs import (
    Auth,
    ClearUserSync,
    Error,
    FederationAck,
    History,
    InvalidateCache,
    LineCommand,
    Name,
    Ping,
    Position,
    RemoteServerUp,
    RemovePusher,
    Replicate,
    Server,
    Side,
    Sync,
    UserIp,
    UserSync,
)
from pyrepl.errors import PeerError
from pyrepl.words import to_text

PING_PERIOD_S: Final = 5.0
TIMEOUT_S: Final = 15.0
LOW_WATER_BYTES: Final = 64 * 1024
"""A subscriber that catches up gets more rows when less than this waits to leave us."""
_MOST_ANSWERS_BYTES: Final = 4 * LOW_WATER_BYTES
"""Answers may wait up to the output limit, but no less than this: a subscriber that catches up has rows waiting."""
SAID_BEFORE_LOGIN: Final = (Name, Auth, Ping, Error)

HeardCommand: TypeAlias = (
    UserSync | ClearUserSync | UserIp | FederationAck | RemovePusher | InvalidateCache | RemoteServerUp
)
"""What clients say that concerns others."""


@final
class SubscriptionOptions:
    """Limits; the shell may change them at any time."""

    def __init__(self) -> None:
        self.line_bytes = DEFAULT_LINE_BYTES
        self.row_bytes = 0
        """Longest line sent, its end included; 0: any."""
        self.output_bytes = 1 << 20
        """What may wait for a live subscriber that does not read when more comes; inclusive."""


@final
@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows of a stream after a place, to be answered with `rows` or `refused`."""

    stream: str
    writer: str | None
    after: int


@final
@dataclass(frozen=True, slots=True)
class Heard:
    """A client said something that others may act on."""

    command: HeardCommand


@final
@dataclass(frozen=True, slots=True)
class Subscribed:
    """It follows a stream now, from this token on."""

    stream: str
    writer: str | None
    token: int


@final
@dataclass(frozen=True, slots=True)
class Denied:
    """Something was refused to `user`, for ACL LOG: `object` is the command or channel, or for AUTH the verb."""

    reason: Refused
    object: bytes
    user: bytes


@final
@dataclass(frozen=True, slots=True)
class Ended:
    """The connection is to be closed when what data_to_send gives has left, or soon. `is_fault`: not as usual."""

    reason: str
    is_fault: bool


SubscriptionEvent: TypeAlias = Wanted | Heard | Subscribed | Denied | Ended


_Key: TypeAlias = tuple[str, str | None]


@final
class Subscription:
    """The machine of one connection.

    Invariants: nothing is followed, sent or said after `ended`; each followed stream is live, or rows of it are asked
    for, or are to be asked for when less waits to leave us.
    """

    def __init__(
        self, catalog: Catalog, options: SubscriptionOptions, rights: Rights, now: float, unix_ms: int
    ) -> None:
        """`rights` say who the client is at first; `unix_ms` is the Unix time at `now`, for PING."""
        self._catalog = catalog
        self._options = options
        self._splitter = LineSplitter(options.line_bytes)
        self._unix_offset_ms = unix_ms - int(now * 1000)
        self._following: dict[_Key, Following] = {}
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._unsent_bytes = 0
        self._events: list[SubscriptionEvent] = []
        self._sent_at = now
        self._told_at = now
        self._heard_at = now
        self._ping_seen = False
        self._tells_history = False
        """The client has asked for HISTORY, so it understands that verb when we send it."""
        self._follows_all: set[bool] = set()
        """New streams and writers are followed too: with True in the form that names writers, with False without."""
        self.rights = rights
        self.ended = ""
        """Why, once it has ended."""
        self.name = ""
        self.rows_sent = 0
        self.lines_received = 0
        self._send(Server(catalog.name))
        self._ping(now)

    # ------------------------------------------------------------------ the five windows

    def receive(self, data: bytes, now: float) -> None:
        """Bytes of the client."""
        if self.ended:
            return
        self._heard_at = now
        self._splitter.max_line_bytes = self._options.line_bytes
        try:
            for line in self._splitter.feed(data):
                self.lines_received += 1
                self._obey(parse_line(line, Side.CLIENT))
                if self.ended:
                    return
        except PeerError as error:
            self._fail(str(error))
        if self.unsent_bytes > max(self._options.output_bytes, _MOST_ANSWERS_BYTES):
            self._fail(f"SLOW {self.unsent_bytes} bytes wait to be read: read the answers to what you send")

    def data_to_send(self) -> list[bytes]:
        """What is to be written; each piece is whole lines."""
        out, self._out = self._out, []
        self._unsent_bytes += self._out_bytes
        self._out_bytes = 0
        return out

    def events(self) -> list[SubscriptionEvent]:
        """What happened since the last call."""
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due; None once ended."""
        if self.ended:
            return None
        due_at = min(self._sent_at, self._told_at) + PING_PERIOD_S
        return min(due_at, self._heard_at + TIMEOUT_S) if self._ping_seen else due_at

    def tick(self, now: float) -> None:
        """Do what is due."""
        if self.ended:
            return
        if self._ping_seen and now - self._heard_at >= TIMEOUT_S:
            self._fail(f"nothing was heard for {TIMEOUT_S:.0f} s: send PING at least every {PING_PERIOD_S:.0f} s")
            return
        if self._unsent_bytes:
            # It does not read; more to read would not help it.
            self._sent_at = max(self._sent_at, now - PING_PERIOD_S / 2)
            self._told_at = max(self._told_at, now - PING_PERIOD_S / 2)
            return
        if now - self._told_at >= PING_PERIOD_S:
            self._told_at = now
            self._tell_positions(now)
        if now - self._sent_at >= PING_PERIOD_S:
            self._ping(now)

    # ------------------------------------------------------------------ rows

    def rows(self, block: Block, writer: str | None, now: float) -> None:
        """The answer to Wanted(block.stream, writer, block.previous)."""
        following = self._following.get((block.stream, writer))
        if self.ended or following is None or following.is_live or block.previous != following.at:
            return
        following.took_rows()
        self._emit(block, following, now)
        if self.ended:
            return
        head = self._catalog.head(block.stream, writer)
        if head is not None and following.at >= head:
            following.reached_head()
            self._tell((block.stream, writer), following)
        self._want((block.stream, writer), following)

    def refused(self, stream: str, writer: str | None, reason: str) -> None:
        """The other answer to Wanted: the rows cannot be had (any more)."""
        if (stream, writer) in self._following:
            self._fail(f"{reason} (stream {stream})")

    def live(self, block: Block, writer: str | None, now: float) -> None:
        """New rows, handed to every subscriber; those who do not follow the stream, or are not so far, ignore them."""
        following = self._following.get((block.stream, writer))
        if self.ended or following is None or not following.is_live:
            return
        if following.at == block.previous:
            # What waits already counts, not the block: one large row is no fault of the reader.
            if self.unsent_bytes > self._options.output_bytes:
                self._fail(
                    f"SLOW {self.unsent_bytes} bytes wait to be read, {self._options.output_bytes} may"
                    f" (stream-output-buffer-limit); come back with your token"
                )
                return
            self._emit(block, following, now)
        elif following.at < block.upto:
            # It was told of late, or came with a token that this node had not reached yet.
            following.fell_behind()
            self._want((block.stream, writer), following)

    def note_unsent(self, unsent_bytes: int) -> None:
        """The shell reports how many bytes of what data_to_send gave still wait in the connection."""
        self._unsent_bytes = unsent_bytes
        for key, following in self._following.items():
            self._want(key, following)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait to leave us."""
        return self._unsent_bytes + self._out_bytes

    def where(self, stream: str, writer: str | None) -> int | None:
        """How far the subscriber is in a stream it follows, None if it does not."""
        following = self._following.get((stream, writer))
        return None if following is None else following.at

    def token(self, stream: str, writer: str | None) -> int | None:
        """As `where`, as the token that the subscriber holds."""
        at = self.where(stream, writer)
        return None if at is None else self._catalog.token_at(stream, at)

    @property
    def followed(self) -> list[_Key]:
        """(stream, writer or None) of all that is followed."""
        return list(self._following)

    def wants(self, wanted: Wanted) -> bool:
        """Is this question still open? It is not when the client has gone elsewhere, or was answered meanwhile."""
        following = self._following.get((wanted.stream, wanted.writer))
        return following is not None and following.is_asked and following.at == wanted.after

    def is_live(self, stream: str, writer: str | None) -> bool:
        following = self._following.get((stream, writer))
        return following is not None and following.is_live

    # ------------------------------------------------------------------ changes at the node

    def renamed(self, old_replid: str, streams: list[str], fork: int) -> None:
        """The history of `streams` goes on under another name from `fork` on (a promotion): tokens are of that name,
        and who follows it as a writer is told that the new one begins where it is.

        Who had seen more of the history before than this node waited for it to come so far, and would wait in vain.
        """
        if self.ended:
            return
        beyond = [stream for (stream, _), one in self._following.items() if stream in streams and one.at > fork]
        if beyond:
            last = self._catalog.token_at(beyond[0], fork)
            self._fail(
                f"FORKED {last} this node became a master at {last}, and you have seen more of the history before. Read"
                f" your data anew and go on from NOW; or undo what came after {last}, and go on from there"
                f" (stream {beyond[0]})"
            )
            return
        replid = self._catalog.replid
        if self._tells_history:
            self._send(History(replid))
        for stream, writer in self.followed:
            following = self._following[stream, writer]
            if writer == old_replid:
                self._following[stream, replid] = self._following.pop((stream, writer))
                following.since = following.at
                self._tell((stream, replid), following)
                following.renamed()
                self._want((stream, replid), following)
            elif stream in streams and writer is None and following.is_live:
                # So that it holds a token of the new name before there is a third.
                self._tell((stream, writer), following)

    def appeared(self, stream: str, writer: str) -> None:
        """A stream or writer that was not there before; who follows everything follows it from its beginning."""
        if self.ended or self.rights.why_not_follow(stream) is not None:
            return
        for named in self._follows_all:
            key = (stream, writer if named else None)
            if key not in self._following:
                self._follow(key, 0, named=named)

    def fall_behind(self, streams: list[str]) -> None:
        """Nobody is fed live any more of these streams: who was catches up by itself."""
        for (stream, writer), following in self._following.items():
            if stream in streams and following.is_live:
                following.fell_behind()
                self._want((stream, writer), following)

    def history_lost(self, streams: list[str], reason: str) -> None:
        """The tokens of these streams mean nothing any more."""
        if any(stream in streams for stream, _ in self._following):
            self._fail(reason)

    def refuse(self, reason: str) -> None:
        """What this client said cannot be done."""
        self._fail(reason)

    def say(self, command: LineCommand) -> None:
        """A line for this client."""
        if not self.ended and self.rights.identity.is_authenticated:
            self._send(command)

    def users_changed(self) -> None:
        """The users of the node, or their rules, are others now."""
        if self.ended:
            return
        if self.rights.is_gone:
            self._fail(f"NOPERM the user {to_text(self.rights.user.name)} was deleted")
            return
        for stream in {stream: None for stream, _ in self._following}:
            if self._lacks(self.rights.why_not_follow(stream)):
                return

    def close(self, reason: str) -> None:
        """The node ends the connection."""
        self._end(reason, is_fault=False)

    # ------------------------------------------------------------------ inside

    def _obey(self, command: LineCommand) -> None:
        if not self.rights.identity.is_authenticated and not isinstance(command, SAID_BEFORE_LOGIN):
            self._fail("NOAUTH log in first: AUTH <password>, or AUTH <user> <password>")
        elif isinstance(command, Replicate):
            self._replicate(command)
        elif isinstance(command, Ping):
            self._ping_seen = True
        elif isinstance(command, Name):
            self._introduce(command.text)
        elif isinstance(command, Auth):
            self._log_in(command)
        elif isinstance(command, Error):
            self._events.append(Ended(f"the client says: {command.text}", is_fault=True))
            self.ended = command.text or "error"
        elif isinstance(command, Sync):
            self._send(command)
        elif isinstance(command, History):
            self._tells_history = True
            self._send(History(self._catalog.replid))
        elif isinstance(command, HeardCommand) and not self._lacks(self.rights.why_not_say(command.VERB)):
            self._events.append(Heard(command))

    def _introduce(self, text: str) -> None:
        name, _, password = text.rpartition(" ")
        if not self.rights.wants_password or not name:
            self.name = text
            return
        # Said again after the login, the password must not become part of the name, which people see.
        is_new = not self.rights.identity.is_authenticated
        self.name = name if is_new or self.rights.is_own_password(_as_bytes(password)) else text
        if is_new:
            self._log_in(Auth("", password), Name.VERB)

    def _log_in(self, command: Auth, verb: str = Auth.VERB) -> None:
        user = _as_bytes(command.user)
        if not self.rights.log_in(user, _as_bytes(command.password)):
            self._events.append(Denied(Refused.AUTH, verb.encode(), user or DEFAULT_USER))
            self._fail("WRONGPASS invalid username-password pair or user is disabled.")
            return
        self.users_changed()

    def _lacks(self, lack: Lack | None) -> bool:
        """Tell what is refused, and end; False if nothing is."""
        if lack is None:
            return False
        self._events.append(Denied(lack.reason, lack.object, self.rights.user.name))
        self._fail(lack.text)
        return True

    def _replicate(self, command: Replicate) -> None:
        catalog = self._catalog
        if command.stream is None:
            self._replicate_all(is_bare=command.is_bare)
            return
        if self._lacks(self.rights.why_not_follow(command.stream)):
            return
        head = catalog.head(command.stream, command.writer)
        if head is None:
            what = "stream" if catalog.head(command.stream, None) is None else f"writer of {command.stream}"
            word = command.stream if command.writer is None or what == "stream" else command.writer
            known = ", ".join(self._allowed_streams() if what == "stream" else catalog.writers(command.stream))
            self._fail(f"NOSTREAM unknown {what} {word}; known here: {known}")
            return
        reason = catalog.why_not(command.stream, command.writer, command.token, command.replid)
        if reason is not None:
            self._fail(f"{reason} (stream {command.stream})")
            return
        at = head if command.token is None else catalog.at(command.stream, command.token)
        self._follow((command.stream, command.writer), at, named=command.writer is not None)

    def _replicate_all(self, *, is_bare: bool) -> None:
        """Follow all streams that it may, those that appear later too. Who may follow none of them is told so."""
        catalog = self._catalog
        streams = self._allowed_streams()
        if not streams and any(self._lacks(self.rights.why_not_follow(stream)) for stream in catalog.streams()):
            return
        self._follows_all.add(is_bare)
        for stream in streams:
            reason = catalog.why_not(stream, None, None, "")
            if reason is not None:
                self._fail(f"{reason} (stream {stream})")
                return
            for writer in catalog.writers(stream) if is_bare else [None]:
                self._follow((stream, writer), catalog.head(stream, writer) or 0, named=is_bare)

    def _allowed_streams(self) -> list[str]:
        return [stream for stream in self._catalog.streams() if self.rights.why_not_follow(stream) is None]

    def _follow(self, key: _Key, at: int, *, named: bool) -> None:
        following = self._following[key] = Following(at, named=named)
        self._events.append(Subscribed(*key, self._catalog.token_at(key[0], at)))
        self._want(key, following)

    def _want(self, key: _Key, following: Following) -> None:
        if not following.may_ask or self.ended or self.unsent_bytes >= LOW_WATER_BYTES:
            return
        following.ask()
        self._events.append(Wanted(*key, following.at))

    def _emit(self, block: Block, following: Following, now: float) -> None:
        following.at = block.upto
        if not block.facts:
            return
        lines = block.lines(named=following.named)
        limit = self._options.row_bytes
        if limit and len(lines) > limit and block.longest_line(named=following.named) > limit:
            token = self._catalog.token_at(block.stream, block.upto)
            self._fail(f"a row of {block.stream} up to token {token} is longer than {limit} bytes (stream-row-limit)")
            return
        self._out.append(lines)
        self._out_bytes += len(lines)
        self._sent_at = now
        following.told = block.facts[-1][0]
        self.rows_sent += block.rows

    def _tell(self, key: _Key, following: Following) -> None:
        self._send(self._position(*key, following))
        following.told = following.since = following.at

    def _tell_positions(self, now: float) -> None:
        """Send POSITION for live streams whose place has moved on without rows."""
        for key, following in self._following.items():
            if following.is_live and following.told < following.at:
                self._tell(key, following)
                self._sent_at = now

    def _position(self, stream: str, writer: str | None, following: Following) -> Position:
        token = self._catalog.token_at(stream, following.at)
        if not following.named:
            return Position(stream, token)
        assert writer is not None
        return Position(stream, token, writer, self._catalog.token_at(stream, following.since))

    def _ping(self, now: float) -> None:
        self._send(Ping(str(self._unix_offset_ms + int(now * 1000))))
        self._sent_at = now

    def _send(self, command: LineCommand) -> None:
        line = render(command)
        self._out.append(line)
        self._out_bytes += len(line)

    def _fail(self, text: str) -> None:
        self._end(text, is_fault=True)

    def _end(self, text: str, *, is_fault: bool) -> None:
        if self.ended:
            return
        self._send(Error(text))
        self.ended = text
        self._following.clear()
        self._events.append(Ended(text, is_fault))


def _as_bytes(password: str) -> bytes:
    """As it came; a line may hold what is no text."""
    return password.encode("utf-8", "surrogatepass")
