"""A small mail process as a library: a program saves, flags, copies and removes mail on a node, and so on all of them.

    with MailboxClient("mailbox.socket") as mail:
        mail.create("alice", "INBOX")
        saved = mail.append("alice", "INBOX", b"Subject: hello\\r\\n\\r\\n", flags=["\\\\Seen"])
        mail.store("alice", "INBOX", [saved.uid], add=["\\\\Flagged"])
        mail.copy("alice", "INBOX", [saved.uid], "Archive")

It blocks until the node answers. What returned is on the disk of the node, and on that of `acks` others. A connection
is for one thread. Mailboxes are named as people see them, their parts joined by `/`; flags are those of IMAP.

Not here: what the node does (mail_side.py, saving.py). Its own doors: a socket, the clock, and randomness for GUIDs.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self, final

from pyrepl.errors import PeerError, PyreplError
from pyrepl.mailbox.answers import Bad, No, Ok, Reason
from pyrepl.mailbox.codec import TEXT_LIMIT, UNTAGGED, BadLine, Decoder, Line, Piece, encode
from pyrepl.mailbox.greeting import Greeting
from pyrepl.mailbox.verbs import (
    Auth,
    Check,
    Command,
    Copy,
    Create,
    Delete,
    Expunge,
    Fetch,
    Hello,
    Lock,
    Ping,
    Quit,
    Rename,
    Save,
    Side,
    Store,
    Subscribe,
    TxBegin,
    TxEnd,
    Unlock,
    Unsubscribe,
)
from pyrepl.mailbox.words import Box, Uids, box_name, ranges

if TYPE_CHECKING:
    import ssl

TIMEOUT_S: Final = 60.0
MOST_NAMED: Final = 1_000_000
"""UIDs that a refusal may name: a line could name four thousand million."""
MOST_UNANSWERED: Final = 100
"""SAVEs of `append_all` that are under way at once."""
_READ_BYTES: Final = 256 * 1024
_TX: Final = "move"


class MailboxError(PyreplError):
    """The node refused: `reason` is a word such as NOBOX, EXISTS, TIMEOUT, APART or DENIED, or BAD; `uids` are the
    messages that MODIFIED is about."""

    def __init__(self, reason: str, why: str, uids: tuple[int, ...] = ()) -> None:
        super().__init__(f"{reason} {why}".rstrip())
        self.reason: Final = reason
        self.uids: Final = uids


class Saved(NamedTuple):
    """A message: its UID, its GUID, and how many other nodes have it on disk."""

    uid: int
    guid: str
    acks: int


class Message(NamedTuple):
    """What `append_all` saves. `received`: Unix seconds, 0 for now."""

    text: bytes
    flags: tuple[str, ...] = ()
    received: int = 0


@final
class MailboxClient:
    """One connection to a node."""

    def __init__(
        self,
        socket_path: str = "",
        *,
        address: tuple[str, int] | None = None,
        secret: bytes = b"",
        tls: ssl.SSLContext | None = None,
        name: str = "python",
        user: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """By the node's `mailbox-socket`, or by the `address` of its `mailbox-port` with `mailbox-secret`, and with
        `tls` where that speaks TLS. `name` is for the node's log. With `user` only this user's mailboxes may be
        touched. Raises OSError, MailboxError."""
        if address is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(timeout_s)
            self._socket.connect(socket_path)
        else:
            plain = socket.create_connection(address, timeout_s)
            self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=address[0])
        self._decoder: Final = Decoder(Side.NODE, text_limit=TEXT_LIMIT)
        self._heard: Iterator[Line | Piece | BadLine] = iter(())
        self._tags = 0
        try:
            self._greet(Hello(name=name, user=user, nonce=secrets.token_hex(16)), secret if address else b"")
        except BaseException:
            self.close()
            raise

    # Messages

    def append(self, user: str, box: str, text: bytes, flags: Iterable[str] = (), received: int = 0) -> Saved:
        """Save a message; the node gives it a UID."""
        [saved] = self.append_all(user, box, [Message(text, tuple(flags), received)])
        return saved

    def append_all(self, user: str, box: str, messages: Iterable[Message]) -> list[Saved]:
        """Save messages, many at a time; all of them are saved when this returns, in order."""
        guids: list[str] = []
        tags: list[str] = []
        answers: dict[str, Ok] = {}
        for text, flags, received in messages:
            guids.append(new_guid())
            tags.append(self._say_save(user, box, guids[-1], text, flags, received, 0))
            if len(tags) - len(answers) >= MOST_UNANSWERED:
                self._take(answers)
        while len(answers) < len(tags):
            self._take(answers)
        return [Saved(answers[tag].uid or 0, guid, answers[tag].acks or 0) for tag, guid in zip(tags, guids)]

    def store(
        self,
        user: str,
        box: str,
        uids: Iterable[int],
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        unchanged_since: int | None = None,
    ) -> None:
        """Add and remove flags. With `unchanged_since` only of messages whose modseq is not higher: MailboxError
        MODIFIED names the others."""
        changes = Store(
            user=user,
            box=_box(box),
            uids=_uids(uids),
            add=tuple(add),
            remove=tuple(remove),
            unchangedsince=unchanged_since,
        )
        self._ask(changes)

    def expunge(self, user: str, box: str, uids: Iterable[int]) -> None:
        """Remove messages."""
        self._ask(Expunge(user=user, box=_box(box), uids=_uids(uids)))

    def copy(self, user: str, box: str, uids: Iterable[int], to: str) -> list[int]:
        """Copy messages; their UIDs in the other mailbox."""
        wanted = set(uids)
        return _each(self._ask(Copy(user=user, box=_box(box), uids=_uids(wanted), to=_box(to))).uids, len(wanted))

    def move(self, user: str, box: str, uids: Iterable[int], to: str) -> list[int]:
        """Move messages, all or none of them; their UIDs in the other mailbox."""
        every = set(uids)
        wanted = _uids(every)
        self._ask(TxBegin(user=user, tx=_TX), is_answered=False)
        self._ask(Copy(user=user, box=_box(box), uids=wanted, to=_box(to), tx=_TX))
        self._ask(Expunge(user=user, box=_box(box), uids=wanted, tx=_TX))
        return _each(self._ask(TxEnd(user=user, tx=_TX)).uids, len(every))

    def fetch(self, user: str, guid: str) -> bytes:
        """The text of a message, from any mailbox of the user that has it."""
        tag = self._say(Fetch(user=user, guid=guid))
        self._answer(tag)
        text = b""
        while True:
            piece = self._next()
            assert isinstance(piece, Piece)
            text += piece.data
            if piece.is_last:
                return text

    # UIDs of the program's own

    @contextmanager
    def locked(self, user: str, box: str) -> Iterator[int]:
        """While this lasts the program may give out UIDs of the mailbox, from the one that it gets on, ascending, by
        `save`. Others may as well, under the same rules, on this machine: who does so needs a lock in common."""
        answer = self._ask(Lock(user=user, box=_box(box), ascending=True))
        try:
            yield answer.uid or 0
        finally:
            self._say(Unlock(user=user, box=_box(box)), is_answered=False)

    def save(self, user: str, box: str, uid: int, text: bytes, flags: Iterable[str] = (), received: int = 0) -> Saved:
        """Save a message under a UID, within `locked`. It is sent, and is answered only when the order allows."""
        guid = new_guid()
        answer = self._answer(self._say_save(user, box, guid, text, tuple(flags), received, uid))
        return Saved(answer.uid or 0, guid, answer.acks or 0)

    # Mailboxes

    def create(self, user: str, box: str) -> None:
        """Make a mailbox. MailboxError EXISTS if there is one of this name."""
        self._ask(Create(user=user, box=_box(box)))

    def delete(self, user: str, box: str) -> None:
        """Remove a mailbox; messages in it that this node has not seen yet survive."""
        self._ask(Delete(user=user, box=_box(box)))

    def rename(self, user: str, box: str, to: str) -> None:
        """Give a mailbox, and all below it, another name."""
        self._ask(Rename(user=user, box=_box(box), to=_box(to)))

    def subscribe(self, user: str, box: str) -> None:
        self._ask(Subscribe(user=user, box=_box(box)))

    def unsubscribe(self, user: str, box: str) -> None:
        self._ask(Unsubscribe(user=user, box=_box(box)))

    # The cluster

    def check(self, user: str = "", *, login: bool = False) -> None:
        """Wait until all that was done anywhere is here, and all that is here is everywhere that can be reached. With
        `login`, before this user logs in to a Dovecot, also until its modseqs are in line with what a client may have
        seen on other nodes. MailboxError TIMEOUT if a node has not all within 5 s, or after 60 s more with `login`."""
        self._ask(Check(user=user, login=login))

    def ping(self) -> None:
        """The node is there. A connection by TCP needs one every 5 s while nothing else is said."""
        self._ask(Ping())

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._say(Quit(), is_answered=False)
        self.close()

    # What is said

    def _greet(self, mine: Hello, secret: bytes) -> None:
        self._send(encode(mine))
        theirs = self._next_command()
        if not isinstance(theirs, Hello):
            raise _refusal(theirs)
        if not secret:
            return
        greeting = Greeting(mine, secret, calls=True)
        try:
            greeting.hear(theirs)
            self._send(encode(greeting.proof()))
            proof = self._next_command()
            if not isinstance(proof, Auth):
                raise _refusal(proof)
            greeting.check(proof)
        except PeerError as error:
            raise MailboxError("BAD", str(error)) from None

    def _ask(self, command: Command, *, is_answered: bool = True) -> Ok:
        tag = self._say(command, is_answered=is_answered)
        return self._answer(tag) if is_answered else Ok()

    def _say(self, command: Command, *, is_answered: bool = True) -> str:
        tag = self._new_tag() if is_answered else UNTAGGED
        self._send(encode(command, tag))
        return tag

    def _say_save(
        self, user: str, box: str, guid: str, text: bytes, flags: tuple[str, ...], received: int, uid: int
    ) -> str:
        tag = self._new_tag()
        save = Save(
            user=user,
            box=_box(box),
            uid=uid,
            guid=guid,
            size=len(text),
            received=received or int(time.time()),
            flags=flags,
        )
        self._send(encode(save, tag, len(text)) + text)
        return tag

    def _new_tag(self) -> str:
        self._tags += 1
        return str(self._tags)

    def _send(self, data: bytes) -> None:
        self._socket.sendall(data)

    # What is heard

    def _answer(self, tag: str) -> Ok:
        """The answer with this tag; others are of no interest any more."""
        while True:
            line = self._next_line()
            if line.tag == tag:
                return _ok(line.command)

    def _take(self, answers: dict[str, Ok]) -> None:
        """One more answer."""
        line = self._next_line()
        answers[line.tag] = _ok(line.command)

    def _next_line(self) -> Line:
        """The next line that is an answer, or says that the node has ended the connection."""
        while True:
            heard = self._next()
            if isinstance(heard, Line) and not isinstance(heard.command, Ping):
                if heard.tag == UNTAGGED and isinstance(heard.command, Bad):
                    raise _refusal(heard.command)
                return heard

    def _next_command(self) -> Command:
        heard = self._next()
        assert isinstance(heard, Line)
        return heard.command

    def _next(self) -> Line | Piece:
        while True:
            heard = next(self._heard, None)
            if heard is None:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    raise ConnectionError("the node closed the connection")
                self._heard = self._decoder.feed(data)
            elif isinstance(heard, BadLine):
                raise MailboxError("BAD", f"the node said what is no answer: {heard.why}")
            else:
                return heard


def new_guid() -> str:
    """A GUID that no other message has."""
    host = socket.gethostname().replace("/", "-").replace(":", "-")
    return f"{int(time.time())}.{secrets.token_hex(12)}.{host}"[:96]


def _ok(answer: Command) -> Ok:
    if not isinstance(answer, Ok):
        raise _refusal(answer)
    return answer


def _refusal(answer: Command) -> MailboxError:
    if isinstance(answer, No):
        return MailboxError(str(Reason[answer.reason]), answer.why, tuple(_each(answer.uids, MOST_NAMED)))
    return MailboxError("BAD", answer.why if isinstance(answer, Bad) else f"{answer.VERB} was not expected")


def _box(name: str) -> Box:
    """Raises MailboxError BAD for a name that a mailbox cannot have."""
    try:
        return Box(box_name(name))
    except PeerError as error:
        raise MailboxError("BAD", str(error)) from None


def _uids(uids: Iterable[int]) -> Uids:
    return ranges(sorted(set(uids)))


def _each(uids: Uids, most: int) -> list[int]:
    """Raises MailboxError BAD where these are more than `most`."""
    if sum(last - first + 1 for first, last in uids) > most:
        raise MailboxError("BAD", f"the node named more than {most} UIDs")
    return [uid for first, last in uids for uid in range(first, last + 1)]
