"""What a replica says before the sync, one row a step, and what it makes of each answer.

conversation.py makes a Handshake when the connection stands, feeds it the bytes that come, and takes `answer` from it.
rdb_channel.py uses `auth_step` for the second connection.

Not here: the connection's life and timeouts (link_life.py, conversation.py), the meaning of the answer to PSYNC
(psync.py).

Theory: PING goes out alone, so that a master that is busy or wants a password says so first. After its answer AUTH and
all REPLCONF steps go out at once, and after their answers PSYNC: three round trips (Redis 7.0 `syncWithMaster`). An
error is tolerated where the step's row says so, as older masters do not know every option; otherwise it ends the sync.

    PING         -NOAUTH, -NOPERM, -ERR operation not permitted are tolerated: AUTH comes next
    AUTH         if masterauth is set; an error ends it
    REPLCONF     listening-port, ip-address (if announced), capa, version (if stated): errors are tolerated; among
                 the capabilities are the ways to sync on two connections that we offer, and for a pyrepl the RDB
                 version that we read
    PSYNC        the answer ends the handshake; empty lines before it are keep-alives
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass
from typing import Final, final

from pyrepl.errors import PeerError
from pyrepl.frozen import Frozen
from pyrepl.machines import Table
from pyrepl.replication.dialects import RDB_CAPABILITY, Dialect
from pyrepl.replication.psync import Answer, Cause, Reason, Request, TryLater, decode_answer, encode_request
from pyrepl.resp.encoder import encode_command

MAX_LINE_BYTES: Final = 64 * 1024
"""Inclusive, for an answer whose line end has not come yet."""
_PING_TOLERATED: Final = (b"-NOAUTH", b"-NOPERM", b"-ERR operation not permitted")


@dataclass(slots=True)
class Introduction:
    """What a replica tells its master about itself. Empty texts are left out, `user` only counts with `password`.

    Its repr leaves out the password, since errors and logs may show it.
    """

    listening_port: int = 0
    """Where our clients reach us: replica-announce-port, or the port."""
    announce_ip: str = ""
    """replica-announce-ip: the address to show for us, where it is not the one that the connection comes from."""
    user: str = ""
    """masteruser."""
    password: str = ""
    """masterauth."""
    version: str = ""
    """For `REPLCONF version`, by which a Valkey chooses the RDB version it writes: the Valkey whose files we read."""
    rdb_version: int = 0
    """The highest Redis RDB version we read, for a master that is a pyrepl; 0 says nothing."""

    def __repr__(self) -> str:
        return f"Introduction(listening_port={self.listening_port}, announce_ip={self.announce_ip!r})"


class Step(Frozen):
    """One command of the handshake, by the `name` that errors use. An error line that begins with one of `tolerates`
    does not end the handshake."""

    name: str
    argv: list[bytes]
    tolerates: tuple[bytes, ...]


def auth_step(introduction: Introduction) -> Step | None:
    """The AUTH step, with the user where one is set (Redis 6.0); None without a password. Its errors end the sync."""
    if not introduction.password:
        return None
    words = [introduction.user, introduction.password] if introduction.user else [introduction.password]
    return Step("auth", [b"AUTH", *(word.encode("utf-8", "surrogateescape") for word in words)], ())


def introduction_steps(introduction: Introduction, offers: tuple[Dialect, ...] = ()) -> list[Step]:
    """The steps between PING and PSYNC, in order. `offers`: the ways to sync on two connections, as announced."""
    auth = auth_step(introduction)
    steps = [auth] if auth is not None else []
    steps.append(_replconf("listening-port", b"%d" % introduction.listening_port))
    if introduction.announce_ip:
        steps.append(_replconf("ip-address", introduction.announce_ip.encode()))
    words = [b"eof", b"psync2", *(dialect.capa_word for dialect in offers)]
    if introduction.rdb_version:
        words.append(RDB_CAPABILITY + b"%d" % introduction.rdb_version)
    # One REPLCONF with `capa` before each word, as Redis sends it: REPLCONF capa eof capa psync2 ...
    steps.append(_replconf("capa", *b" capa ".join(words).split(b" ")))
    if introduction.version:
        # Behind `capa`: a pyrepl has seen RDB_CAPABILITY by then, and does not take us for a Valkey (told.py).
        steps.append(_replconf("version", introduction.version.encode()))
    return steps


def _replconf(option: str, *values: bytes) -> Step:
    """A REPLCONF step. A master that does not know the option answers with an error, which does no harm."""
    return Step(option, [b"REPLCONF", option.encode(), *values], (b"-",))


class HandshakeState(enum.StrEnum):
    """What was sent last, and whether it is answered."""

    PING = "ping"
    """PING is sent."""
    OPTIONS = "options"
    """AUTH and the REPLCONF steps are sent, and not all of them are answered."""
    ASKED = "asked"
    """PSYNC is sent."""
    ANSWERED = "answered"
    """PSYNC is answered, be it with an error."""
    REFUSED = "refused"
    """A step before PSYNC was answered with an error that ends the handshake."""


class HandshakeTrigger(enum.StrEnum):
    """What moves the handshake on."""

    ALL_ANSWERED = "all_answered"
    """All steps that were sent are answered: the next ones go out."""
    ANSWER = "answer"
    """The answer to PSYNC."""
    REFUSAL = "refusal"
    """An error that the step does not tolerate."""


_S = HandshakeState
_T = HandshakeTrigger
HANDSHAKE: Final = Table(
    "The handshake",
    (_S.PING,),
    {
        (_S.PING, _T.ALL_ANSWERED): _S.OPTIONS,
        (_S.PING, _T.REFUSAL): _S.REFUSED,
        (_S.OPTIONS, _T.ALL_ANSWERED): _S.ASKED,
        (_S.OPTIONS, _T.REFUSAL): _S.REFUSED,
        (_S.ASKED, _T.ANSWER): _S.ANSWERED,
    },
    where=" in the handshake",
)


@final
class Handshake:
    """One run of the steps on one connection.

    `request` is what PSYNC asks for. `answer` is None until the master has answered PSYNC, or refused an earlier step
    (then it is a TryLater). `tolerated` holds (step, error text) of the errors that did no harm; whoever tells of them
    empties it. `rest` are the bytes behind the answer: the beginning of a snapshot or of the stream.
    Invariants: `_awaited` holds the steps that were sent and not answered, in order, and is empty from ASKED on;
    `answer` is set exactly in ANSWERED and REFUSED.
    """

    __slots__ = (
        "_awaited",
        "_has_password",
        "_line",
        "_out",
        "_steps",
        "answer",
        "request",
        "rest",
        "state",
        "tolerated",
    )

    def __init__(self, introduction: Introduction, request: Request, offers: tuple[Dialect, ...] = ()) -> None:
        self.request: Final = request
        self.answer: Answer | None = None
        self.state = HandshakeState.PING
        self.tolerated: list[tuple[str, str]] = []
        self.rest = b""
        self._has_password: Final = bool(introduction.password)
        self._steps: Final = introduction_steps(introduction, offers)
        self._awaited: deque[Step] = deque([Step("ping", [b"PING"], _PING_TOLERATED)])
        self._out: list[bytes] = [encode_command(self._awaited[0].argv)]
        self._line = b""

    @property
    def asked(self) -> bool:
        """Was PSYNC sent?"""
        return self.state is HandshakeState.ASKED or self.state is HandshakeState.ANSWERED

    @property
    def step(self) -> str:
        """The name of the step whose answer we wait for: "ping", "auth", a REPLCONF option, "psync"."""
        return self._awaited[0].name if self._awaited else "psync"

    def data_to_send(self) -> list[bytes]:
        """What is to go out now; each byte is returned once."""
        out, self._out = self._out, []
        return out

    def receive(self, data: bytes) -> None:
        """Take the next bytes of the connection, until `answer` is set.

        Raises PeerError for a line that is no answer, and for more than MAX_LINE_BYTES without a line end.
        """
        assert self.answer is None
        data = self._line + data
        at = 0
        while self.answer is None:
            end = data.find(b"\n", at)
            if end < 0:
                break
            line = data[at:end].rstrip(b"\r")
            at = end + 1
            if line:
                # Empty lines are keep-alives, while the master makes up its mind.
                self._receive_line(line)
        if self.answer is None:
            self._line = data[at:]
            if len(self._line) > MAX_LINE_BYTES:
                raise PeerError(f"expected the answer to {self.step}, got {len(self._line)} bytes without a line end")
        else:
            self.rest = data[at:]

    def _receive_line(self, line: bytes) -> None:
        """Take one answer. Answers come in the order of the steps, so the first awaited step is the one it is for."""
        if self.state is HandshakeState.ASKED:
            answer = decode_answer(line)
            self._move(HandshakeTrigger.ANSWER)
            self.answer = self._advised(answer.text, answer.reason) if isinstance(answer, TryLater) else answer
            return
        step = self._awaited[0]
        if line[:1] == b"-":
            self._receive_error(step, line)
        elif line[:1] != b"+":
            raise PeerError(f"expected +OK or an error to {step.name}, got {_text(line)!r}")
        if self.answer is None:
            self._awaited.popleft()
            if not self._awaited:
                self._send_next()

    def _receive_error(self, step: Step, line: bytes) -> None:
        """An error line for `step`: tolerate it, or end the handshake, with a cause by which the wait is chosen."""
        text = _text(line[1:])
        if line.startswith(step.tolerates):
            self.tolerated.append((step.name, text))
        elif line.startswith((b"-LOADING", b"-NOMASTERLINK", b"-MASTERDOWN", b"-BUSY")):
            self._move(HandshakeTrigger.REFUSAL)
            self.answer = TryLater(text, Reason(Cause.NOT_READY))
        else:
            self._move(HandshakeTrigger.REFUSAL)
            self.answer = self._advised(text, Reason(Cause.REFUSED, detail=step.name))

    def _advised(self, text: str, reason: Reason) -> TryLater:
        """The master's error, and behind it what an operator can do where access is in question."""
        advice = why_no_access(text, has_password=self._has_password)
        return TryLater(f"{text} ({advice})" if advice else text, reason)

    def _send_next(self) -> None:
        """Send AUTH and all REPLCONF steps once PING is answered, and PSYNC once these are answered."""
        assert not self._awaited
        self._move(HandshakeTrigger.ALL_ANSWERED)
        if self.state is HandshakeState.ASKED:
            self._out.append(encode_command(encode_request(self.request)))
        else:
            self._awaited.extend(self._steps)
            self._out.extend(encode_command(step.argv) for step in self._steps)

    def _move(self, trigger: HandshakeTrigger) -> None:
        self.state = HANDSHAKE.after(self.state, trigger)


def why_no_access(error: str, *, has_password: bool) -> str:
    """What a master's error about access means, as advice for an operator; empty for any other error.

    `error` is the error line without the dash. `has_password`: masterauth is set.
    """
    if error.startswith("NOAUTH"):
        return "masterauth is not enough for it" if has_password else "the master wants a password: set masterauth"
    if error.startswith("WRONGPASS"):
        return "masterauth, or masteruser with it, is not what the master wants"
    if error.startswith("NOPERM"):
        return "the user that masteruser names needs the rights +psync +replconf +ping"
    if error.startswith("ERR AUTH <password> called without any password"):
        return "the master has no password: clear masterauth"
    return ""


def _text(line: bytes) -> str:
    return line[:200].decode("utf-8", "backslashreplace")
