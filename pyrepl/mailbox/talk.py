"""One connection of the mailbox protocol, whoever is at the other end: greeting, lines, texts, signs of life, limits.

The base of both machines: peer_link.py (between nodes) and mail_conn.py (with a mail process). What they hear is told
by events, in order; texts come and go in pieces, and none is held here. Whoever breaks a rule is told so in one last
line, `* BAD why=..`, and the connection ends.

Not here: sockets and files, which the shell has, and what commands mean (node.py).
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from pyrepl.errors import PeerError
from pyrepl.frozen import Frozen
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.codec import LINE_LIMIT, MOST_TEXT, TEXT_LIMIT, UNTAGGED, BadLine, Decoder, Heard, Line, Piece
from pyrepl.mailbox.outgoing import LOW_WATER_BYTES, Outgoing, TextOf, Wish
from pyrepl.mailbox.talk_states import TALK, TalkState, TalkTrigger
from pyrepl.mailbox.verbs import Auth, Command, Hello, Ping, Quit, Save, Side

GREETING_S: Final = 10.0
"""So long the greeting may take."""
PING_S: Final = 5.0
"""Something is said at least so often."""
SILENCE_S: Final = 15.0
"""A connection on which nothing came for so long is dead."""


class TalkOptions(NamedTuple):
    """Bytes, inclusive: `mailbox-line-limit`, `mailbox-text-limit`, `mailbox-output-buffer-limit`."""

    line_bytes: int = LINE_LIMIT
    text_bytes: int = TEXT_LIMIT
    output_bytes: int = 16 * 1024 * 1024


class Opened(Frozen):
    """The greeting is over: `node` is the node at the other end, or `name` and `user` are what the mail process said of
    itself."""

    node: str = ""
    name: str = ""
    user: str = ""
    is_fresh: bool = False
    """The node has no data yet."""
    epoch: int = 0
    """The highest one that the node knew when the greeting began."""


class Came(Frozen):
    """A command or an answer. With `has_text` its text follows in TextCame events, of at most the bytes stated."""

    tag: str
    command: Command
    has_text: bool


class TextCame(Frozen):
    """The next piece of the text of the command before it; the text is whole with `is_last`."""

    data: bytes
    is_last: bool


class Lost(Frozen):
    """The connection is over: close it when all is sent. `is_fault`: one of the ends broke a rule, or is silent."""

    reason: str
    is_fault: bool


Event: TypeAlias = Opened | Came | TextCame | Wish | Lost


class Talk:
    """One end. `unsent`: bytes that were taken and have not left yet, as the shell knows; it sets it."""

    def __init__(self, sender: Side, options: TalkOptions, now: float, silence_s: float | None = SILENCE_S) -> None:
        """`sender` is the other end. `silence_s` None: its silence means nothing, as the system tells when it ends."""
        self.state = TalkState.EXPECTS_HELLO
        self.unsent = 0
        self._options: Final = options
        # What a node has is taken from it, of whatever size: it goes to the disk in pieces, and refused, it would be
        # sent again and again.
        text_bytes = options.text_bytes if sender is Side.MAIL else MOST_TEXT
        self._decoder: Final = Decoder(sender, options.line_bytes, text_bytes)
        self._outgoing: Final = Outgoing()
        self._events: list[Event] = []
        self._silence_s: Final = silence_s
        self._began_at: Final = now
        self._heard_at = now
        self._said_at = now
        self._wants_text = False
        """The text that comes belongs to a command that was told."""

    @property
    def is_over(self) -> bool:
        """Is nothing heard any more?"""
        return self.state is TalkState.CLOSED

    # The five windows

    def receive(self, data: bytes, now: float) -> None:
        """Bytes of the other end."""
        if self.is_over:
            return
        self._heard_at = now
        try:
            for heard in self._decoder.feed(data):
                self._hear(heard, now)
                if self.is_over:
                    return
        except PeerError as error:
            self._fail(str(error))

    def is_unread(self, now: float) -> None:
        """Nothing is read of the other end now, so its silence means nothing."""
        self._heard_at = now

    def data_to_send(self) -> list[bytes]:
        """What is to be written, in order. Not all at once: asked again when it has left."""
        return self._outgoing.take(LOW_WATER_BYTES - self.unsent)

    def events(self) -> list[Event]:
        """What happened, in order. Those of `data_to_send` are among them, so this is asked for last."""
        out, self._events = self._events, []
        return out + self._outgoing.wishes()

    def next_deadline(self) -> float | None:
        """When `tick` is due; None when it is over."""
        if self.is_over:
            return None
        if self.state is not TalkState.OPEN:
            return self._began_at + GREETING_S
        if self._silence_s is None:
            return None
        return min(self._said_at + PING_S, self._heard_at + self._silence_s)

    def tick(self, now: float) -> None:
        """The time has come for something, or may have."""
        due = self.next_deadline()
        if due is None or now < due:
            return
        if self.state is not TalkState.OPEN:
            self._fail(f"expected HELLO and AUTH within {GREETING_S:.0f} s")
        elif self._silence_s is not None and now >= self._heard_at + self._silence_s:
            self._fail(f"expected a sign of life within {self._silence_s:.0f} s")
        else:
            self.say(Ping(), UNTAGGED, now)

    # What is said

    def say(self, command: Command, tag: str, now: float, text_of: TextOf | None = None) -> None:
        """A command or an answer for the other end, with the text of a message if `text_of` names one."""
        if self.is_over:
            return
        self._outgoing.add(command, tag, text_of)
        self._said_at = now
        waiting = self._outgoing.waiting_bytes + self.unsent
        if waiting > self._options.output_bytes:
            self._fail(f"{waiting} bytes wait: the other end does not read")

    def text_is(self, size: int) -> None:
        """The text that was wanted is there, and has `size` bytes."""
        if not self.is_over:
            self._outgoing.text_is(size)

    def no_text(self, reason: Reason) -> None:
        """The text that was wanted is not there (NOUID), or cannot be read now (FAILED)."""
        if not self.is_over:
            self._outgoing.no_text(reason)

    def add_piece(self, data: bytes) -> None:
        """The piece that was wanted; an empty one if it could not be read, which ends the connection."""
        if self.is_over:
            return
        try:
            self._outgoing.add_piece(data)
        except PeerError as error:
            self._fail(str(error))

    def close(self, reason: str) -> None:
        """This end closes in good order; the reason is for the log."""
        if not self.is_over:
            self._end(None, Lost(reason, False))

    def refuse(self, reason: str) -> None:
        """This end closes as the other one cannot be served; it is told why."""
        if not self.is_over:
            self._fail(reason)

    # What is heard

    def _hear(self, heard: Heard, now: float) -> None:
        if isinstance(heard, Piece):
            if self._wants_text:
                self._tell(TextCame(heard.data, heard.is_last))
            return
        self._wants_text = False
        if isinstance(heard, BadLine):
            self._bad(heard, now)
        elif self.state is not TalkState.OPEN or isinstance(heard.command, Hello | Auth):
            self._greet(heard, now)
        elif isinstance(heard.command, Ping):
            if heard.tag != UNTAGGED:
                self.say(Ok(), heard.tag, now)
        elif isinstance(heard.command, Quit):
            self.close("QUIT")
        else:
            self._move(TalkTrigger.LINE)
            self._line(heard, now)

    def _greet(self, line: Line, now: float) -> None:
        command = line.command
        if isinstance(command, Hello):
            self._hello(line.tag, command, now)
        elif isinstance(command, Auth):
            self._auth(line.tag, command, now)
        elif isinstance(command, Bad | No):
            raise PeerError(f"the other end refused: {command.why or 'without a reason'}")
        else:
            self._move(TalkTrigger.LINE)

    def _pass_on(self, line: Line) -> None:
        """Tell the shell of a command, and then of its text."""
        command, size = line.command, line.text_size
        self._wants_text = size is not None
        self._tell(Came(line.tag, command, size is not None))

    def _hello(self, tag: str, hello: Hello, now: float) -> None:
        """The other end says who it is. Raises PeerError."""
        raise NotImplementedError

    def _auth(self, tag: str, auth: Auth, now: float) -> None:
        """The other end proves who it is. Raises PeerError."""
        raise NotImplementedError

    def _bad(self, bad: BadLine, now: float) -> None:
        """A line that is no command. Raises PeerError to end the connection."""
        raise NotImplementedError

    def _line(self, line: Line, now: float) -> None:
        """A command or an answer while the connection is open. Raises PeerError."""
        raise NotImplementedError

    # Inside

    def _move(self, trigger: TalkTrigger) -> None:
        self.state = TALK.after(self.state, trigger)

    def _tell(self, event: Event) -> None:
        self._events.append(event)

    def _fail(self, reason: str) -> None:
        self._end(Bad(why=reason), Lost(reason, True))

    def _end(self, last: Command | None, lost: Lost) -> None:
        self._move(TalkTrigger.END)
        self._outgoing.end_with(last)
        self._tell(lost)


def why_size_differs(line: Line) -> str | None:
    """Why the text behind a line cannot be the one that it speaks of; None if it can."""
    command = line.command
    if line.text_size is None or not isinstance(command, Save | Ok) or command.size in (None, line.text_size):
        return None
    return f"expected a text of size={command.size}, got one of {line.text_size}"
