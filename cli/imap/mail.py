"""What the IMAP server of a node shows a user, for `pyrepl mailbox compare`: what a mail program would see there.

The server is a Dovecot: GUIDs of mailboxes and messages are its X-GUID, in STATUS and FETCH, which other servers do not
have. Messages and flags are as they were, \\Recent too: mailboxes are opened by EXAMINE. A Dovecot makes a mailbox that
its configuration has with `auto = create` when it is asked about it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, TypeVar, final

from pyrepl.address import Address
from pyrepl.errors import CorruptData
from pyrepl.mailbox.maildir import mutf7

from ..asking import Unreachable, Way, words_of
from ..mailbox_compare import MOST_MESSAGES, Named
from .answers import ImapError, Word, Words
from .session import ImapSession, Refused

PAGE: Final = 1000
"""Messages that are asked for at once."""
INBOX: Final = "INBOX"
_HIDDEN: Final = frozenset({b"\\noselect", b"\\nonexistent"})
"""Attributes of names, in small letters, that are no mailboxes."""
_NUMBER: Final = re.compile(rb"[0-9]{1,10}")
_TO_ESCAPE: Final = re.compile(rb'(["\\])')
Result = TypeVar("Result")


@final
class ImapMail:
    """The mailboxes of one user. Each method raises Unreachable, which names the server.

    `is_tls`: TLS from the first byte (`imaps:`); without it a context in `way` means STARTTLS. `user`: whose mailboxes
    they are; another one than that of `way` logs in for it, as Dovecot's master users may. `timeout_s`: for an answer.
    """

    def __init__(self, address: Address, way: Way, timeout_s: float, user: str, *, is_tls: bool) -> None:
        self.name: Final = str(address)
        self.user: Final = user
        self._address: Final = address
        self._way: Final = way
        self._timeout_s: Final = timeout_s
        self._is_tls: Final = is_tls
        self._open: ImapSession | None = None
        self._names: dict[str, bytes] = {}
        """Mailbox, with / between its levels -> how the server names it."""

    async def users(self) -> set[str]:
        await self._told(self._noop)
        return {self.user}

    async def boxes(self, _: str) -> dict[str, Named]:
        return await self._told(self._boxes)

    async def messages(self, _: str, box: str) -> dict[str, Named]:
        return await self._told(lambda session: self._messages(session, box))

    def close(self) -> None:
        session, self._open = self._open, None
        if session is not None:
            session.close()

    async def _told(self, question: Callable[[ImapSession], Awaitable[Result]]) -> Result:
        try:
            return await question(self._open or await self._begin())
        except TimeoutError:
            why = f"no answer within {self._timeout_s:g} s"
        except (OSError, UnicodeError) as error:
            why = words_of(error, self._way.tls)
        except (ImapError, CorruptData) as error:
            why = str(error)
        self.close()
        raise Unreachable(f"{self.name}: {why}")

    async def _begin(self) -> ImapSession:
        session = await ImapSession.begin(self._address, self._way.tls, self._timeout_s, is_tls=self._is_tls)
        self._open = session
        await session.log_in(self._way, self.user)
        return session

    async def _noop(self, session: ImapSession) -> None:
        await session.ask(b"NOOP")

    async def _boxes(self, session: ImapSession) -> dict[str, Named]:
        own, others = _namespaces(await session.ask(b"NAMESPACE"))
        subscribed = {name for _, _, name in _listed(await session.ask(b'LSUB "" "*"'), b"LSUB")}
        self._names = {}
        for attributes, separator, theirs in _listed(await session.ask(b'LIST "" "*"'), b"LIST"):
            if _HIDDEN & attributes or (others and theirs.startswith(others)):
                continue
            name = _name(theirs.removeprefix(own), separator)
            if self._names.setdefault(name, theirs) != theirs:
                raise ImapError(
                    f"it has two mailboxes that are called {name} here: {self._names[name]!r} and {theirs!r}"
                )
        if INBOX not in self._names:
            raise ImapError("it shows no INBOX, which every user has")
        return {name: await _box(session, theirs, theirs in subscribed) for name, theirs in self._names.items()}

    async def _messages(self, session: ImapSession, box: str) -> dict[str, Named]:
        theirs = self._names[box]
        count = _exists(await _asked(session, b"EXAMINE " + _quoted(theirs), theirs))
        if count > MOST_MESSAGES:
            raise ImapError(f"{box} has {count:,} messages, and at most {MOST_MESSAGES:,} are compared")
        found: dict[str, Named] = {}
        for first in range(1, count + 1, PAGE):
            last = min(first + PAGE - 1, count)
            answers = await _asked(session, b"FETCH %d:%d (UID FLAGS X-GUID)" % (first, last), theirs)
            for message in _fetched(answers, range(first, last + 1), box):
                # Each is there once: where a store gave a GUID to two messages, none of them is passed over.
                guid, uid = message["guid"], message["uid"]
                found[f"{guid} again, UID {uid}" if guid in found else guid] = message
        return found


async def _asked(session: ImapSession, command: bytes, theirs: bytes) -> list[Words]:
    """What is answered about a mailbox."""
    try:
        return await session.ask(command)
    except Refused as error:
        raise ImapError(f"asked about the mailbox {_text(theirs)} it said {error}") from None


async def _box(session: ImapSession, theirs: bytes, is_subscribed: bool) -> Named:
    command = b"STATUS %s (X-GUID UIDVALIDITY UIDNEXT)" % _quoted(theirs)
    for words in await _asked(session, command, theirs):
        if words[:1] == (b"STATUS",) and len(words) == 3 and words[1] == theirs and isinstance(words[2], tuple):
            said = dict(_pairs(words[2]))
            return {
                "guid": _text(said.get(b"X-GUID")),
                "uidvalidity": _number(said.get(b"UIDVALIDITY")),
                "uidnext": _number(said.get(b"UIDNEXT")),
                "subscribed": int(is_subscribed),
            }
    raise ImapError(f"it tells no STATUS of the mailbox {_text(theirs)}")


def _namespaces(answers: list[Words]) -> tuple[bytes, tuple[bytes, ...]]:
    """What the names of a user's own mailboxes begin with, and those of everybody else's."""
    found = [words[1:] for words in answers if words[:1] == (b"NAMESPACE",)]
    if len(found) != 1 or len(found[0]) < 3:
        raise ImapError("it tells no NAMESPACE")
    own, *others = ([_prefix(each) for each in group] if isinstance(group, tuple) else [] for group in found[0][:3])
    return own[0] if own else b"", tuple(prefix for group in others for prefix in group if prefix)


def _prefix(space: Word) -> bytes:
    if isinstance(space, tuple) and space and isinstance(space[0], bytes):
        return space[0]
    raise ImapError(f"expected a prefix in NAMESPACE, got {space!r}")


def _listed(answers: list[Words], kind: bytes) -> Iterator[tuple[frozenset[bytes], bytes, bytes]]:
    """Attributes in small letters, the separator ("" for none), and the name of each mailbox, INBOX in capitals."""
    for words in answers:
        if words[:1] != (kind,):
            continue
        attributes, separator, name = words[1:] if len(words) == 4 else (None, None, None)
        if not isinstance(attributes, tuple) or isinstance(separator, tuple) or not isinstance(name, bytes):
            raise ImapError(f"expected a mailbox in {kind.decode()}, got {words[1:]!r}")
        lowered = frozenset(each.lower() for each in attributes if isinstance(each, bytes))
        yield lowered, separator or b"", name.upper() if name.upper() == INBOX.encode() else name


def _name(theirs: bytes, separator: bytes) -> str:
    """A mailbox's name, with / between its levels. Raises CorruptData."""
    return "/".join(map(mutf7.decode, theirs.split(separator) if separator else [theirs]))


