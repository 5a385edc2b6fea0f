"""The LMTP proxy: one connection of a mail server that delivers, and ours to the Dovecot behind it.

It passes commands, texts and replies (RFC 2033), so that Dovecot does all that it does otherwise, Sieve too. What it
adds: when Dovecot has taken a mail, the client is told so after other nodes have it. From then on no single machine
that dies takes the mail along. A mail that is stored is never refused afterwards, as the client would send it again;
with `mailbox-single-copy refuse` it is refused before, at DATA, while no other node can be reached.

Only commands that are known here are passed, and of the extensions only those that change nothing of what passes: with
STARTTLS or BDAT the proxy would not see where a text ends.

Not here: lines of the text (lmtp_text.py), the states (lmtp_states.py), and how it is known that other nodes have what
was delivered (deliveries.py).
"""

from __future__ import annotations

import enum
import re
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, final

from pyrepl.errors import PeerError
from pyrepl.mailbox.acks import WHY_ALONE
from pyrepl.mailbox.lmtp_states import LMTP, LmtpState, LmtpTrigger
from pyrepl.mailbox.lmtp_text import LmtpText

MOST_LINE: Final = 4096
"""Bytes of a command, with its end."""
MOST_REPLY: Final = 65536
"""Bytes of a reply."""
MOST_EXPECTED: Final = 1000
"""Replies that may be outstanding; until some have come the client is not read."""
MOST_UNKNOWN: Final = 20
"""Commands in a row that are not known here, and then it is over: that is no mail server."""
SILENCE_S: Final = 600.0
"""So long nothing may pass; a mail server waits as long for a reply to its text (RFC 5321, 4.5.3.2.6)."""
_EXTENSIONS: Final = frozenset(
    {b"8BITMIME", b"DSN", b"ENHANCEDSTATUSCODES", b"PIPELINING", b"SIZE", b"SMTPUTF8", b"VRFY"}
)
_RECIPIENT: Final = re.compile(rb"RCPT TO: *<(?:@[^:>]*:)?([^>]*)>", re.IGNORECASE)
_REPLY: Final = re.compile(rb"([2-5][0-9]{2})([ -].*)?", re.DOTALL)
_GONE: Final = b"4.3.0 The mail server behind this one has ended the connection\r\n"
_SILENT: Final = b"421 4.4.2 Nothing was said for too long\r\n"
_TOO_LONG: Final = b"500 5.5.2 That line is too long\r\n"
_UNKNOWN: Final = b"502 5.5.1 This command is not known here\r\n"
_NO_MAIL_SERVER: Final = b"421 4.7.0 Too many commands that are not known here\r\n"
_ALONE: Final = b"451 4.3.2 " + WHY_ALONE.encode() + b"\r\n"


class Stored(NamedTuple):
    """Dovecot has taken a mail: `told` is to be called when other nodes have all that is news since `mark`.
    `recipients`: as the client named those whom Dovecot took it for."""

    mark: int
    recipients: tuple[str, ...] = ()


class _Expected(enum.Enum):
    """What the next reply of the backend answers."""

    OTHER = enum.auto()
    QUIT = enum.auto()
    LHLO = enum.auto()
    BEGIN = enum.auto()
    """MAIL, RSET: what was said of recipients before is void, unless it is refused."""
    RCPT = enum.auto()
    DATA = enum.auto()
    TEXT = enum.auto()
    """One recipient's, when the text is over."""
    ALONE = enum.auto()
    """RSET, said in place of a DATA that is refused here."""
    OURS = enum.auto()
    """None: the client gets `_UNKNOWN` when it has what it asked before."""


_COMMANDS: Final = {
    b"LHLO": _Expected.LHLO,
    b"MAIL": _Expected.BEGIN,
    b"RSET": _Expected.BEGIN,
    b"RCPT": _Expected.RCPT,
    b"NOOP": _Expected.OTHER,
    b"VRFY": _Expected.OTHER,
    b"QUIT": _Expected.QUIT,
}
_VOIDING: Final = (_Expected.BEGIN, _Expected.LHLO, _Expected.ALONE)
"""When they are done, what was said of recipients before is void (RFC 5321, 4.1.4 and 4.1.1.5)."""


