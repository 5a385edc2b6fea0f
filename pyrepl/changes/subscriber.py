"""The subscriber's machine for one connection: greets, asks for a stream from a place, gathers the rows of each token.

Pure; the socket, the queue to the application and the next connection are client.py's, the node's end of the
conversation is subscription.py's.

    > SERVER node-a
    > PING 1490197665618                        from here on 15 s of silence end the connection
    < NAME my-worker                            all five at once: nothing is gained by waiting
    < AUTH secret
    < PING 1490197665618
    < HISTORY
    < REPLICATE keys 502112480 8371445e...
    > HISTORY 8371445e...                       comes again later when the history gets another name
    > RDATA keys batch [0,"user:7","hset"]
    > RDATA keys 517412480 [0,"user:8","del"]   one Batch of two rows; the place moves to 517412480
    > POSITION keys 517412480                   one Batch of none: everything up to here is had

The rows of a token are handed on together or not at all: a connection that breaks amid them leaves the place before
them, and the next one brings them again. Rows at or below the place were had and are dropped, so a node that repeats
some repeats nothing to the application.

A subscriber that does not read for a while (`hold`) does not count the node's silence meanwhile; it goes on sending
PING, so the node counts ours neither.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, final

from pyrepl.changes.batches import Batch
from pyrepl.changes.codec import LineSplitter, parse_line, render
from pyrepl.changes.holdings import Holdings
from pyrepl.changes.place import Place
from pyrepl.changes.refusals import AnotherServer, BatchTooLarge, NotAStreamPort, Refused, refusal_of
from pyrepl.changes.rows import Json, decode_row
from pyrepl.changes.tokens import MAX_TOKEN_DIGITS, shown
from pyrepl.changes.verbs import (
    Auth,
    Error,
    History,
    LineCommand,
    Name,
    Ping,
    Position,
    Rdata,
    Replicate,
    Server,
    Side,
    Sync,
)
from pyrepl.errors import PeerError
from pyrepl.machines import Table

PING_EVERY_S: Final = 5.0
SILENCE_S: Final = 15.0
GREETING_S: Final = 15.0
"""For SERVER to come: whatever listens at a wrong port may say nothing at all."""

_RESP: Final = (b"-", b"+", b"$", b":", b"*")
"""How replies of the Redis protocol begin."""

_BESIDES_ROW_BYTES: Final = 1024
"""Of a line: the verb, the names of stream and writer, the token; a node's ERROR."""


@dataclass(frozen=True, slots=True)
class SubscriberOptions:
    """What a subscriber says of itself and how much it takes."""

    name: str = ""
    """For people who look at the node's subscribers; empty: none is said."""
    user: str = ""
    """Empty: the user `default`."""
    password: str = ""
    """Empty: it does not log in."""
    expect_node: str = ""
    """The name the node must state in SERVER; empty: any."""
    most_batch_bytes: int = 256 * 1024 * 1024
    """Inclusive, of the rows of one token as they come."""

    def __repr__(self) -> str:
        return f"SubscriberOptions(name={self.name!r}, ...)"


class Greeted(NamedTuple):
    """The node has named itself and its history; again when the history got another name."""

    node: str
    history: str


class Ended(NamedTuple):
    """The connection has no future: close it. `refusal` is set when another try at this node makes no sense."""

    why: str
    refusal: Refused | None


SubscriberEvent: TypeAlias = Greeted | Batch | Ended


class SubscriberState(enum.StrEnum):
    """How far the conversation is."""

    CONNECTED = "connected"
    """The node has not named itself."""
    GREETED = "greeted"
    OVER = "over"


class SubscriberTrigger(enum.StrEnum):
    """What moves it on."""

    SERVER = "server"
    END = "end"


_S = SubscriberState
_T = SubscriberTrigger
SUBSCRIBER: Final = Table(
    "A subscriber's connection",
    (_S.CONNECTED,),
    {
        (_S.CONNECTED, _T.SERVER): _S.GREETED,
        (_S.GREETED, _T.SERVER): _S.GREETED,
        (_S.CONNECTED, _T.END): _S.OVER,
        (_S.GREETED, _T.END): _S.OVER,
    },
)


