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
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
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

TIMEOUT_S: Final = 75.0
"""Longer than `check` may take."""
MOST_RANGES: Final = 1000
"""Ranges of UIDs that one command names."""
MOST_NAMED: Final = 1_000_000
"""UIDs that a refusal may name: a line could name four thousand million."""
MOST_UNANSWERED: Final = 100
"""SAVEs of `append_all` that are under way at once."""
_READ_BYTES: Final = 256 * 1024
_TX: Final = "move"


class MailboxError(PyreplError):
    """The node refused: `reason` is a word such as NOBOX, EXISTS, TIMEOUT, APART or DENIED, or BAD; CLOSED if it has
    ended the connection. `uids` are the messages that MODIFIED is about."""

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
    """One connection to a node. What does not end as it should, as by a timeout, ends the connection: nobody knows how
    much of it was said or heard. What comes then raises ConnectionError, and another client can be made."""

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
        text_limit: int = TEXT_LIMIT,
    ) -> None:
        """By the node's `mailbox-socket`, or by the `address` of its `mailbox-port` with `mailbox-secret`, and with
        `tls` where that speaks TLS. `name` is for the node's log. With `user` only this user's mailboxes may be
        touched. `timeout_s`: so long the node may say nothing, or take nothing. `text_limit`: bytes of a text that is
        fetched. Raises OSError, MailboxError."""
        if address is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(timeout_s)
            self._socket.connect(socket_path)
        else:
            plain = socket.create_connection(address, timeout_s)
            self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=address[0])
        self._decoder: Final = Decoder(Side.NODE, text_limit=text_limit)
        self._heard: Iterator[Line | Piece | BadLine] = iter(())
        self._tags = 0
        self._is_open = True
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
        """Save messages, many at a time; all of them are saved when this returns, in order. Where one is refused, those
        that were sent before it was known may be saved, and no more are sent."""
        sent: dict[str, str] = {}
        answers: dict[str, Command] = {}
        for text, flags, received in messages:
            guid = new_guid()
            sent[self._say_save(user, box, guid, text, flags, received, 0)] = guid
            is_full = len(sent) - len(answers) >= MOST_UNANSWERED
            if is_full and not isinstance(self._take(sent, answers), Ok):
                break
        while len(answers) < len(sent):
            self._take(sent, answers)
        oks = [(_ok(answers[tag]), guid) for tag, guid in sent.items()]
        return [Saved(ok.uid or 0, guid, ok.acks or 0) for ok, guid in oks]

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
        place, added, removed, refused = _box(box), tuple(add), tuple(remove), list[int]()
        for part in _parts(uids):
            changes = Store(user=user, box=place, uids=part, add=added, remove=removed, unchangedsince=unchanged_since)
            try:
                self._ask(changes)
            except MailboxError as error:
                if error.reason != Reason.MODIFIED.name:
                    raise
                refused += error.uids
        if refused:
            raise MailboxError(Reason.MODIFIED.name, "", tuple(refused))

    def expunge(self, user: str, box: str, uids: Iterable[int]) -> None:
        """Remove messages."""
        for part in _parts(uids):
            self._ask(Expunge(user=user, box=_box(box), uids=part))

    def copy(self, user: str, box: str, uids: Iterable[int], to: str) -> list[int]:
        """Copy messages; their UIDs in the other mailbox, in the order of theirs here. Those that are there already,
        and those that are gone here, have none among them. MailboxError FAILED if it is the same mailbox."""
        wanted = set(uids)
        answers = [self._ask(Copy(user=user, box=_box(box), uids=part, to=_box(to))) for part in _parts(wanted)]
        return [uid for answer in answers for uid in _each(answer.uids, len(wanted))]

    def move(self, user: str, box: str, uids: Iterable[int], to: str) -> list[int]:
        """Move messages, all or none of them; their UIDs in the other mailbox, as `copy` has them."""
        every = set(uids)
        self._ask(TxBegin(user=user, tx=_TX), is_answered=False)
        for part in _parts(every):
            self._ask(Copy(user=user, box=_box(box), uids=part, to=_box(to), tx=_TX))
            self._ask(Expunge(user=user, box=_box(box), uids=part, tx=_TX))
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
        self._is_open = False
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._is_open:
            # All is answered: if the node does not hear this, nothing is lost.
            with suppress(OSError):
                self._say(Quit(), is_answered=False)
        self.close()

    # What is said

    def _greet(self, mine: Hello, secret: bytes) -> None:
        # A node that takes nobody has said why, and may have gone already.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(encode(mine))
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
        with self._whole():
            self._socket.sendall(data)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What ends otherwise, has said or heard a part, which nothing may follow: a text would go on in the next
        command."""
        if not self._is_open:
            raise ConnectionError("the connection is closed, as what was asked on it did not end: make another client")
        try:
            yield
        except BaseException:
            self.close()
            raise

    # What is heard

    def _answer(self, tag: str) -> Ok:
        """The answer with this tag; others are of no interest any more."""
        while True:
            line = self._next_line()
            if line.tag == tag:
                return _ok(line.command)

    def _take(self, sent: Container[str], answers: dict[str, Command]) -> Command:
        """One more answer to what was sent."""
        while True:
            line = self._next_line()
            if line.tag in sent:
                answers[line.tag] = line.command
                return line.command

    def _next_line(self) -> Line:
        """The next line that is an answer."""
        while True:
            heard = self._next()
            if isinstance(heard, Line) and isinstance(heard.command, Ping):
                # By TCP the node wants a sign of life meanwhile.
                self._say(Ping(), is_answered=False)
            elif isinstance(heard, Line):
                return heard

    def _next_command(self) -> Command:
        heard = self._next()
        assert isinstance(heard, Line)
        return heard.command

    def _next(self) -> Line | Piece:
        """Raises MailboxError CLOSED if the node says that it ends the connection."""
        with self._whole():
            heard = self._next_heard()
            if isinstance(heard, Line) and heard.tag == UNTAGGED and isinstance(heard.command, Bad):
                raise MailboxError("CLOSED", heard.command.why)
            return heard

    def _next_heard(self) -> Line | Piece:
        while True:
            try:
                heard = next(self._heard, None)
            except PeerError as error:
                raise MailboxError("CLOSED", f"the node said what is no answer: {error}") from None
            if heard is None:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    raise ConnectionError("the node closed the connection")
                self._heard = self._decoder.feed(data)
            elif isinstance(heard, BadLine):
                raise MailboxError("CLOSED", f"the node said what is no answer: {heard.why}")
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


def _parts(uids: Iterable[int]) -> Iterator[Uids]:
    """As many as a line can name, ascending."""
    every = ranges(sorted(set(uids)))
    for start in range(0, len(every), MOST_RANGES):
        yield every[start : start + MOST_RANGES]


def _each(uids: Uids, most: int) -> list[int]:
    """Raises MailboxError BAD where these are more than `most`."""
    if sum(last - first + 1 for first, last in uids) > most:
        raise MailboxError("BAD", f"the node named more than {most} UIDs")
    return [uid for first, last in uids for uid in range(first, last + 1)]