@final
class LmtpProxy:
    """One delivering connection.

    Invariants: in ASKED, SAVING and HELD nothing that the client says is looked at; `_expected` has an entry for each
    reply that is outstanding, in the order of the commands.
    """

    def __init__(self, mark: Callable[[], int], must_refuse: Callable[[], bool], now: float) -> None:
        """`mark`: a number that whatever is seen from now on is above. `must_refuse`: may mail not be taken now, as it
        would be on this node alone?"""
        self.state = LmtpState.COMMANDS
        self.is_over = False
        """Nothing more passes: what is to be sent is the last."""
        self._mark: Final = mark
        self._must_refuse: Final = must_refuse
        self._heard_at = now
        self._from_client: Final = bytearray()
        self._from_backend = b""
        self._to_client: list[bytes] = []
        self._to_backend: list[bytes] = []
        self._events: list[Stored] = []
        self._expected: Final = deque([_Expected.OTHER])
        """The first is the greeting."""
        self._reply: list[bytes] = []
        """The lines of a reply that is not whole."""
        self._named: Final = deque[str]()
        """Recipients of whom the backend has said nothing yet."""
        self._accepted: list[str] = []
        """Recipients that the backend takes, of this mail."""
        self._unknown = 0
        """How many commands in a row were not known."""
        self._text = LmtpText()
        self._noted = 0
        """The mark of the mail that is being saved."""
        self._held: list[bytes] = []
        """Replies about this mail."""
        self._is_stored = False
        self._is_backend_gone = False

    # What comes

    def receive_from_client(self, data: bytes, now: float) -> None:
        self._heard_at = now
        self._from_client.extend(data)
        self._go_on()

    def receive_from_backend(self, data: bytes, now: float) -> None:
        self._heard_at = now
        *lines, self._from_backend = (self._from_backend + data).split(b"\n")
        try:
            for line in lines:
                self._hear(line + b"\n")
            if len(self._from_backend) + sum(map(len, self._reply)) > MOST_REPLY:
                raise PeerError(f"expected a reply of at most {MOST_REPLY} bytes")
        except PeerError:
            self.backend_gone()
        self._go_on()

    def backend_gone(self) -> None:
        """The backend has ended the connection, or says nothing sensible. Who had a mail by then has it."""
        self._is_backend_gone = True
        while self.state is LmtpState.SAVING:
            self._hear_reply(451, b"451 " + _GONE)
        if self.state is not LmtpState.HELD:
            self._end(b"421 " + _GONE)

    def told(self, now: float) -> None:
        """Other nodes have the mail of the last `Stored`, or as many as can be had: the client may be told."""
        self._heard_at = now
        self._move(LmtpTrigger.TOLD)
        self._release()
        self._go_on()

    def tick(self, now: float) -> None:
        """Time has passed. A backend that tells of some recipients and then of none is as one that is gone: those have
        the mail."""
        if self.state is LmtpState.HELD or now < self._heard_at + SILENCE_S:
            return
        if self.state is LmtpState.SAVING:
            self._heard_at = now
            self.backend_gone()
        else:
            self._end(_SILENT)

    # What goes

    @property
    def wants_client(self) -> bool:
        """Is more of the client to be read now?"""
        is_its_turn = self.state in (LmtpState.COMMANDS, LmtpState.TEXT)
        return is_its_turn and len(self._expected) < MOST_EXPECTED and not self.is_over

    def data_to_client(self) -> list[bytes]:
        out, self._to_client = self._to_client, []
        return out

    def data_to_backend(self) -> list[bytes]:
        out, self._to_backend = self._to_backend, []
        return out

    def events(self) -> list[Stored]:
        out, self._events = self._events, []
        return out

    # The client

    def _go_on(self) -> None:
        """Take what the client has said, as far as it is its turn."""
        while self.wants_client and self._from_client:
            if self.state is LmtpState.TEXT:
                self._pass_text()
                continue
            end = self._from_client.find(b"\n")
            if (end if end >= 0 else len(self._from_client)) >= MOST_LINE:
                self._end(_TOO_LONG)
            if end < 0 or self.is_over:
                return
            line = bytes(self._from_client[:end])
            # The rest stays where it is: nothing is copied for each line.
            del self._from_client[: end + 1]
            self._hear_command(line.removesuffix(b"\r"))

    def _hear_command(self, line: bytes) -> None:
        verb = line.partition(b" ")[0].upper()
        is_known = b"\r" not in line and b"\0" not in line and (verb == b"DATA" or verb in _COMMANDS)
        self._unknown = 0 if is_known else self._unknown + 1
        if self._unknown > MOST_UNKNOWN:
            self._end(_NO_MAIL_SERVER)
        elif not is_known:
            self._expect(_Expected.OURS)
        elif verb != b"DATA":
            self._ask(line, _COMMANDS[verb])
        elif self._must_refuse():
            self._ask(b"RSET", _Expected.ALONE)
        else:
            self._move(LmtpTrigger.DATA)
            self._ask(line, _Expected.DATA)

    def _ask(self, line: bytes, expected: _Expected) -> None:
        if expected is _Expected.RCPT:
            self._named.append(_recipient(line))
        self._to_backend.append(line + b"\r\n")
        self._expect(expected)

    def _expect(self, expected: _Expected) -> None:
        self._expected.append(expected)
        self._tell_ours()

    def _pass_text(self) -> None:
        passed = self._text.feed(bytes(self._from_client))
        if passed.rest is not None:
            # Before the backend has the end: what it does with the mail is news after this.
            self._noted = self._mark()
            self._move(LmtpTrigger.END)
            self._expected.extend([_Expected.TEXT] * max(1, len(self._accepted)))
            self._text = LmtpText()
        self._from_client[:] = passed.rest or b""
        self._to_backend.append(passed.data)

    # The backend

    def _hear(self, line: bytes) -> None:
        """A line of a reply. Raises PeerError."""
        found = _REPLY.fullmatch(line.rstrip(b"\r\n"))
        if found is None:
            raise PeerError(f"expected a reply of LMTP, got {line[:100]!r}")
        self._reply.append(line)
        if not (found[2] or b"").startswith(b"-"):
            reply, self._reply = b"".join(self._reply), []
            self._hear_reply(int(found[1]), reply)

    def _hear_reply(self, code: int, reply: bytes) -> None:
        if not self._expected:
            # As a server says when it ends.
            self._is_backend_gone = True
            if self.state is not LmtpState.HELD:
                self._end(reply)
            return
        expected = self._expected.popleft()
        is_done = code // 100 == 2
        if expected is _Expected.TEXT:
            self._hear_of_recipient(reply, is_done=is_done)
            return
        if expected is _Expected.QUIT:
            self._end(reply)
            return
        if expected in _VOIDING and is_done:
            self._accepted = []
        if expected is _Expected.RCPT:
            self._accepted += [self._named.popleft()][: int(is_done)]
        elif expected is _Expected.DATA:
            self._move(LmtpTrigger.GO if code == 354 else LmtpTrigger.REFUSED)
        elif expected is _Expected.LHLO and is_done:
            reply = _known_extensions(reply)
        elif expected is _Expected.ALONE:
            reply = _ALONE
        self._to_client.append(reply)
        self._tell_ours()

    def _hear_of_recipient(self, reply: bytes, *, is_done: bool) -> None:
        self._held.append(reply)
        self._is_stored |= is_done
        if _Expected.TEXT in self._expected:
            return
        if self._is_stored:
            self._move(LmtpTrigger.STORED)
            self._events.append(Stored(self._noted, tuple(self._accepted)))
        else:
            self._move(LmtpTrigger.NOT_STORED)
            self._release()

    def _release(self) -> None:
        """The client gets the replies about its mail."""
        self._to_client += self._held
        self._held, self._is_stored, self._accepted = [], False, []
        if self._is_backend_gone:
            self._end(b"421 " + _GONE)

    def _tell_ours(self) -> None:
        while self._expected and self._expected[0] is _Expected.OURS:
            self._expected.popleft()
            self._to_client.append(_UNKNOWN)

    def _end(self, last: bytes) -> None:
        if not self.is_over:
            self.is_over = True
            self._to_client.append(last)

    def _move(self, trigger: LmtpTrigger) -> None:
        self.state = LMTP.after(self.state, trigger)


def _recipient(line: bytes) -> str:
    """Whom a RCPT names, without quotes; "" if that cannot be read."""
    found = _RECIPIENT.match(line)
    if found is None:
        return ""
    path: bytes = found[1]
    place = len(path) if path.endswith(b'"') or b"@" not in path else path.rindex(b"@")
    return (path[:place].removeprefix(b'"').removesuffix(b'"') + path[place:]).decode("utf-8", "replace")


def _known_extensions(reply: bytes) -> bytes:
    """The answer to LHLO without the extensions that the proxy does not pass."""
    first, *more = (line[4:].rstrip(b"\r\n") for line in reply.splitlines())
    kept = [first, *(line for line in more if line.partition(b" ")[0].upper() in _EXTENSIONS)]
    last = len(kept) - 1
    return b"".join(b"250%b%b\r\n" % (b"-" if place < last else b" ", line) for place, line in enumerate(kept))
