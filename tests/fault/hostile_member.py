"""A member that was broken into, or that is mad: it knows the secret, is greeted as a member of the list, and says then
whatever a test wants. It blocks; what the node says is read only when it is asked for."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar, final

from pyrepl.errors import PeerError
from pyrepl.mailbox.answers import Bad, No, Ok
from pyrepl.mailbox.codec import UNTAGGED, BadLine, Decoder, Heard, Line, encode
from pyrepl.mailbox.greeting import Greeting
from pyrepl.mailbox.members import Members
from pyrepl.mailbox.peer_link import Introduction
from pyrepl.mailbox.verbs import Auth, Check, Command, Hello, Op, Ping, Side
from pyrepl.mailbox.words import Dot
from tests.peers.ports import HOST

TIMEOUT_S: Final = 240.0
LAST_TAG: Final = "cEND"
"""Of the question behind all that was said; `c` as nodes tag CHECK."""
NOBODY: Final = "nobody"
"""A user without mail, of whom no message waits for a UID."""
_READ_BYTES: Final = 1 << 16
_AnyCommand = TypeVar("_AnyCommand", bound=Command)


class Who(NamedTuple):
    """Whom it says it is, and of which cluster."""

    name: str
    members: Members
    secret: str


@final
class HostileMember:
    """One connection to a node's mailbox-port, and its greeting is over."""

    def __init__(self, port: int, who: Who, *, epoch: int = 0, is_fresh: bool = False) -> None:
        """Raises PeerError, with the node's reason, if it is not greeted."""
        self._socket: Final = socket.socket()
        # What is not read waits in the node, and not in the kernel.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _READ_BYTES)
        self._socket.settimeout(TIMEOUT_S)
        self._socket.connect((HOST, port))
        self._decoder: Final = Decoder(Side.NODE)
        self._heard: Iterator[Heard] = iter(())
        self._ops: dict[str, int] = {}
        nonce = secrets.token_hex(16)
        mine = Introduction(who.name, who.members, who.secret.encode(), nonce, is_fresh, epoch).hello()
        greeting = Greeting(mine, who.secret.encode(), calls=True)
        try:
            self.say(mine)
            greeting.hear(self._expect(Hello))
            self.say(greeting.proof())
            greeting.check(self._expect(Auth))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> HostileMember:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    # What it says

    def send(self, data: bytes) -> bool:
        """Any bytes. False if the node has ended the connection."""
        try:
            self._socket.sendall(data)
        except ConnectionError:
            return False
        return True

    def say(self, *commands: Command, tag: str = UNTAGGED) -> bool:
        """Well-formed commands in one piece."""
        return self.send(b"".join(encode(command, tag) for command in commands))

    def make(self, op: Op, origin: str, after: Iterable[Dot] = ()) -> Op:
        """The op as if it were the next one that `origin` made, with this connection's own count."""
        self._ops[origin] = self._ops.get(origin, 0) + 1
        return op.replaced(at=Dot(origin, self._ops[origin]), after=tuple(after))

    # What it hears

    def hear(self) -> Line | None:
        """The next line that is no PING; texts are passed over. None at the end of the connection."""
        while True:
            for heard in self._heard:
                if isinstance(heard, BadLine):
                    raise PeerError(heard.why)
                if isinstance(heard, Line) and not isinstance(heard.command, Ping):
                    return heard
            data = b""
            with suppress(ConnectionError):
                data = self._socket.recv(_READ_BYTES)
            if not data:
                return None
            self._heard = self._decoder.feed(data)

    def end(self) -> str:
        """Why the node ends the connection: its last line; "" if it gave none. Raises TimeoutError if it does not."""
        why = ""
        while (line := self.hear()) is not None:
            if isinstance(line.command, Bad):
                why = line.command.why
        return why

    def is_heard(self) -> bool:
        """Has the node heard all that was said? False if it has ended the connection before that."""
        self.say(Check(user=NOBODY), tag=LAST_TAG)
        while (line := self.hear()) is not None:
            if line.tag == LAST_TAG and isinstance(line.command, Ok | No):
                return True
        return False

    def _expect(self, kind: type[_AnyCommand]) -> _AnyCommand:
        line = self.hear()
        if line is None or not isinstance(line.command, kind):
            why = "the end" if line is None else line.command.__dict__.get("why") or line.command.VERB
            raise PeerError(f"expected {kind.VERB}, got {why}")
        return line.command