@final
class Subscriber:
    """One connection's conversation about one stream.

    Shell's contract: `connected` first; after every call send `data_to_send()` and take `events()`; call `tick` at
    `next_deadline()`; close after Ended.

    Invariants: `held` never goes down; `_rows` are, by writer ("" in one order), rows of one token that is not whole;
    after Ended nothing is parsed, sent or awaited any more.
    """

    def __init__(
        self,
        stream: str,
        place: Place,
        options: SubscriberOptions,
        unix_ms: Callable[[float], int],
        *,
        by_writer: bool = False,
    ) -> None:
        """`unix_ms(now)` is the wall clock, for PING. `by_writer`: each writer's rows at once, in its order."""
        self._stream: Final = stream
        self._place: Final = place
        self._options: Final = options
        self._unix_ms: Final = unix_ms
        self._splitter: Final = LineSplitter(options.most_batch_bytes + _BESIDES_ROW_BYTES)
        self.held = place.token
        """Of a stream read in one order; by writer: None."""
        self.holdings: Final = Holdings(place.writers) if by_writer else None
        self.history = ""
        self._usual: Final = f"RDATA {stream} ".encode()
        self._rows: dict[str, list[Json]] = {}
        self._rows_bytes: dict[str, int] = {}
        self._out: list[bytes] = []
        self._events: list[SubscriberEvent] = []
        self.state = SubscriberState.CONNECTED
        self._node = ""
        self._is_timed = False
        self._is_held_back = False
        self._heard_at = 0.0
        self._sent_at = 0.0

    def connected(self, now: float) -> None:
        """The connection stands."""
        assert not self._out and self.state is SubscriberState.CONNECTED
        self._heard_at = now
        options = self._options
        if options.name:
            self._send(Name(options.name), now)
        if options.password:
            self._send(Auth(options.user, options.password), now)
        self._send(Ping(str(self._unix_ms(now))), now)
        self._send(History(), now)
        place = self._place
        if self.holdings is not None:
            self._send(Replicate(is_bare=True), now)
            return
        self._send(Replicate(self._stream, place.token, replid=place.history if place.token is not None else ""), now)

    def receive(self, data: bytes, now: float) -> None:
        """Bytes have come."""
        if self._is_over:
            return
        self._heard_at = now
        try:
            lines = self._splitter.feed(data)
        except PeerError:
            self._end_too_large()
            return
        for line in lines:
            try:
                if self._took_usual(line):
                    continue
                self._take(parse_line(line, Side.SERVER), now)
            except PeerError as error:
                self._end_broken(line, error, now)
            if self._is_over:
                return

    def data_to_send(self) -> list[bytes]:
        """What has to be written, once."""
        out, self._out = self._out, []
        return out

    def events(self) -> list[SubscriberEvent]:
        """What has happened, once, in order."""
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> float | None:
        """When `tick` is due; None when it never is."""
        if self._is_over:
            return None
        silent_at = self._silent_at()
        ping_at = self._sent_at + PING_EVERY_S
        return ping_at if silent_at is None else min(ping_at, silent_at)

    def tick(self, now: float) -> None:
        """Time has passed."""
        if self._is_over:
            return
        silent_at = self._silent_at()
        if silent_at is not None and now >= silent_at:
            span = SILENCE_S if self.state is SubscriberState.GREETED else GREETING_S
            self._send(Error(f"ping timeout: nothing came for {span:g} s"), now)
            self._end(f"the node was silent for {span:g} s")
        elif now >= self._sent_at + PING_EVERY_S:
            self._send(Ping(str(self._unix_ms(now))), now)

    def hold(self) -> None:
        """From now on nothing is read: the application has enough to do."""
        self._is_held_back = True

    def release(self, now: float) -> None:
        """It is read again."""
        self._is_held_back = False
        self._heard_at = now

    # ------------------------------------------------------------------ what the node says

    def _take(self, command: LineCommand, now: float) -> None:
        if isinstance(command, Rdata):
            self._on_row(command)
        elif isinstance(command, Position):
            self._on_position(command, now)
        elif isinstance(command, Ping):
            self._is_timed = True
        elif isinstance(command, Server):
            self._on_greeting(command)
        elif isinstance(command, History):
            self._on_history(command)
        elif isinstance(command, Sync) and self.holdings is not None:
            self.holdings.synced(command.text)
        elif isinstance(command, Error):
            self._end(f"the node ended it: {command.text}", refusal_of(command.text))

    def _took_usual(self, line: bytes) -> bool:
        """Take the line that nearly all are, the only row of its token, at a third of the cost; False for any other."""
        if self._rows or self.holdings is not None or not line.startswith(self._usual):
            return False
        word, _, row = line[len(self._usual) :].partition(b" ")
        if not word.isdigit() or len(word) >= MAX_TOKEN_DIGITS or not 0 < len(row) <= self._options.most_batch_bytes:
            return False
        try:
            text = row.decode()
        except UnicodeDecodeError:
            return False
        token = int(word)
        if not self._had(token):
            self.held = token
            self._events.append(Batch(self._stream, "", token, (_parsed(text),), len(row), self.history))
        return True

    def _on_greeting(self, command: Server) -> None:
        expected = self._options.expect_node
        if expected and command.name != expected:
            text = f"expected node {expected}, got {command.name}"
            self._end(text, AnotherServer(text))
            return
        self._move(SubscriberTrigger.SERVER)
        self._node = command.name

    def _on_history(self, command: History) -> None:
        self.history = command.replid
        self._events.append(Greeted(self._node, command.replid))

    def _on_row(self, command: Rdata) -> None:
        if command.stream != self._stream:
            return
        writer = command.writer or ""
        if self.holdings is not None and not self.holdings.takes_rows(writer):
            return
        size = self._rows_bytes.get(writer, 0) + len(command.row)
        if size > self._options.most_batch_bytes:
            self._end_too_large()
            return
        self._rows.setdefault(writer, []).append(_parsed(command.row))
        self._rows_bytes[writer] = size
        if command.token is not None:
            self._hand_on(writer, command.token)

    def _on_position(self, command: Position, now: float) -> None:
        if command.stream != self._stream:
            return
        writer = command.writer or ""
        if self._rows.get(writer) and not self._had(command.token):
            raise PeerError(f"expected the last row of a token of stream {self._stream}, got POSITION {command.token}")
        if self.holdings is None or command.previous is None:
            self._hand_on(writer, command.token)
            return
        is_move, ask_after = self.holdings.positioned(writer, command.previous, command.token)
        if is_move:
            self._events.append(Batch(self._stream, writer, command.token, (), 0, self.history))
        if ask_after is not None:
            self._send(Replicate(self._stream, ask_after, writer), now)
            self._send(Sync(self.holdings.ask(writer)), now)

    def _had(self, token: int) -> bool:
        return self.held is not None and token <= self.held

    def _hand_on(self, writer: str, token: int) -> None:
        """All rows of a token are here, or there are none; hand them on if they are new."""
        rows = self._rows.pop(writer, [])
        size_bytes = self._rows_bytes.pop(writer, 0)
        if self.holdings is not None:
            is_new = self.holdings.moved(writer, token)
        else:
            is_new = not self._had(token)
            self.held = token if is_new else self.held
        if is_new:
            self._events.append(Batch(self._stream, writer, token, tuple(rows), size_bytes, self.history))

    def _forget_rows(self) -> None:
        self._rows.clear()
        self._rows_bytes.clear()

    # ------------------------------------------------------------------ the rest

    @property
    def _is_over(self) -> bool:
        return self.state is SubscriberState.OVER

    def _silent_at(self) -> float | None:
        """When silence is too long; None while it may last."""
        if self._is_held_back:
            return None
        if self.state is SubscriberState.CONNECTED:
            return self._heard_at + GREETING_S
        return self._heard_at + SILENCE_S if self._is_timed else None

    def _send(self, command: LineCommand, now: float) -> None:
        self._out.append(render(command))
        self._sent_at = now

    def _end_broken(self, line: bytes, error: PeerError, now: float) -> None:
        """What came is no line of a node. Before SERVER it is no node at all, and will not become one."""
        if self.state is SubscriberState.GREETED:
            self._send(Error(str(error)), now)
            self._end(f"the node broke the protocol: {error}")
            return
        said = shown(line.decode("utf-8", "replace"))
        is_redis = line[:1] in _RESP
        text = f"this is {'a Redis port and no' if is_redis else 'no'} stream port: it says {said}"
        self._end(text, NotAStreamPort(text, is_redis=is_redis))

    def _end_too_large(self) -> None:
        text = f"the rows of one token are more than {self._options.most_batch_bytes} bytes (most_batch_bytes)"
        self._end(text, BatchTooLarge(text))

    def _end(self, why: str, refusal: Refused | None = None) -> None:
        self._move(SubscriberTrigger.END)
        self._forget_rows()
        self._events.append(Ended(why, refusal))

    def _move(self, trigger: SubscriberTrigger) -> None:
        self.state = SUBSCRIBER.after(self.state, trigger)


def _parsed(row: str) -> Json:
    try:
        return decode_row(row)
    except (ValueError, RecursionError):
        raise PeerError(f"expected a row as JSON, got {row!r:.100}") from None