def _exists(answers: list[Words]) -> int:
    counts = [words[0] for words in answers if words[1:] == (b"EXISTS",)]
    if not counts:
        raise ImapError("it does not say how many messages there are")
    return _number(counts[-1])


def _fetched(answers: list[Words], asked: range, box: str) -> Iterator[Named]:
    """Each of the messages that were asked for, in order."""
    told: dict[int, dict[bytes, Word]] = {number: {} for number in asked}
    for words in answers:
        if words[1:2] == (b"EXPUNGE",) or words[:1] == (b"VANISHED",):
            raise ImapError(f"messages of {box} were expunged while they were read: try again")
        if len(words) == 3 and words[1] == b"FETCH" and isinstance(words[2], tuple):
            told.get(_number(words[0]), {}).update(_pairs(words[2]))
    missing = sum(1 for each in told.values() if not each.keys() >= {b"UID", b"FLAGS", b"X-GUID"})
    if missing:
        raise ImapError(f"of {len(told)} messages of {box} it tells {len(told) - missing}: try again")
    for each in told.values():
        flags = each[b"FLAGS"]
        if not isinstance(flags, tuple):
            raise ImapError(f"expected FLAGS of a message of {box}, got {flags!r}")
        shown = ["NIL" if flag is None else _text(flag) for flag in flags]
        kept = [flag for flag in shown if flag.lower() != "\\recent"]
        yield {"uid": _number(each[b"UID"]), "guid": _text(each[b"X-GUID"]), "flags": kept}


def _pairs(words: Words) -> Iterable[tuple[bytes, Word]]:
    """Names in capitals, and values."""
    for name, value in zip(words[::2], words[1::2], strict=False):
        if isinstance(name, bytes):
            yield name.upper(), value


def _number(word: Word) -> int:
    if isinstance(word, bytes) and _NUMBER.fullmatch(word):
        return int(word)
    raise ImapError(f"expected a number, got {word!r}")


def _text(word: Word) -> str:
    if isinstance(word, bytes):
        return word.decode("utf-8", "backslashreplace")
    raise ImapError(f"expected a text, got {word!r}")


def _quoted(name: bytes) -> bytes:
    """A name as a command has it. Names with line ends or 8 bits, which cannot be quoted, are no mailboxes' names."""
    if not name.isascii() or b"\r" in name or b"\n" in name or b"\0" in name:
        raise ImapError(f"the name of a mailbox is not in modified UTF-7: {name!r}")
    return b'"' + _TO_ESCAPE.sub(rb"\\\1", name) + b'"'
